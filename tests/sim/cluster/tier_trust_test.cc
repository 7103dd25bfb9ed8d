// A job that goes back comes to its steps again: what either tier has of such a step may be of the past that did not
// happen, and what a guard refused must never be taken for what it trusts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

using ::testing::IsEmpty;

struct Story {
  std::string storage = "latency: \"100us\"";
  std::string checkpoint = "every_steps: 5 keep: 3 tiers { upload_every: 1 local_disk { latency: \"2us\" } }";
  std::string faults;
  std::vector<std::string> overrides;
};

TrainingRecord run(const Story& story) {
  const std::string text =
      "name: \"tier-trust\"\nseed: 41\n"
      "cluster { ranks: 4 network { latency: \"5us\" bandwidth: \"100Gbps\" } device { preset: \"a100\" } storage { " +
      story.storage +
      " } }\n"
      "model { layers: 2 embed: 32 heads: 4 vocab: 64 context: 16 }\n"
      "data { synthetic { kind: MARKOV states: 16 noise: 0 } }\n"
      "train { steps: 20 batch: 4 zero_stage: 1 adam { lr: 0.005 } guards { corruption: ROLLBACK } }\n"
      "checkpoint { " +
      story.checkpoint +
      " }\n"
      "recovery { restart_delay: \"50ms\" heartbeat_timeout: \"20ms\" }\n"
      "faults { " +
      story.faults + " }\n";
  const FileReader no_files = [](const std::string& path, Bytes) -> std::string {
    throw InputError("cannot read " + path);
  };
  LoadOptions options;
  options.overrides = story.overrides;
  return run_training(parse_scenario(text, "tier_trust.textproto", no_files, options));
}

void expect_right_end(const TrainingRecord& record) {
  static const std::string right = run(Story()).weights_sha256;
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, right);
  EXPECT_THAT(record.violations, IsEmpty());
}

// The state of step 10 changes after it was computed: the guard sees it in step 11, and the job goes back to step 5.
const std::string kFlip =
    "flip { rank: 2 at { step: 10 phase: GATHER } target: MASTER tensor: \"blocks.1.mlp.0.weight\" index: 37 bit: 27 "
    "} ";

std::string host_lost(int rank, int step) {
  return "crash { rank: " + std::to_string(rank) + " at { step: " + std::to_string(step) +
         " phase: BACKWARD } kind: HOST } ";
}

// Both copies of a shard of the second step 10 are lost, and only the first one was uploaded.
TEST(TierTrust, WhatAGuardRefusedIsNotLoadedFromTheSharedStorage) {
  const std::string two_lost = host_lost(3, 13) + host_lost(2, 13);
  for (const std::string& more :
       {std::string(), std::string("slow_disk { factor: 20 from: \"1200us\" } "),
        std::string("io_error { operation: WRITE path: \".building-g0-step_000010/manifest.json\" nth: 2 } ")}) {
    for (const char* storage : {"latency: \"100us\"", "latency: \"2us\""}) {
      Story story;
      story.storage = storage;
      story.faults = kFlip + more + two_lost;
      const TrainingRecord record = run(story);
      SCOPED_TRACE(story.faults);
      expect_right_end(record);
      ASSERT_EQ(record.recoveries.size(), 2U);
      EXPECT_EQ(record.recoveries[0].resumed_step, 5);
      EXPECT_THAT(record.recoveries[1].rejected, IsEmpty());
    }
  }
}

// One disk refuses the second step 10, so that all have the first one still; the second was uploaded.
TEST(TierTrust, WhatAGuardRefusedIsNotLoadedFromTheLocalDisks) {
  Story story;
  story.storage = "latency: \"1us\" bandwidth: \"400Gbps\"";
  story.faults = kFlip +
                 "io_error { operation: WRITE path: \".building-g0-step_000010/shard_00001.safetensors\" nth: 2 "
                 "local_disk: 1 } crash { rank: 3 at { step: 15 phase: GATHER } }";
  const TrainingRecord record = run(story);
  expect_right_end(record);
  ASSERT_EQ(record.recoveries.size(), 2U);
  EXPECT_EQ(record.recoveries[1].resumed_step, 10);
  EXPECT_EQ(record.recoveries[1].reads.shards_from_own_disk, 0);
  EXPECT_EQ(record.recoveries[1].reads.shards_from_remote, 4);
}

// Two neighbours go, sooner and later after the job went back.
TEST(TierTrust, AfterARollbackEveryLossEndsRight) {
  int recoveries = 0;
  for (int step = 7; step <= 19; step += 4) {
    for (const int rank : {0, 2}) {
      Story story;
      story.faults = kFlip + host_lost(rank, step) + host_lost(rank + 1, step);
      const TrainingRecord record = run(story);
      SCOPED_TRACE(story.faults);
      expect_right_end(record);
      recoveries += static_cast<int>(record.recoveries.size());
    }
  }
  // In step 11 the hosts go before the guard has looked.
  EXPECT_EQ(recoveries, 6 * 2 + 2);
}

// What may be gone back to is what the list in the storage names: until it can be replaced, these stay.
TEST(TierTrust, WhereTheListCannotBeWrittenRotationKeepsWhatItNames) {
  for (const std::string& tiers :
       {std::string(" tiers { upload_every: 100 local_disk { latency: \"2us\" } }"), std::string()}) {
    Story story;
    story.storage = "latency: \"2us\"";
    story.checkpoint = "every_steps: 2 keep: 1" + tiers;
    story.faults =
        "io_error { operation: WRITE path: \"trusted.json.new\" count: 0 from_step: 6 until_step: 18 } "
        "crash { rank: 3 at { step: 17 phase: BACKWARD } }";
    const TrainingRecord record = run(story);
    SCOPED_TRACE(story.checkpoint);
    expect_right_end(record);
    ASSERT_EQ(record.recoveries.size(), 1U);
    EXPECT_TRUE(record.recoveries[0].from_checkpoint);
    EXPECT_EQ(record.recoveries[0].resumed_step, 4);
  }
}

TEST(TierTrust, AnUploadThatFailedIsMadeUpForByTheNextSave) {
  Story story;
  story.storage = "latency: \"1us\"";
  story.checkpoint = "every_steps: 2 tiers { upload_every: 100 local_disk { latency: \"2us\" } }";
  story.faults = "io_error { operation: FSYNC path: \"manifest.json\" } " + host_lost(1, 18) + host_lost(2, 18);
  const TrainingRecord record = run(story);
  expect_right_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_TRUE(record.recoveries[0].from_checkpoint);
  EXPECT_LT(record.recoveries[0].resumed_step, 16);
}

TEST(TierTrust, ADiskThatCouldNotBePreparedAtTheStartIsDurableOnceItSaves) {
  Story story;
  story.checkpoint = "every_steps: 5 tiers { upload_every: 100 local_disk { latency: \"2us\" } }";
  story.faults =
      "io_error { operation: MAKE_DIRECTORY path: \"checkpoints\" local_disk: 1 } "
      "io_error { operation: MAKE_DIRECTORY path: \"checkpoints\" local_disk: 2 } "
      "power_loss { at { step: 18 phase: BACKWARD } }";
  const TrainingRecord record = run(story);
  expect_right_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 15);
}

}  // namespace
}  // namespace rehearse
