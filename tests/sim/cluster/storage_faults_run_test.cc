// Storage faults in whole jobs: what is reported of them, and what the job makes of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/cluster/run_twice.h"
#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string& whole_weights() {
  static const std::string weights = run_training(tiny_training("")).weights_sha256;
  return weights;
}

std::vector<std::int64_t> steps_of(const std::vector<CheckpointRecord>& checkpoints) {
  std::vector<std::int64_t> steps;
  for (const CheckpointRecord& one : checkpoints) steps.push_back(one.step);
  return steps;
}

TEST(StorageFaultsOfRuns, AFailedSaveIsReportedAndLeavesNothing) {
  const Scenario scenario = tiny_training("faults { io_error { operation: WRITE rank: 1 path: \"*step_000004/*\" } }");
  TrainingSession session(scenario, std::nullopt, {});
  while (session.advance(4096)) {
  }
  for (const auto& [path, data] : session.disk().files()) {
    EXPECT_EQ(path.find("step_000004"), std::string::npos) << path;
  }
  const TrainingRecord record = session.finish();
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_EQ(record.failed_saves, 1);
  ASSERT_EQ(record.checkpoint_failures.size(), 1U);
  EXPECT_EQ(text_of(record.checkpoint_failures[0]),
            "step 4: rank 1: write shared:checkpoints/.building-g0-step_000004/shard_00001.safetensors: input/output "
            "error");
  EXPECT_THAT(steps_of(record.checkpoints), ElementsAre(2, 6));
  ASSERT_EQ(record.faults.size(), 1U);
  EXPECT_EQ(record.faults[0].at.rank, 1);
  EXPECT_EQ(record.faults[0].at.step, 4);
  EXPECT_EQ(record.faults[0].at.phase, Phase::kCheckpoint);
  EXPECT_EQ(record.faults[0].what,
            "write shared:checkpoints/.building-g0-step_000004/shard_00001.safetensors fails: input/output error");
}

TEST(StorageFaultsOfRuns, WhatRankZeroFailsOfNamesItToo) {
  const TrainingRecord record =
      run_training(tiny_training("faults { io_error { operation: RENAME path: \"step_000004\" } }"));
  ASSERT_EQ(record.checkpoint_failures.size(), 1U);
  EXPECT_EQ(text_of(record.checkpoint_failures[0]),
            "step 4: rank 0: rename shared:checkpoints/.building-g0-step_000004: input/output error");
}

std::string verdict_of(const Scenario& scenario, const TrainingRecord& record, const std::string& name) {
  for (const Verdict& verdict : judge(scenario, record)) {
    if (verdict.name == name) return std::string(verdict.held ? "held: " : "failed: ") + verdict.detail;
  }
  return "none";
}

TEST(StorageFaultsOfRuns, FailedSavesAreFailuresUnlessTheyAreExpected) {
  const std::string fault = "faults { disk_full { from_step: 4 until_step: 5 } }";
  const std::string expected_one = " expect { failed_saves: 1 }";
  const std::string expected_two = " expect { failed_saves: 2 }";
  const Scenario silent = tiny_training(fault);
  const Scenario one = tiny_training(fault + expected_one);
  const Scenario two = tiny_training(fault + expected_two);
  const TrainingRecord record = run_training(silent);
  EXPECT_THAT(verdict_of(silent, record, "checkpoints"), HasSubstr("failed: step 4: rank 0"));
  EXPECT_THAT(verdict_of(one, record, "failed_saves"), HasSubstr("held: 1 save failed: step 4: rank 0"));
  EXPECT_EQ(verdict_of(one, record, "checkpoints"), "none");
  EXPECT_THAT(verdict_of(two, record, "failed_saves"), HasSubstr("failed: 1 save failed"));
  const TrainingRecord healthy = run_training(tiny_training(""));
  EXPECT_EQ(verdict_of(one, healthy, "failed_saves"), "failed: 0 saves failed");
}

TEST(StorageFaultsOfRuns, RefusedCheckpointsAreCounted) {
  const Scenario scenario = tiny_training(
      "faults { missing_file { path: \"step_000004/manifest.json\" at { step: 5 phase: DATA } }"
      "  crash { rank: 1 at { step: 5 phase: BACKWARD } } } expect { refused_checkpoints: 1 }");
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(verdict_of(scenario, record, "refused_checkpoints"), "held: 1 was refused");
  EXPECT_EQ(record.recoveries.at(0).resumed_step, 2);
  EXPECT_EQ(record.weights_sha256, whole_weights());
}

class Records : public EventListener {
 public:
  void on_record(const EventRecord& record) override { all.push_back(record); }
  std::vector<EventRecord> all;
};

// How far the plan has come is kept in each checkpoint's run state, which is longer for it; with a disk this fast that
// takes no time.
TEST(StorageFaultsOfRuns, APlanThatNeverStrikesChangesNoEventButTheSizeOfTheRunState) {
  Scenario scenario = tiny_training("", {"cluster.storage.bandwidth=1000000Tbps"});
  Records without;
  TrainingHooks hooks;
  hooks.listeners = {&without};
  run_training(scenario, std::nullopt, hooks);
  OperationFault fault;
  fault.on.path = "no such file";
  scenario.faults.storage.operations.push_back(fault);
  StaleViewFault stale;
  stale.window.from_step = 1000;
  stale.delay = Duration::seconds(1);
  scenario.faults.storage.stale.push_back(stale);
  Records with;
  hooks.listeners = {&with};
  const TrainingRecord record = run_training(scenario, std::nullopt, hooks);
  EXPECT_EQ(record.faults_not_struck.size(), 2U);
  ASSERT_EQ(with.all.size(), without.all.size());
  int longer = 0;
  for (std::size_t i = 0; i < with.all.size(); ++i) {
    EventRecord expected = without.all[i];
    if (with.all[i].kind == EventKind::kWrite && with.all[i].size != expected.size) {
      expected.size = with.all[i].size;
      ++longer;
    }
    EXPECT_EQ(with.all[i], expected) << "record " << i;
  }
  EXPECT_EQ(longer, 3) << "one run state for each of the three saves";
}

TEST(StorageFaultsOfRuns, AreTheSameEveryTime) {
  const Scenario scenario = tiny_training(
      "faults { lost_fsync { path: \"*step_000004/*\" nth: 2 } slow_disk { factor: 3 rank: 1 }"
      "  stale_view { rank: 1 delay: \"1ms\" } power_loss { at { step: 5 phase: REDUCE } } }");
  const TrainingRecord record = run_twice(scenario, std::nullopt, {});
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.weights_sha256, whole_weights());
  ASSERT_TRUE(record.second_run.has_value());
  EXPECT_EQ(record.second_run->difference, "");
}

// The only checkpoint rots, so the job starts over; the next save must not take the one that is refused for the newest.
TEST(StorageFaultsOfRuns, RotationDoesNotKeepARefusedCheckpointForANewOne) {
  const Scenario scenario = tiny_training(
      "faults { rot { path: \"step_000004/model.safetensors\" offset: 900 bit: 1 rank: 1 at { step: 6 phase: DATA } }"
      "  crash { rank: 1 at { step: 6 phase: BACKWARD } } crash { rank: 0 at { step: 3 phase: BACKWARD } } }",
      {"checkpoint.keep=1"});
  Scenario late = scenario;
  // The second crash is one of the second attempt: at a time after the first restart.
  FaultWhen& second = late.faults.faults[1].when;
  TimePoint again;
  {
    Scenario once = scenario;
    once.faults.faults.pop_back();
    const TrainingRecord record = run_training(once);
    ASSERT_EQ(record.recoveries.size(), 1U);
    EXPECT_EQ(record.recoveries[0].resumed_step, 0);
    for (const StepRecord& step : record.steps) {
      if (step.report.step == 3) again = step.report.ended;
    }
  }
  second.time = again;
  const TrainingRecord record = run_training(late);
  ASSERT_EQ(record.recoveries.size(), 2U);
  EXPECT_EQ(record.recoveries[1].resumed_step, 2);
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_THAT(steps_of(record.checkpoints), ElementsAre(6));
}

// A checkpoint that could not be read once is good the next time: the job is then further than it had come again.
TEST(StorageFaultsOfRuns, ACheckpointThatCanBeReadAgainGivesAWholeRecord) {
  const Scenario scenario = tiny_training(
      "faults { io_error { operation: READ path: \"step_000004/manifest.json\" }"
      "  crash { rank: 1 at { step: 5 phase: BACKWARD } } }");
  const TrainingRecord once = run_training(scenario);
  ASSERT_EQ(once.recoveries.size(), 1U);
  EXPECT_EQ(once.recoveries[0].resumed_step, 2);
  Scenario twice = scenario;
  FaultWhen later;
  later.time = once.recoveries[0].resumed + Duration::microseconds(1);
  twice.faults.faults.push_back(Fault{later, CrashFault()});
  const TrainingRecord record = run_training(twice);
  ASSERT_EQ(record.recoveries.size(), 2U);
  EXPECT_EQ(record.recoveries[1].resumed_step, 4);
  EXPECT_EQ(record.recoveries[1].last_step, 4);
  EXPECT_EQ(record.weights_sha256, whole_weights());
  std::vector<std::int64_t> steps;
  for (const StepRecord& step : record.steps) steps.push_back(step.report.step);
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(StorageFaultsOfRuns, AContinuedRunWhoseCheckpointCannotBeReadStartsOnceMore) {
  const TrainingRecord whole = run_training(tiny_training(""));
  ResumeFrom resume;
  resume.step = 4;
  resume.files = whole.checkpoints.at(0).files;
  ASSERT_EQ(whole.checkpoints.at(0).step, 4);
  const TrainingRecord record = run_training(tiny_training("faults { io_error { operation: READ rank: 1 } }"), resume);
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.weights_sha256, whole.weights_sha256);
}

TEST(StorageFaultsOfRuns, ADiskThatCannotBeReadAtTheStartIsAFailureAndTheNextStartGoesOn) {
  const TrainingRecord record = run_training(tiny_training("faults { io_error { operation: FSYNC_DIRECTORY } }"));
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].cause, "rank 0 failed: fsync_directory shared:: input/output error");
  EXPECT_EQ(record.weights_sha256, whole_weights());
}

TEST(StorageFaultsOfRuns, ALossOfPowerTakesEveryRankAndIsOneRecovery) {
  const TrainingRecord record = run_training(
      tiny_training("faults { power_loss { at { step: 3 phase: REDUCE } } }", {"recovery.heartbeat_interval=0ps"}));
  EXPECT_EQ(record.outcome, Outcome::kDone);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].cause, "the power of all hosts was lost");
  EXPECT_EQ(record.recoveries[0].detected - record.recoveries[0].failed, Duration::microseconds(5 + 2000));
  EXPECT_EQ(record.recoveries[0].resumed_step, 2);
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_THAT(record.faults_not_struck, IsEmpty());
}

}  // namespace
}  // namespace rehearse
