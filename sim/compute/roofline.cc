#include "sim/compute/roofline.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace rehearse {
namespace {

constexpr __int128 kBillion = 1'000'000'000;
constexpr __int128 kPicosecondsPerSecond = 1'000'000'000'000;
// Operations beyond it would leave 128 bits below; at 10^24 a second they take 10 days.
constexpr __int128 kMostOperations = __int128{1} << 87;

__int128 ceil_ratio(__int128 numerator, __int128 denominator) { return (numerator + denominator - 1) / denominator; }

Duration time_at(__int128 operations, __int128 rate) {
  if (operations > kMostOperations) virtual_time_overflow();
  const __int128 ps = ceil_ratio(operations * kPicosecondsPerSecond, rate);
  if (ps > std::numeric_limits<std::int64_t>::max()) virtual_time_overflow();
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

__int128 times(__int128 a, __int128 b) {
  __int128 product = 0;
  if (__builtin_mul_overflow(a, b, &product)) virtual_time_overflow();
  return product;
}

}  // namespace

FlopRate Roofline::peak(DType dtype) const {
  switch (dtype) {
    case DType::kFloat32:
      return float32;
    case DType::kFloat64:
      return float64;
    case DType::kBFloat16:
      return bfloat16;
    case DType::kFloat16:
      return float16;
    case DType::kInt32:
      break;
  }
  check_failed(__FILE__, __LINE__, "no arithmetic has this type");
}

Duration Roofline::time_of(const DeviceKernel& kernel) const {
  const __int128 full_rate = peak(kernel.dtype).per_second();
  CHECK(full_rate > 0);
  Duration arithmetic;
  if (kernel.is_product()) {
    const auto tiles = [&](std::int64_t a, std::int64_t b) {
      return ceil_ratio(kernel.m, a) * ceil_ratio(kernel.n, b);
    };
    const __int128 all = times(std::min(tiles(tile_m, tile_n), tiles(tile_n, tile_m)), kernel.count);
    const __int128 places = times(ceil_ratio(all, multiprocessors), multiprocessors);
    const __int128 area = times(places, __int128{2} * tile_m * tile_n);
    const __int128 rate = std::max<__int128>(full_rate * efficiency_billionths / kBillion, 1);
    arithmetic = time_at(times(area, __int128{kernel.k} + fill), rate);
  } else {
    arithmetic = time_at(kernel.flops.count(), full_rate);
  }
  return launch_overhead + std::max(arithmetic, transfer_time(kernel.bytes, memory_bandwidth));
}

Duration Roofline::time_of(std::span<const DeviceKernel> kernels) const {
  Duration total;
  for (const DeviceKernel& kernel : kernels) total = total + time_of(kernel);
  return total;
}

Duration Roofline::time_of(Flops flops, Bytes bytes) const {
  if (flops == Flops() && bytes == Bytes()) return Duration();
  DeviceKernel kernel;
  kernel.flops = flops;
  kernel.bytes = bytes;
  return time_of(kernel);
}

}  // namespace rehearse
