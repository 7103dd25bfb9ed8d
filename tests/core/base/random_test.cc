#include "core/base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rehearse {
namespace {

// Known answers published with the Random123 library for philox4x32-10.
TEST(Philox, AnswersTheKnownVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, AForkDependsOnNameAndParentKeyOnly) {
  RandomStream root(7);
  RandomStream early = root.fork("data");
  for (int i = 0; i < 5; ++i) root.next_u64();
  RandomStream late = root.fork("data");
  EXPECT_EQ(early.next_u64(), late.next_u64());
  EXPECT_NE(root.fork("data").key(), root.fork("init").key());
  EXPECT_NE(root.fork(1).key(), root.fork(2).key());
  EXPECT_NE(RandomStream(1).key(), RandomStream(2).key());
}

TEST(RandomStream, AnIndexIsNotAName) {
  const RandomStream root(7);
  EXPECT_NE(root.fork(std::uint64_t{0}).key(), root.fork(std::string_view("\0\0\0\0\0\0\0\0", 8)).key());
}

TEST(RandomStream, BelowReachesEveryValueEvenly) {
  RandomStream stream(3);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts[stream.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);  // 5 standard deviations of a binomial are 463
}

TEST(RandomStream, NormalHasMomentsOfTheNormal) {
  RandomStream stream(3);
  double sum = 0;
  double sum2 = 0;
  double sum4 = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    sum += x;
    sum2 += x * x;
    sum4 += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.012);   // standard error 0.0022
  EXPECT_NEAR(sum2 / kDraws, 1, 0.017);  // standard error 0.0032
  EXPECT_NEAR(sum4 / kDraws, 3, 0.12);   // standard error 0.022
}

}  // namespace
}  // namespace rehearse
