#include "sim/cluster/placement.h"

#include <gtest/gtest.h>

namespace rehearse {
namespace {

using Ranks = std::vector<int>;

RecoveryConfig config_of(RecoveryMode mode, int min_ranks = 1) {
  RecoveryConfig config;
  config.mode = mode;
  config.min_ranks = min_ranks;
  return config;
}

bool any(int) { return true; }

const HostLayout kAlone;  // each rank on a host of its own

HostLayout hosts_of(int ranks_per_host) {
  HostLayout hosts;
  hosts.ranks_per_host = ranks_per_host;
  return hosts;
}

TEST(Placement, WithoutLostHostsNothingChangesAndTheDelayCounts) {
  for (const RecoveryMode mode : {RecoveryMode::kRestart, RecoveryMode::kElastic}) {
    const auto placement = place_ranks(config_of(mode), kAlone, 4, 2, {}, any);
    ASSERT_TRUE(placement.has_value());
    EXPECT_EQ(placement->ranks, 4);
    EXPECT_EQ(placement->spares, 2);
    EXPECT_FALSE(placement->at_once);
  }
}

TEST(Placement, SparesTakeThePlacesOfLostHostsAtOnce) {
  const auto placement = place_ranks(config_of(RecoveryMode::kElastic), kAlone, 4, 3, {1, 3}, any);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->ranks, 4);
  EXPECT_EQ(placement->spares, 1);
  EXPECT_TRUE(placement->at_once);
  EXPECT_EQ(placement->on_spares, (Ranks{1, 3}));
  EXPECT_EQ(placement->gone, Ranks());
}

TEST(Placement, WhereSparesDoNotSufficeAJobThatRestartsWaitsForTheOthers) {
  const auto placement = place_ranks(config_of(RecoveryMode::kRestart), kAlone, 4, 1, {1, 3}, any);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->ranks, 4);
  EXPECT_EQ(placement->spares, 0);
  EXPECT_FALSE(placement->at_once);
  EXPECT_EQ(placement->on_spares, Ranks{1});
  EXPECT_EQ(placement->gone, Ranks());
}

TEST(Placement, AnElasticJobGoesOnWithThoseThatAreLeft) {
  const auto placement = place_ranks(config_of(RecoveryMode::kElastic), kAlone, 4, 1, {1, 3}, any);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->ranks, 3);
  EXPECT_EQ(placement->spares, 0);
  EXPECT_FALSE(placement->at_once);
  EXPECT_EQ(placement->on_spares, Ranks{1});
  EXPECT_EQ(placement->gone, Ranks{3});
}

TEST(Placement, HostsThatNoBatchDividesForStandBy) {
  const auto even = [](int ranks) { return ranks % 4 == 0; };
  const auto placement = place_ranks(config_of(RecoveryMode::kElastic), kAlone, 8, 0, {2}, even);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->ranks, 4);
  EXPECT_EQ(placement->spares, 3);
}

TEST(Placement, BelowTheFewestRanksThereIsNone) {
  EXPECT_TRUE(place_ranks(config_of(RecoveryMode::kElastic, 3), kAlone, 4, 0, {0}, any).has_value());
  EXPECT_FALSE(place_ranks(config_of(RecoveryMode::kElastic, 3), kAlone, 4, 0, {0, 1}, any).has_value());
  EXPECT_FALSE(place_ranks(config_of(RecoveryMode::kElastic), kAlone, 2, 0, {0, 1}, any).has_value());
  EXPECT_FALSE(
      place_ranks(config_of(RecoveryMode::kElastic, 3), kAlone, 4, 0, {0}, [](int n) { return n < 3; }).has_value());
}

TEST(Placement, ASpareTakesOverAllRanksOfALostHost) {
  const auto placement = place_ranks(config_of(RecoveryMode::kElastic), hosts_of(2), 6, 1, {0, 2}, any);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->on_spares, (Ranks{0, 1}));
  EXPECT_EQ(placement->hosts_on_spares, 1);
  EXPECT_EQ(placement->gone, (Ranks{4, 5}));
  EXPECT_EQ(placement->hosts_gone, 1);
  EXPECT_EQ(placement->ranks, 4);
  EXPECT_EQ(placement->spares, 0);
}

TEST(Placement, OfHostsOfSeveralRanksWholeOnesStandBy) {
  const auto fits = [](int ranks) { return ranks == 3 || ranks == 4; };
  // Hosts 0, 1 and 3 are left of 8 ranks: four ranks take two of them.
  const auto four = place_ranks(config_of(RecoveryMode::kElastic), hosts_of(2), 8, 0, {2}, fits);
  ASSERT_TRUE(four.has_value());
  EXPECT_EQ(four->ranks, 4);
  EXPECT_EQ(four->spares, 1);
  // Three ranks take two, and the second is not full.
  const auto three = place_ranks(config_of(RecoveryMode::kElastic), hosts_of(2), 5, 0, {1}, fits);
  ASSERT_TRUE(three.has_value());
  EXPECT_EQ(three->ranks, 3);
  EXPECT_EQ(three->spares, 0);
}

TEST(Placement, TheLastHostMayHaveFewerRanks) {
  const auto placement = place_ranks(config_of(RecoveryMode::kElastic), hosts_of(2), 5, 0, {2}, any);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->gone, Ranks{4});
  EXPECT_EQ(placement->ranks, 4);
  EXPECT_EQ(placement->spares, 0);
}

}  // namespace
}  // namespace rehearse
