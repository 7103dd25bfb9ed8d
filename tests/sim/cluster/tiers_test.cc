// Checkpoints in two tiers: each host's local disk, and the storage that all hosts share. What a lost disk had comes
// from another host's, what both had from the shared storage, and every job ends with the bytes of the run that never
// failed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tier_jobs.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Scenario without_tiers(const std::string& faults = "", const std::vector<std::string>& overrides = {}) {
  return four_ranks(faults, overrides);
}

Scenario with_tiers(const std::string& faults = "", const std::vector<std::string>& overrides = {}) {
  return four_ranks_with_tiers(faults, overrides);
}

std::string crash(int rank, int step, const std::string& phase, const std::string& kind = "HOST") {
  return "crash { kind: " + kind + " rank: " + std::to_string(rank) + " at { step: " + std::to_string(step) +
         " phase: " + phase + " } } ";
}

const std::string& whole_weights() {
  static const std::string weights = run_training(without_tiers()).weights_sha256;
  return weights;
}

// All but what tells of time and settings.
std::map<std::string, std::string> arithmetic_files(const TrainingRecord& record) {
  std::map<std::string, std::string> files;
  for (const CheckpointRecord& checkpoint : record.checkpoints) {
    for (const auto& [name, data] : checkpoint.files) {
      if (name == "run_state.json" || name == "scenario.textproto") continue;
      files.emplace(checkpoint.directory + "/" + name, data.text());
    }
  }
  return files;
}

// Runs it to the weights of the run that never failed.
TrainingRecord run_well(const Scenario& scenario) {
  TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_THAT(record.violations, IsEmpty());
  return record;
}

TEST(Tiers, WhatIsUploadedIsWhatARunWithoutTiersSaves) {
  for (const char* stage : {"train.zero_stage=0", "train.zero_stage=1"}) {
    const TrainingRecord plain = run_training(without_tiers("", {stage}));
    for (const char* asynchronous : {"checkpoint.asynchronous=false", "checkpoint.asynchronous=true"}) {
      for (const char* distance : {"checkpoint.tiers.replica_distance=0", "checkpoint.tiers.replica_distance=3"}) {
        const TrainingRecord tiers = run_training(with_tiers("", {stage, asynchronous, distance}));
        EXPECT_THAT(saved_steps(tiers), ElementsAre(2, 4, 6, 8, 10, 12));
        EXPECT_EQ(arithmetic_files(tiers), arithmetic_files(plain));
        EXPECT_EQ(tiers.weights_sha256, plain.weights_sha256);
        EXPECT_EQ(tiers.local_saves, 6);
        EXPECT_EQ(tiers.failed_saves, 0);
      }
    }
  }
}

TEST(Tiers, EachDiskHasItsRanksShardAndThatOfTheRankBefore) {
  const Scenario scenario = with_tiers("", {"checkpoint.keep=1"});
  TrainingSession session(scenario, std::nullopt, {});
  while (session.advance(4096)) {
  }
  std::vector<std::string> files;
  for (const auto& [path, data] : session.local_disk(2).durable_files()) files.push_back(path);
  const std::string directory = "checkpoints/step_000012/";
  EXPECT_THAT(files, ElementsAre(directory + "manifest.json", directory + "run_state.json",
                                 directory + "shard_00001.safetensors", directory + "shard_00002.safetensors"));
  const auto shared = session.disk().durable_files();
  for (const std::string& file : files) {
    EXPECT_EQ(session.local_disk(2).durable_files().at(file).text(), shared.at(file).text()) << file;
  }
}

TEST(Tiers, TrainingWaitsForTheLocalDisksAlone) {
  const std::vector<std::string> slow = {"cluster.storage.latency=20us"};
  const TrainingRecord plain = run_training(without_tiers("", slow));
  const TrainingRecord tiers = run_training(with_tiers("", slow));
  EXPECT_LT(tiers.simulated, plain.simulated);
  ASSERT_TRUE(plain.save_cost.has_value() && tiers.save_cost.has_value());
  EXPECT_LT(tiers.save_cost->ps(), plain.save_cost->ps() / 2);
}

// One upload at a time: none is left out.
TEST(Tiers, AStorageSlowerThanTheCadenceHoldsTheTrainingUp) {
  for (const char* asynchronous : {"checkpoint.asynchronous=false", "checkpoint.asynchronous=true"}) {
    const TrainingRecord record = run_well(with_tiers("", {"cluster.storage.latency=1ms", asynchronous}));
    EXPECT_THAT(saved_steps(record), ElementsAre(2, 4, 6, 8, 10, 12));
    EXPECT_GT(record.simulated.since_start(), Duration::milliseconds(100));
  }
}

TEST(Tiers, TheFirstSaveOneOfSoManyAndThatOfTheLastStepAreUploaded) {
  const auto steps = [](const char* every) {
    const TrainingRecord record =
        run_training(with_tiers("", {std::string("checkpoint.tiers.upload_every=") + every, "train.steps=12"}));
    EXPECT_EQ(record.local_saves, 6);
    return saved_steps(record);
  };
  EXPECT_THAT(steps("2"), ElementsAre(2, 6, 10, 12));
  EXPECT_THAT(steps("3"), ElementsAre(2, 8, 12));
  EXPECT_THAT(steps("100"), ElementsAre(2, 12));
}

TEST(Tiers, AfterACrashOfAProcessEachRankLoadsFromItsOwnDisk) {
  const TrainingRecord record = run_well(with_tiers(crash(1, 8, "BACKWARD", "PROCESS")));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(4, 0, 0));
  EXPECT_EQ(record.recoveries[0].reads.remote, Bytes());
}

TEST(Tiers, TheShardOfALostHostComesFromItsNeighbour) {
  for (const int rank : {0, 1, 3}) {
    for (const char* spares : {"recovery.spares=0", "recovery.spares=1"}) {
      const TrainingRecord record = run_well(with_tiers(crash(rank, 8, "BACKWARD"), {spares}));
      ASSERT_EQ(record.recoveries.size(), 1U);
      EXPECT_EQ(record.recoveries[0].resumed_step, 6);
      EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(3, 1, 0));
      EXPECT_THAT(record.recoveries[0].rejected, IsEmpty());
    }
  }
}

// With whole state on every rank, each needs all shards.
TEST(Tiers, WholeStateComesFromTheDisksOfAll) {
  const TrainingRecord record = run_well(with_tiers(crash(2, 8, "BACKWARD"), {"train.zero_stage=0"}));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(4, 12, 0));
}

TEST(Tiers, WithoutSecondCopiesALostShardComesFromTheSharedStorage) {
  const TrainingRecord record = run_well(with_tiers(crash(1, 8, "BACKWARD"), {"checkpoint.tiers.replica_distance=0"}));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(3, 0, 1));
}

// Ranks 1 and 2 have all copies of shard 1 between them; what was uploaded last is older.
TEST(Tiers, WhereBothCopiesAreLostAnOlderUploadedCheckpointIsLoaded) {
  const TrainingRecord record =
      run_well(with_tiers(crash(1, 10, "BACKWARD") + crash(2, 10, "BACKWARD"), {"checkpoint.tiers.upload_every=2"}));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(saved_steps(record), ElementsAre(2, 6, 8, 12));
}

TEST(Tiers, CopiesFurtherOnSurviveTheLossOfNeighbours) {
  const TrainingRecord record =
      run_well(with_tiers(crash(1, 10, "BACKWARD") + crash(2, 10, "BACKWARD"),
                          {"checkpoint.tiers.upload_every=2", "checkpoint.tiers.replica_distance=2"}));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 8);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(2, 2, 0));
}

TEST(Tiers, ALossOfPowerLeavesTheDisks) {
  const TrainingRecord record = run_well(with_tiers("power_loss { at { step: 8 phase: BACKWARD } }"));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 6);
  EXPECT_THAT(shards_of(record.recoveries[0]), ElementsAre(4, 0, 0));
}

// A second loss, of the host that the first one's shard came from: what was saved in between has new copies.
TEST(Tiers, LostHostsOneAfterTheOther) {
  const TrainingRecord record = run_well(with_tiers(crash(1, 6, "BACKWARD") + crash(2, 10, "BACKWARD")));
  ASSERT_EQ(record.recoveries.size(), 2U);
  EXPECT_EQ(record.recoveries[1].resumed_step, 8);
  EXPECT_THAT(shards_of(record.recoveries[1]), ElementsAre(3, 1, 0));
}

TEST(Tiers, AHostIsLostAtAnyMomentOfSavesAndUploads) {
  for (const char* asynchronous : {"checkpoint.asynchronous=false", "checkpoint.asynchronous=true"}) {
    const Scenario scenario = with_tiers("", {asynchronous, "train.steps=6", "checkpoint.tiers.upload_every=2"});
    const TrainingRecord whole = run_training(scenario);
    TrainingHooks quiet;
    quiet.log_events = false;
    int crashes = 0;
    for (std::uint64_t at = 0; at < whole.events; at += 17) {
      const int victim = crashes % 4;
      TrainingSession session(scenario, std::nullopt, quiet);
      if (at > 0) session.advance(at);
      session.crash(victim, crashes % 3 == 0 ? CrashKind::kProcess : CrashKind::kHost);
      while (session.advance(1 << 20)) {
      }
      const TrainingRecord record = session.finish();
      ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure << " after event " << at;
      ASSERT_EQ(record.weights_sha256, whole.weights_sha256) << "after event " << at;
      ASSERT_THAT(record.violations, IsEmpty());
      for (const RecoveryRecord& recovery : record.recoveries) {
        ASSERT_THAT(recovery.rejected, IsEmpty()) << "after event " << at;
        // A checkpoint that every rank has passed is never lost with one host.
        ASSERT_LE(recovery.last_step - recovery.resumed_step, 4) << "after event " << at;
      }
      ++crashes;
    }
    EXPECT_EQ(crashes, static_cast<int>((whole.events + 16) / 17));
    EXPECT_GT(crashes, 50);
  }
}

TEST(Tiers, AnElasticJobLoadsTheShardsOfFourFromTheDisksOfThree) {
  const std::vector<std::string> elastic = {"recovery.mode=ELASTIC", "train.batch=3"};
  for (const int rank : {0, 1, 3}) {
    const TrainingRecord plain = run_training(without_tiers(crash(rank, 8, "BACKWARD"), elastic));
    const TrainingRecord tiers = run_training(with_tiers(crash(rank, 8, "BACKWARD"), elastic));
    ASSERT_EQ(tiers.outcome, Outcome::kDone) << tiers.failure;
    EXPECT_EQ(tiers.weights_sha256, plain.weights_sha256);
    ASSERT_EQ(tiers.recoveries.size(), 1U);
    EXPECT_EQ(tiers.recoveries[0].resumed_step, 6);
    EXPECT_EQ(tiers.recoveries[0].reads.shards_from_remote, 0);
  }
}

// The hosts that are left are numbered anew, and their disks with them.
TEST(Tiers, AnElasticJobLosesOneHostAfterTheOther) {
  const std::vector<std::string> elastic = {"recovery.mode=ELASTIC", "train.batch=3"};
  const std::string faults = crash(1, 6, "BACKWARD") + crash(0, 10, "BACKWARD");
  const TrainingRecord plain = run_training(without_tiers(faults, elastic));
  const TrainingRecord tiers = run_training(with_tiers(faults, elastic));
  ASSERT_EQ(tiers.outcome, Outcome::kDone) << tiers.failure;
  EXPECT_EQ(tiers.weights_sha256, plain.weights_sha256);
  ASSERT_EQ(tiers.recoveries.size(), 2U);
  EXPECT_EQ(tiers.recoveries[1].resumed_step, 8);
  EXPECT_EQ(tiers.recoveries[1].reads.shards_from_remote, 0);
}

}  // namespace
}  // namespace rehearse
