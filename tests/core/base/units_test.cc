#include "core/base/units.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.h"

namespace rehearse {
namespace {

TEST(TransferTime, RoundsUpOncePerMessage) {
  // 1 byte at 100 Gbit/s: 8 / 100e9 s = 80 ps exactly.
  EXPECT_EQ(transfer_time(Bytes(1), Bandwidth::bits_per_second(100'000'000'000)).ps(), 80);
  // 1 byte at 3 bit/s: 8e12 / 3 = 2666666666666.67 ps.
  EXPECT_EQ(transfer_time(Bytes(1), Bandwidth::bits_per_second(3)).ps(), 2'666'666'666'667);
  EXPECT_EQ(transfer_time(Bytes(0), Bandwidth::bits_per_second(3)).ps(), 0);
}

TEST(TransferTime, UsesMoreThan64BitsInside) {
  // 1 TiB at 8 Tbit/s: 2^40 * 8e12 / 8e12 ps.
  EXPECT_EQ(transfer_time(Bytes(std::int64_t{1} << 40), Bandwidth::bits_per_second(8'000'000'000'000)).ps(),
            std::int64_t{1} << 40);
}

TEST(VirtualTime, BeyondItsLimitIsAnError) {
  EXPECT_THROW(transfer_time(Bytes(std::int64_t{1} << 60), Bandwidth::bits_per_second(1)), InputError);
  const Duration longest = Duration::picoseconds(std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(longest + Duration::picoseconds(1), InputError);
  EXPECT_THROW(longest * 2, InputError);
  EXPECT_THROW(TimePoint::at(longest) + Duration::picoseconds(1), InputError);
}

TEST(ComputeTime, RoundsUp) { EXPECT_EQ(compute_time(Flops(3), FlopRate::per_second(2'000'000'000'000)).ps(), 2); }

}  // namespace
}  // namespace rehearse
