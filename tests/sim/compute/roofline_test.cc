// Times of a roofline device, each derived by hand.

#include "sim/compute/roofline.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "core/base/error.h"

namespace rehearse {
namespace {

constexpr std::int64_t kTera = 1'000'000'000'000;

// 10^12 operations a second (1 ps each) in float32, 10^9 bytes a second (1 ns each).
Roofline plain() {
  Roofline roofline;
  roofline.float32 = FlopRate::per_second(kTera);
  roofline.memory_bandwidth = Bandwidth::bits_per_second(8'000'000'000);
  return roofline;
}

// Tiles of 16 x 8, four at a time, that take 8 longer in k, at half of the peak.
Roofline tiled() {
  Roofline roofline = plain();
  roofline.multiprocessors = 4;
  roofline.tile_m = 16;
  roofline.tile_n = 8;
  roofline.fill = 8;
  roofline.efficiency_billionths = 500'000'000;
  return roofline;
}

DeviceKernel product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count = 1, std::int64_t bytes = 0) {
  DeviceKernel kernel;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.count = count;
  kernel.bytes = Bytes(bytes);
  return kernel;
}

DeviceKernel elementwise(std::int64_t flops, std::int64_t bytes) {
  DeviceKernel kernel;
  kernel.flops = Flops(flops);
  kernel.bytes = Bytes(bytes);
  return kernel;
}

Duration ps(std::int64_t count) { return Duration::picoseconds(count); }

TEST(Roofline, AProductBoundByArithmeticTakesItsOperations) {
  EXPECT_EQ(plain().time_of(product(10, 20, 30)), ps(2 * 10 * 20 * 30));
  EXPECT_EQ(plain().time_of(product(10, 20, 30, 7, 12)), ps(7 * 2 * 10 * 20 * 30));
}

TEST(Roofline, AProductBoundByMemoryTakesItsBytes) {
  EXPECT_EQ(plain().time_of(product(10, 20, 30, 1, 13)), ps(13'000));
  EXPECT_EQ(plain().time_of(elementwise(5'000, 6)), ps(6'000));
  EXPECT_EQ(plain().time_of(elementwise(6'001, 6)), ps(6'001));
}

TEST(Roofline, EachKernelIsLaunched) {
  Roofline roofline = plain();
  roofline.launch_overhead = Duration::microseconds(2);
  const std::array<DeviceKernel, 3> kernels = {product(1, 1, 1), elementwise(3, 0), elementwise(0, 1)};
  EXPECT_EQ(roofline.time_of(kernels), Duration::microseconds(6) + ps(2 + 3 + 1'000));
  EXPECT_EQ(roofline.time_of(std::span<const DeviceKernel>()), Duration());
}

TEST(Roofline, WorkWithoutKernelsIsOneOfThem) {
  Roofline roofline = plain();
  roofline.launch_overhead = Duration::microseconds(2);
  EXPECT_EQ(roofline.time_of(Flops(3), Bytes(1)), Duration::microseconds(2) + ps(1'000));
  EXPECT_EQ(roofline.time_of(Flops(), Bytes()), Duration());
}

// (17, 9): lying tiles 2 x 2, standing ones (8 x 16) 3 x 1. Three take a wave of four: 4 * 2 * 16 * 8 operations in
// each of k = 24 + 8, at 2 ps.
TEST(Roofline, TilesAndWavesAreWhole) {
  EXPECT_EQ(tiled().time_of(product(17, 9, 24)), ps(4 * 2 * 128 * 32 * 2));
  EXPECT_EQ(tiled().time_of(product(9, 17, 24)), ps(4 * 2 * 128 * 32 * 2));
  EXPECT_EQ(tiled().time_of(product(1, 1, 24)), ps(4 * 2 * 128 * 32 * 2));
  // Five products are 15 tiles, six are 18: four waves and five.
  EXPECT_EQ(tiled().time_of(product(17, 9, 24, 5)), ps(4 * 4 * 2 * 128 * 32 * 2));
  EXPECT_EQ(tiled().time_of(product(17, 9, 24, 6)), ps(5 * 4 * 2 * 128 * 32 * 2));
}

// As on a device with so many units, the next tile after a full wave costs a whole one.
TEST(Roofline, OneTileMoreIsOneWaveMore) {
  const Duration one = tiled().time_of(product(64, 8, 24));
  EXPECT_EQ(tiled().time_of(product(65, 8, 24)), one * 2);
  EXPECT_EQ(tiled().time_of(product(128, 8, 24)), one * 2);
}

TEST(Roofline, EachKernelIsRoundedUp) {
  Roofline roofline = plain();
  roofline.float32 = FlopRate::per_second(3 * kTera);
  const std::array<DeviceKernel, 3> kernels = {elementwise(1, 0), elementwise(4, 0), product(1, 1, 1)};
  EXPECT_EQ(roofline.time_of(kernels), ps(1 + 2 + 1));
}

TEST(Roofline, EveryTypeHasItsPeak) {
  Roofline roofline = plain();
  roofline.float64 = FlopRate::per_second(kTera / 2);
  roofline.bfloat16 = FlopRate::per_second(kTera * 4);
  roofline.float16 = FlopRate::per_second(kTera * 8);
  const auto time = [&](DType dtype) {
    DeviceKernel kernel = product(4, 4, 4);
    kernel.dtype = dtype;
    return roofline.time_of(kernel);
  };
  EXPECT_EQ(time(DType::kFloat32), ps(128));
  EXPECT_EQ(time(DType::kFloat64), ps(256));
  EXPECT_EQ(time(DType::kBFloat16), ps(32));
  EXPECT_EQ(time(DType::kFloat16), ps(16));
}

TEST(Roofline, MoreWorkNeverTakesLess) {
  const Roofline roofline = tiled();
  for (std::int64_t size = 1; size < 300; ++size) {
    EXPECT_LE(roofline.time_of(product(size, 40, 40)), roofline.time_of(product(size + 1, 40, 40))) << size;
    EXPECT_LE(roofline.time_of(product(40, size, 40)), roofline.time_of(product(40, size + 1, 40))) << size;
    EXPECT_LT(roofline.time_of(product(40, 40, size)), roofline.time_of(product(40, 40, size + 1))) << size;
    EXPECT_LE(roofline.time_of(product(40, 40, 40, size)), roofline.time_of(product(40, 40, 40, size + 1))) << size;
    EXPECT_LE(roofline.time_of(product(9, 9, 9, 1, size)), roofline.time_of(product(9, 9, 9, 1, size + 1))) << size;
  }
}

// A rate is never more than the efficient part of the peak.
TEST(Roofline, NoShapeIsFasterThanTheEfficientPeak) {
  for (const std::int64_t m : {1, 15, 16, 17, 1000}) {
    for (const std::int64_t n : {1, 7, 8, 9, 1000}) {
      EXPECT_GE(tiled().time_of(product(m, n, 50)), ps(2 * 2 * m * n * 50)) << m << " " << n;
    }
  }
}

// The largest sizes that a scenario can say: minutes, not an overflow.
TEST(Roofline, LargeProductsAreExact) {
  Roofline roofline = plain();
  roofline.float32 = FlopRate::per_second(1'000 * kTera);
  const std::int64_t wide = std::int64_t{1} << 20;
  // 2^61 operations at 10^15 a second: 2305.843009213693952 s.
  EXPECT_EQ(roofline.time_of(product(wide, wide, wide)), ps(2'305'843'009'213'694));
}

TEST(Roofline, TimesBeyond106DaysAreRefused) {
  const std::int64_t largest = (std::int64_t{1} << 31) - 1;
  for (const DeviceKernel& kernel : {product(largest, largest, largest), product(largest, largest, largest, largest),
                                     product(largest, largest, largest, std::numeric_limits<std::int64_t>::max()),
                                     elementwise(0, std::numeric_limits<std::int64_t>::max())}) {
    Roofline roofline = tiled();
    roofline.tile_m = 65'536;
    roofline.tile_n = 65'536;
    roofline.multiprocessors = 1 << 20;
    roofline.memory_bandwidth = Bandwidth::bits_per_second(1'000);
    EXPECT_THROW(roofline.time_of(kernel), InputError);
  }
  Roofline slow = plain();
  slow.launch_overhead = Duration::picoseconds(std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(slow.time_of(elementwise(1, 1)), InputError);
}

}  // namespace
}  // namespace rehearse
