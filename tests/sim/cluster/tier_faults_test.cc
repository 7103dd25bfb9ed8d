// What goes wrong with one tier: the other has it, and training goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tier_jobs.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Each checkpoint is uploaded.
Scenario tiers(const std::string& faults, const std::vector<std::string>& overrides = {}) {
  return four_ranks_with_tiers(faults, overrides);
}

const std::string kCrash = "crash { rank: 3 at { step: 8 phase: BACKWARD } } ";

std::string rot(int disk, int shard, const std::string& more = "at { step: 7 phase: FORWARD }") {
  return "rot { path: \"step_000006/shard_0000" + std::to_string(shard) +
         ".safetensors\" offset: 300 bit: 1 local_disk: " + std::to_string(disk) + " " + more + " } ";
}

const std::string& whole_weights() {
  static const std::string weights = run_training(tiers("")).weights_sha256;
  return weights;
}

TrainingRecord run_well(const Scenario& scenario) {
  TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_THAT(record.violations, IsEmpty());
  return record;
}

TEST(TierFaults, ARottenShardComesFromTheNeighbour) {
  const TrainingRecord record = run_well(tiers(rot(1, 1) + kCrash));
  ASSERT_EQ(record.recoveries.size(), 1U);
  const RecoveryRecord& recovery = record.recoveries[0];
  EXPECT_EQ(recovery.resumed_step, 6);
  EXPECT_THAT(shards_of(recovery), ElementsAre(3, 1, 0));
  ASSERT_EQ(recovery.refused_copies.size(), 1U);
  EXPECT_THAT(recovery.refused_copies[0], HasSubstr("rank 1: local:checkpoints/step_000006/shard_00001.safetensors"));
  EXPECT_THAT(recovery.refused_copies[0], HasSubstr("SHA-256"));
  EXPECT_THAT(recovery.rejected, IsEmpty());
}

TEST(TierFaults, WhereBothCopiesAreRottenTheSharedStorageHasTheSameStep) {
  const TrainingRecord record = run_well(tiers(rot(1, 1) + rot(2, 1) + kCrash));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(3, 0, 1));
  EXPECT_EQ(record.recoveries[0].refused_copies.size(), 2U);
}

TEST(TierFaults, WhereTheSharedStorageHasNoneOfThatStepAnOlderOneIsLoaded) {
  const TrainingRecord record = run_well(tiers(rot(1, 1) + rot(2, 1) + kCrash, {"checkpoint.tiers.upload_every=3"}));
  ASSERT_EQ(record.recoveries.size(), 1U);
  // Of the local disks, too.
  EXPECT_EQ(record.recoveries[0].resumed_step, 4);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(4, 0, 0));
  ASSERT_EQ(record.recoveries[0].rejected.size(), 1U);
  EXPECT_THAT(record.recoveries[0].rejected[0], HasSubstr("step 6: no copy of shard 1 is left"));
}

TEST(TierFaults, AManifestThatRotsTakesItsDisksCopiesAlong) {
  const std::string manifest =
      "rot { path: \"step_000006/manifest.json\" offset: 40 bit: 0 local_disk: 2 at { step: 7 phase: FORWARD } } ";
  const TrainingRecord record = run_well(tiers(manifest + kCrash));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(3, 1, 0));
  ASSERT_EQ(record.recoveries[0].refused_copies.size(), 1U);
  EXPECT_THAT(record.recoveries[0].refused_copies[0], HasSubstr("rank 2: local:checkpoints/step_000006/manifest.json"));
}

TEST(TierFaults, AllOfTheFirstTierIsGoneAndTheSecondIsLoaded) {
  std::string faults = kCrash;
  for (int rank = 0; rank < 4; ++rank) {
    faults += "missing_file { path: \"checkpoints/**\" local_disk: " + std::to_string(rank) +
              " at { step: 8 phase: FORWARD } } ";
  }
  const TrainingRecord record = run_well(tiers(faults));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(0, 0, 4));
}

// What is said without local_disk is said of the shared storage, which nobody reads here.
TEST(TierFaults, WhatRotsInTheSharedStorageLeavesTheLocalDisksAlone) {
  const std::string all = "rot { path: \"**\" offset: 300 bit: 1 at { step: 7 phase: FORWARD } } ";
  const TrainingRecord record = run_well(tiers(all + kCrash));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(4, 0, 0));
  EXPECT_THAT(record.recoveries[0].refused_copies, IsEmpty());
}

TEST(TierFaults, ASaveThatALocalDiskRefusesIsUploaded) {
  const std::string full = "disk_full { local_disk: 2 from_step: 6 until_step: 8 } ";
  const TrainingRecord record = run_well(tiers(full + kCrash, {"checkpoint.tiers.upload_every=100"}));
  EXPECT_EQ(record.failed_saves, 1);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(0, 0, 4));
  EXPECT_THAT(saved_steps(record), ElementsAre(2, 6, 8, 12));
}

TEST(TierFaults, AnUploadThatFailsLeavesTheLocalCheckpoint) {
  const std::string refused = "io_error { operation: WRITE path: \"*step_000006/*\" count: 0 } ";
  const TrainingRecord record = run_well(tiers(refused + "crash { kind: HOST rank: 1 at { step: 8 phase: DATA } }"));
  EXPECT_GE(record.failed_saves, 1);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(3, 1, 0));
}

TEST(TierFaults, ATornWriteOnALocalDiskIsFoundWhenItIsLoaded) {
  const std::string torn =
      "torn_write { keep: \"100B\" local_disk: 0 path: \"*step_000006/shard_00000.safetensors\" } ";
  const TrainingRecord record = run_well(tiers(torn + kCrash));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(3, 1, 0));
}

TEST(TierFaults, AReadErrorOfALocalDiskIsNoReasonToGoFurtherBack) {
  const std::string error = "io_error { operation: READ local_disk: 3 path: \"shard_*\" count: 0 } ";
  const TrainingRecord record = run_well(tiers(error + kCrash));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(3, 1, 0));
}

TEST(TierFaults, ASlowLocalDiskSlowsItsOwnSavesAlone) {
  const TrainingRecord whole = run_training(tiers(""));
  const TrainingRecord slow = run_training(tiers("slow_disk { factor: 100 local_disk: 1 }"));
  const TrainingRecord shared = run_training(tiers("slow_disk { factor: 2 rank: 1 }"));
  ASSERT_TRUE(whole.save_cost && slow.save_cost && shared.save_cost);
  EXPECT_GT(slow.save_cost->ps(), 10 * whole.save_cost->ps());
  EXPECT_LT(shared.save_cost->ps(), 2 * whole.save_cost->ps());
  EXPECT_EQ(slow.weights_sha256, whole.weights_sha256);
}

// Each tier keeps its own newest, and the last trusted one that it has.
TEST(TierFaults, RotationLeavesTheLastTrustedCheckpointOfEachTier) {
  const std::vector<std::string> guards = {"train.guards.loss_spike=ROLLBACK", "checkpoint.keep=1",
                                           "checkpoint.tiers.upload_every=3"};
  for (int step = 4; step <= 12; ++step) {
    const std::string spike =
        "spike { rank: 1 at { step: " + std::to_string(step) + " phase: REDUCE } of: LOSS factor: 1000 } ";
    const TrainingRecord record = run_training(tiers(spike, guards));
    ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
    ASSERT_EQ(record.recoveries.size(), 1U) << step;
    // The checkpoint of the step before is not yet trusted.
    EXPECT_EQ(record.recoveries[0].resumed_step, (step - 2) / 2 * 2) << step;
    EXPECT_TRUE(record.recoveries[0].from_checkpoint) << step;
    // And with every local disk gone.
    std::string lost = spike;
    for (int rank = 0; rank < 4; ++rank) {
      lost += "missing_file { path: \"checkpoints/**\" local_disk: " + std::to_string(rank) +
              " at { step: " + std::to_string(step) + " phase: BACKWARD } } ";
    }
    const TrainingRecord remote = run_training(tiers(lost, guards));
    ASSERT_EQ(remote.outcome, Outcome::kDone) << remote.failure;
    ASSERT_EQ(remote.recoveries.size(), 1U) << step;
    EXPECT_TRUE(remote.recoveries[0].from_checkpoint) << step;
    EXPECT_EQ(remote.weights_sha256, record.weights_sha256) << step;
  }
}

TEST(TierFaults, AReplacedMachineComesWithAnEmptyDisk) {
  const std::string flip =
      "flip { rank: 1 at { step: 7 phase: DATA } target: MASTER tensor: \"head.weight\" index: 63 bit: 20 } ";
  for (int rank = 0; rank < 4; ++rank) {
    std::string fault = flip;
    fault.replace(fault.find("rank: 1"), 7, "rank: " + std::to_string(rank));
    std::optional<Scenario> scenario;
    try {
      scenario.emplace(tiers(fault, {"train.guards.corruption=EVICT"}));
    } catch (const InputError&) {
      continue;  // the rank has no such element
    }
    const TrainingRecord record = run_training(*scenario);
    ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
    ASSERT_EQ(record.recoveries.size(), 1U);
    EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(3, 1, 0));
    return;
  }
  FAIL() << "no rank has the element";
}

TEST(TierFaults, FaultsThatNeverStruckNameTheirDisk) {
  const TrainingRecord record = run_well(tiers("io_error { local_disk: 2 path: \"nowhere\" }"));
  EXPECT_THAT(record.faults_not_struck,
              ElementsAre("the I/O error in the 1st operation of nowhere on the local disk of rank 2"));
}

}  // namespace
}  // namespace rehearse
