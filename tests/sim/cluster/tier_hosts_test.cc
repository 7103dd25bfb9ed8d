// Local disks go with their hosts: several ranks on one, spares, and hosts that live on after they were replaced.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tier_jobs.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// On two hosts; the first checkpoint alone is uploaded.
TrainingRecord run_with(const std::string& faults, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = {"cluster.ranks_per_host=2"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return run_training(four_ranks_with_tiers(faults, all, 100));
}

const TrainingRecord& calm() {
  static const TrainingRecord record = run_with("");
  return record;
}

void expect_same_end(const TrainingRecord& record) {
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_THAT(record.violations, IsEmpty());
  EXPECT_EQ(record.weights_sha256, calm().weights_sha256);
}

const std::string kHostLost = "crash { host: 1 at { step: 8 phase: BACKWARD } } ";

TEST(TierHosts, SecondCopiesAreOnAnotherHost) {
  for (const char* spares : {"recovery.spares=0", "recovery.spares=1"}) {
    const TrainingRecord record = run_with(kHostLost, {spares});
    expect_same_end(record);
    ASSERT_EQ(record.recoveries.size(), 1U);
    EXPECT_EQ(record.recoveries[0].resumed_step, 6);
    EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(2, 2, 0));
  }
}

TEST(TierHosts, AProcessThatDiesLeavesTheDisksOfItsHost) {
  const TrainingRecord record = run_with("crash { kind: PROCESS rank: 3 at { step: 8 phase: BACKWARD } } ");
  expect_same_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(4, 0, 0));
}

TEST(TierHosts, ARackTakesAllItsDisksAlong) {
  const std::vector<std::string> racks = {"cluster.ranks_per_host=1", "cluster.hosts_per_rack=2"};
  const std::string rack_lost = "crash { rack: 0 at { step: 8 phase: BACKWARD } } ";
  // Ranks 1's shard was on the disks of ranks 1 and 2, rank 0's on those of 0 and 1.
  const TrainingRecord near = run_with(rack_lost, racks);
  expect_same_end(near);
  EXPECT_EQ(near.recoveries.at(0).resumed_step, 2);
  std::vector<std::string> further = racks;
  further.push_back("checkpoint.tiers.replica_distance=2");
  const TrainingRecord far = run_with(rack_lost, further);
  expect_same_end(far);
  EXPECT_EQ(far.recoveries.at(0).resumed_step, 6);
  EXPECT_THAT(shards_of(far.recoveries[0]), ElementsAre(2, 2, 0));
}

TEST(TierHosts, AnElasticJobGoesOnFromTheHostThatIsLeft) {
  const TrainingRecord record = run_with(kHostLost, {"recovery.mode=ELASTIC"});
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].ranks, 2);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_EQ(record.recoveries[0].reads.shards_from_remote, 0);
}

const std::vector<std::string> kQuick = {"recovery.heartbeat_timeout=120us", "recovery.heartbeat_interval=40us",
                                         "recovery.restart_delay=100us"};

// It was only not heard of: its disk is as it was.
TEST(TierHosts, AHostThatComesBackHasItsDiskStill) {
  const std::string unheard =
      "supervisor_link { rank: 1 way: TO_SUPERVISOR from_time: \"1400us\" until_time: \"1700us\" }";
  const TrainingRecord record = run_with(unheard, kQuick);
  expect_same_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_THAT(record.recoveries[0].suspected, ElementsAre(0, 1));
  EXPECT_TRUE(record.recoveries[0].from_checkpoint);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(4, 0, 0));
}

// Both work on a disk that is called local.
TEST(TierHosts, AHostThatLivesOnBesideItsSpareHasADiskOfItsOwn) {
  std::vector<std::string> overrides = kQuick;
  for (const char* one : {"recovery.spares=1", "cluster.ranks_per_host=1"}) overrides.emplace_back(one);
  int fenced = 0;
  for (int from = 1000; from < 2000; from += 100) {
    const std::string unheard = "supervisor_link { rank: 1 from_time: \"" + std::to_string(from) +
                                "us\" } slow_disk { factor: 30 local_disk: 1 from: \"" + std::to_string(from) +
                                "us\" }";
    const TrainingRecord record = run_with(unheard, overrides);
    expect_same_end(record);
    ASSERT_EQ(record.recoveries.size(), 1U);
    EXPECT_THAT(record.recoveries[0].on_spares, ElementsAre(1));
    EXPECT_TRUE(record.recoveries[0].from_checkpoint);
    EXPECT_EQ(record.recoveries[0].reads.shards_from_other_disks, 1) << from;
    fenced += record.fenced.empty() ? 0 : 1;
  }
  EXPECT_GT(fenced, 0);
}

}  // namespace
}  // namespace rehearse
