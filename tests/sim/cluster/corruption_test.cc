// Memory that changes by itself: wherever it does, the job finds it before it counts and ends with the right weights.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

// The capstone, shorter, with digests of the state, a checkpoint every 2 steps, and faults.
Scenario sealed(const std::string& policy, const std::string& faults, const std::vector<std::string>& overrides = {}) {
  const std::string path = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";
  std::string text = read_real_file(path, kScenarioFileLimit);
  text.resize(text.find("expect {"));
  text.replace(text.find("adam {"), 6, "guards { corruption: " + policy + " } adam {");
  text += faults.empty() ? "" : "faults { " + faults + " }\n";
  LoadOptions options;
  options.overrides = {"train.steps=4", "checkpoint.every_steps=2", "checkpoint.keep=0"};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  return parse_scenario(text, path, read_real_file, options);
}

std::string flip(const std::string& target, int rank, int step, const std::string& phase, std::int64_t index,
                 const std::string& more = "") {
  return "flip { rank: " + std::to_string(rank) + " at { step: " + std::to_string(step) + " phase: " + phase + more +
         " } target: " + target + " tensor: \"blocks.1.mlp.0.weight\" index: " + std::to_string(index) + " bit: 27 } ";
}

struct Counts {
  int runs = 0;
  int found = 0;
};

// A flip in each part of the state, on each of the ranks that holds the element, in each phase of the steps.
Counts flip_everywhere(const std::string& policy, const std::vector<int>& ranks, const std::vector<int>& steps,
                       const std::vector<std::string>& overrides) {
  const std::string right = run_training(sealed(policy, "", overrides)).weights_sha256;
  Counts counts;
  for (const char* target : {"PARAMETER", "MASTER", "FIRST_MOMENT", "SECOND_MOMENT"}) {
    for (const char* phase : {"DATA", "FORWARD", "BACKWARD", "REDUCE", "OPTIMIZER", "GATHER"}) {
      for (const int step : steps) {
        for (const int rank : ranks) {
          const std::string fault = flip(target, rank, step, phase, 37);
          std::optional<Scenario> scenario;
          try {
            scenario.emplace(sealed(policy, fault, overrides));
          } catch (const InputError&) {
            continue;  // the rank has no such element
          }
          const TrainingRecord record = run_training(*scenario);
          EXPECT_EQ(record.outcome, Outcome::kDone) << fault;
          EXPECT_EQ(record.weights_sha256, right) << fault;
          EXPECT_LE(record.recoveries.size(), 1U) << fault;
          ++counts.runs;
          counts.found += record.recoveries.empty() ? 0 : 1;
        }
      }
    }
  }
  return counts;
}

// All but a parameter that is flipped after the update where another rank's is about to be written over it: that heals.
TEST(Corruption, AFlipAnywhereInShardedStateCostsARollbackAndNoBit) {
  const Counts counts = flip_everywhere("ROLLBACK", {0, 2, 3}, {3, 4}, {"train.zero_stage=1"});
  EXPECT_EQ(counts.runs, 6 * 2 * (3 + 3));
  EXPECT_EQ(counts.found, counts.runs - 2 * 2);
}

TEST(Corruption, AFlipAnywhereInWholeStateCostsARollbackAndNoBit) {
  const Counts counts = flip_everywhere("ROLLBACK", {3}, {3, 4}, {"train.zero_stage=0"});
  EXPECT_EQ(counts.runs, 6 * 2 * 4);
  EXPECT_EQ(counts.found, counts.runs);
}

TEST(Corruption, AnEvictionToo) {
  const Counts counts = flip_everywhere("EVICT", {2}, {4}, {"train.zero_stage=1", "model.dtype=FLOAT64"});
  EXPECT_EQ(counts.runs, 6 * 4);
  EXPECT_EQ(counts.found, counts.runs);
}

// Without the guard the flip is in everybody's weights and nothing says so.
TEST(Corruption, WithoutTheGuardItGoesUnnoticed) {
  Scenario scenario = sealed("ROLLBACK", flip("MASTER", 2, 4, "DATA", 37));
  scenario.train.guards.corruption.reset();
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_TRUE(record.violations.empty());
  EXPECT_TRUE(record.recoveries.empty());
  EXPECT_NE(record.weights_sha256, run_training(sealed("ROLLBACK", "")).weights_sha256);
}

// What a checkpoint holds of a state that changed before it was saved is not trusted: the job goes back further.
TEST(Corruption, ACheckpointOfChangedStateIsNotGoneBackTo) {
  const TrainingRecord record = run_training(sealed(
      "ROLLBACK", flip("PARAMETER", 1, 4, "GATHER", 37) + flip("MASTER", 2, 4, "GATHER", 37), {"train.steps=6"}));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 2);
  EXPECT_THAT(record.recoveries[0].cause, HasSubstr("the master weights of rank 2 are not what the last update left"));
  EXPECT_EQ(record.recoveries[0].last_step, 4);
}

TEST(Corruption, StopStops) {
  const TrainingRecord record = run_training(sealed("STOP", flip("SECOND_MOMENT", 2, 4, "BACKWARD", 37)));
  EXPECT_EQ(record.outcome, Outcome::kStopped);
  EXPECT_THAT(record.failure, HasSubstr("the second moments of rank 2"));
}

// A memory that keeps flipping uses up the rollbacks; another machine ends it.
TEST(Corruption, AMachineThatKeepsFlippingIsReplaced) {
  const std::vector<std::string> longer = {"train.steps=6"};
  const std::string broken = flip("MASTER", 2, 3, "REDUCE", 37, " until_step: 6 always: true");
  const TrainingRecord rolled = run_training(sealed("ROLLBACK", broken, longer));
  EXPECT_EQ(rolled.outcome, Outcome::kStopped);
  const TrainingRecord evicted = run_training(sealed("EVICT", broken, longer));
  EXPECT_EQ(evicted.outcome, Outcome::kDone);
  ASSERT_EQ(evicted.recoveries.size(), 1U);
  EXPECT_EQ(evicted.recoveries[0].kind, RecoveryRecord::Kind::kRestart);
  EXPECT_EQ(evicted.faults.size(), 1U);
  ASSERT_EQ(evicted.guards.size(), 1U);
  EXPECT_EQ(evicted.guards[0].report.evicted, std::vector<int>{2});
  EXPECT_EQ(evicted.weights_sha256, run_training(sealed("EVICT", "", longer)).weights_sha256);
}

// The new machine is there in continued runs too.
TEST(Corruption, AReplacedMachineStaysReplacedOverResume) {
  const Scenario scenario =
      sealed("EVICT", flip("MASTER", 2, 3, "REDUCE", 37, " until_step: 6 always: true"), {"train.steps=6"});
  std::optional<ResumeFrom> resume;
  TrainingHooks hooks;
  hooks.on_checkpoint = [&resume](const CheckpointRecord& checkpoint) {
    if (checkpoint.step == 4) resume = ResumeFrom{checkpoint.step, checkpoint.files};
  };
  const TrainingRecord whole = run_training(scenario, std::nullopt, hooks);
  ASSERT_TRUE(resume.has_value());
  const TrainingRecord continued = run_training(scenario, resume);
  EXPECT_TRUE(continued.faults.empty());
  EXPECT_EQ(continued.weights_sha256, whole.weights_sha256);
}

// The digests change no bit of what is trained, only its time.
TEST(Corruption, LookingChangesNothingButTime) {
  const TrainingRecord looked = run_training(sealed("ROLLBACK", ""));
  Scenario scenario = sealed("ROLLBACK", "");
  scenario.train.guards = GuardConfig();
  const TrainingRecord plain = run_training(scenario);
  EXPECT_EQ(looked.weights_sha256, plain.weights_sha256);
  EXPECT_GT(looked.simulated, plain.simulated);
}

}  // namespace
}  // namespace rehearse
