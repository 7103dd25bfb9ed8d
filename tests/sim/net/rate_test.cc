#include "sim/net/rate.h"

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace rehearse {
namespace {

using Wide = unsigned __int128;

Rate gbps(std::int64_t n) { return Rate(Bandwidth::bits_per_second(n * 1'000'000'000)); }

TEST(Rate, SharesAreExactFractionsInLowestTerms) {
  const Rate third = Rate(Bandwidth::bits_per_second(100)).over(3);
  EXPECT_EQ(third, Rate::fraction(100, 3));
  EXPECT_EQ(third.whole(), 33U);
  EXPECT_EQ(third.part(), 1U);
  EXPECT_EQ(third.parts(), 3U);
  EXPECT_EQ(third.over(4), Rate::fraction(25, 3));
  EXPECT_EQ(gbps(1).over(1), gbps(1));
}

TEST(Rate, WhatIsLeftIsExact) {
  const Rate seventh = Rate(Bandwidth::bits_per_second(10)).over(7);
  EXPECT_EQ(Rate(Bandwidth::bits_per_second(10)).minus(7, seventh), Rate());
  EXPECT_EQ(Rate(Bandwidth::bits_per_second(10)).minus(3, seventh), Rate::fraction(40, 7));
  // 40/7 - 2 * 1/3 = 106/21
  EXPECT_EQ(Rate::fraction(40, 7).minus(2, Rate::fraction(1, 3)), Rate::fraction(106, 21));
  EXPECT_EQ(Rate::fraction(1, 3).minus(1, Rate::fraction(1, 2)), Rate());
}

TEST(Rate, OrdersByValue) {
  EXPECT_LT(Rate::fraction(1, 3), Rate::fraction(1, 2));
  EXPECT_LT(Rate::fraction(2, 3), Rate::fraction(3, 4));
  EXPECT_GT(Rate::fraction(7, 2), Rate::fraction(10, 3));
  EXPECT_EQ(Rate::fraction(4, 6), Rate::fraction(2, 3));
}

// Takes shares by ever other primes: the exact denominator soon has hundreds of bits.
TEST(Rate, RoundsDownByLessThanItSaysWhereDenominatorsGrow) {
  Rate left = gbps(400);
  for (const std::uint64_t prime : {65'521U, 65'519U, 65'497U, 65'479U, 65'449U}) {
    const Rate share = left.over(prime);
    const Rate all = left.minus(prime - 1, share);
    // What is left is one share, but for 2^-36 of each rounding.
    EXPECT_GE(all.whole(), share.whole() - 1);
    const Rate back = all.minus(1, share);
    EXPECT_EQ(back.whole(), 0U);
    EXPECT_LT(static_cast<double>(back.part()) / static_cast<double>(back.parts()), 1e-5);
    left = left.minus(1, share);
    EXPECT_LE(left.parts(), std::uint64_t{1} << 48);
  }
  EXPECT_GT(left, gbps(399));
}

TEST(MultiplyDivide, IsExactBeyond128Bits) {
  const Wide big = Wide{1} << 120;
  EXPECT_TRUE(multiply_divide(big, big, big) == big);
  EXPECT_TRUE(multiply_divide(big + 1, big, big) == big + 1);
  EXPECT_TRUE(multiply_divide(big, 3, 7) == (big / 7) * 3 + (big % 7) * 3 / 7);
  EXPECT_TRUE(multiply_divide(big, 1000, 999) == big / 999 * 1000 + big % 999 * 1000 / 999);
  EXPECT_TRUE(multiply_divide_up(big, big, big) == big);
  EXPECT_TRUE(multiply_divide_up(big * 2 + 1, big, big * 2) == big + 1);
  EXPECT_TRUE(multiply_divide(7, 3, 2) == 10);
  EXPECT_TRUE(multiply_divide_up(7, 3, 2) == 11);
}

// The long way around gives what the short one gives, where both can.
TEST(MultiplyDivide, RandomProductsEqualTheirSplitForm) {
  RandomStream random(4);
  for (int i = 0; i < 2000; ++i) {
    const Wide a = Wide{random.next_u64()} << 40 | random.next_u64() >> 24;
    const std::uint64_t b = random.next_u64() >> random.below(60);
    const Wide c = (Wide{random.next_u64()} << 24 | 1) >> random.below(40);
    if (b == 0) continue;
    const Wide split =
        a / c * b +
        (a % c < (Wide{1} << 64) && b < (std::uint64_t{1} << 63) ? a % c * b / c : multiply_divide(a % c, b, c));
    ASSERT_TRUE(multiply_divide(a, b, c) == split) << i;
  }
}

}  // namespace
}  // namespace rehearse
