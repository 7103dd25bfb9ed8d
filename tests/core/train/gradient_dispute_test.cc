#include "core/train/gradient_dispute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rehearse {
namespace {

Digest128 digest(std::uint64_t number) {
  Digest128 one;
  one.low = number;
  return one;
}

constexpr int kUnits = 3;
constexpr std::uint64_t kWrong = 1'000'000;

// What all ranks say of their gradients and of those that they computed again. A rank of `wrong` has its own gradient
// wrong, one of `computes_wrong` that of the other.
struct Said {
  std::vector<UnitDigests> own;
  std::vector<UnitDigests> again;
};
Said said(int ranks, int offset, const std::set<int>& wrong, const std::set<int>& computes_wrong, int unit = 1) {
  Said all;
  for (int rank = 0; rank < ranks; ++rank) {
    UnitDigests own;
    UnitDigests again;
    for (int u = 0; u < kUnits; ++u) {
      const auto right = [&](int of) { return static_cast<std::uint64_t>(of * kUnits + u); };
      own.push_back(digest(right(rank) + (u == unit && wrong.contains(rank) ? kWrong : 0)));
      again.push_back(
          digest(right((rank + offset) % ranks) + (u == unit && computes_wrong.contains(rank) ? 2 * kWrong : 0)));
    }
    all.own.push_back(own);
    all.again.push_back(again);
  }
  return all;
}

// The third rank's, which has nothing wrong.
UnitDigests right_of(int owner) {
  UnitDigests digests;
  for (int u = 0; u < kUnits; ++u) digests.push_back(digest(static_cast<std::uint64_t>(owner * kUnits + u)));
  return digests;
}

TEST(GradientDispute, EveryKthStepHasACheckAndTheLast) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t step = 1; step <= 8; ++step) numbers.push_back(check_number(3, step, 8));
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, 0, 1, 0, 0, 2, 0, 3}));
  for (std::int64_t step = 1; step <= 8; ++step) {
    EXPECT_EQ(check_number(0, step, 8), 0);
    EXPECT_EQ(check_number(1, step, 8), step);
  }
}

TEST(GradientDispute, EveryRankAsksEveryOtherInTurnWhateverTheDistanceOfChecks) {
  for (const int ranks : {2, 3, 5, 8}) {
    for (const std::int64_t every : {1, 2, 4, 7}) {
      std::set<int> offsets;
      for (std::int64_t check = 1; check < ranks; ++check) {
        offsets.insert(check_offset(check_number(every, check * every, 1000), ranks));
      }
      EXPECT_EQ(offsets.size(), static_cast<std::size_t>(ranks - 1)) << ranks << ", " << every;
      EXPECT_EQ(*offsets.begin(), 1);
      EXPECT_EQ(*offsets.rbegin(), ranks - 1);
    }
  }
}

TEST(GradientDispute, EqualDigestsMakeNone) {
  const Said all = said(4, 2, {}, {});
  EXPECT_TRUE(find_disputes(all.own, all.again, 2).empty());
}

// One rank that is wrong, in its own gradient and in that of another, for any number of ranks and any offset: with
// three or more it is always the one that is convicted, and it alone.
TEST(GradientDispute, TheThirdRankTellsWhoIsWrong) {
  int disputes = 0;
  for (const int ranks : {3, 4, 5, 8}) {
    for (int offset = 1; offset < ranks; ++offset) {
      for (int rank = 0; rank < ranks; ++rank) {
        for (const bool own : {true, false}) {
          for (const bool again : {true, false}) {
            const Said all = said(ranks, offset, own ? std::set<int>{rank} : std::set<int>{},
                                  again ? std::set<int>{rank} : std::set<int>{});
            const std::vector<GradientDispute> found = find_disputes(all.own, all.again, offset);
            ASSERT_EQ(found.size(), static_cast<std::size_t>(own) + static_cast<std::size_t>(again));
            for (const GradientDispute& one : found) {
              ASSERT_TRUE(one.third >= 0 && one.third < ranks);
              EXPECT_NE(one.third, rank);
              EXPECT_NE(one.third, one.owner);
              EXPECT_NE(one.third, one.checker);
              EXPECT_EQ((one.checker + offset) % ranks, one.owner);
              const std::vector<GradientDispute> settled =
                  settle(one, all.own[static_cast<std::size_t>(one.owner)],
                         all.again[static_cast<std::size_t>(one.checker)], right_of(one.owner));
              ASSERT_EQ(settled.size(), 1u);
              EXPECT_EQ(settled[0].wrong, rank);
              EXPECT_EQ(settled[0].units, std::vector<int>{1});
              ++disputes;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(disputes, 0);
}

TEST(GradientDispute, ThirdRanksAreNotAskedTwiceWhileOthersAreIdle) {
  // Rank 0 is party to both disputes; 5 and 1 are the others.
  const Said all = said(6, 1, {0}, {0});
  const std::vector<GradientDispute> found = find_disputes(all.own, all.again, 1);
  ASSERT_EQ(found.size(), 2u);
  const std::set<int> thirds = {found[0].third, found[1].third};
  EXPECT_EQ(thirds, (std::set<int>{2, 3}));
}

TEST(GradientDispute, OfTwoRanksNobodyCanSay) {
  const Said all = said(2, 1, {1}, {});
  const std::vector<GradientDispute> found = find_disputes(all.own, all.again, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].owner, 1);
  EXPECT_EQ(found[0].third, -1);
  EXPECT_EQ(found[0].wrong, -1);
  EXPECT_EQ(words_of(found[0]),
            "ranks 1 and 0 make two gradients of the tokens of rank 1 (unit 1), and no third rank can say which is "
            "right");
}

// Unit by unit: in one the owner, in one the checker, and in one all three differ.
TEST(GradientDispute, EachUnitIsJudgedOnItsOwn) {
  GradientDispute dispute;
  dispute.owner = 1;
  dispute.checker = 0;
  dispute.third = 2;
  dispute.units = {0, 1, 2, 3};
  const UnitDigests own = {digest(9), digest(2), digest(9), digest(9)};
  const UnitDigests again = {digest(1), digest(8), digest(8), digest(4)};
  const UnitDigests third = {digest(1), digest(2), digest(7), digest(4)};
  const std::vector<GradientDispute> settled = settle(dispute, own, again, third);
  ASSERT_EQ(settled.size(), 3u);
  EXPECT_EQ(words_of(settled[0]), "the gradient of rank 1 is not what ranks 0 and 2 make of its tokens (units 0, 3)");
  EXPECT_EQ(words_of(settled[1]),
            "rank 0 does not make of the tokens of rank 1 the gradient that ranks 1 and 2 make (unit 1)");
  EXPECT_EQ(words_of(settled[2]), "ranks 1, 0 and 2 make three gradients of the tokens of rank 1 (unit 2)");
  EXPECT_EQ(settled[2].wrong, -1);
}

}  // namespace
}  // namespace rehearse
