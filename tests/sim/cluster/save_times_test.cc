// Checkpoints by simulated time: which steps are saved is rank 0's decision, and changes no weights.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Scenario saving(const std::vector<std::string>& overrides, const std::string& faults = "") {
  const std::string path = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";
  std::string text = read_real_file(path, kScenarioFileLimit);
  text.resize(text.find("expect {"));
  text += faults.empty() ? "" : "faults { " + faults + " }\n";
  LoadOptions options;
  options.overrides = {"checkpoint.keep=0"};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  return parse_scenario(text, path, read_real_file, options);
}

std::vector<std::int64_t> saved_steps(const TrainingRecord& record) {
  std::vector<std::int64_t> steps;
  for (const CheckpointRecord& checkpoint : record.checkpoints) steps.push_back(checkpoint.step);
  return steps;
}

// Between a save, or the start, and the next lies at least the time, and less than a step more.
TEST(SaveTimes, AStepIsSavedOnceTheTimeIsOver) {
  const Duration every = Duration::microseconds(500);
  const TrainingRecord record = run_training(saving({"checkpoint.every_steps=0", "checkpoint.every=500us"}));
  const std::vector<std::int64_t> steps = saved_steps(record);
  ASSERT_GE(steps.size(), 2U);
  ASSERT_LT(steps.size(), 10U);
  const TimePoint began = record.steps.front().report.began;
  const auto ended = [&record](std::int64_t step) {
    return record.steps[static_cast<std::size_t>(step - 1)].report.ended;
  };
  EXPECT_LT(ended(steps.front() - 1) - began, every);
  EXPECT_GE(ended(steps.front()) - began, every);
  EXPECT_EQ(record.weights_sha256, run_training(saving({})).weights_sha256);
}

TEST(SaveTimes, ALongTimeSavesNothing) {
  EXPECT_THAT(saved_steps(run_training(saving({"checkpoint.every_steps=0", "checkpoint.every=1h"}))), IsEmpty());
}

TEST(SaveTimes, EachStepIsSavedWhereTheTimeIsShort) {
  const TrainingRecord record =
      run_training(saving({"train.steps=4", "checkpoint.every_steps=0", "checkpoint.every=1ps"}));
  EXPECT_THAT(saved_steps(record), ElementsAre(1, 2, 3));
}

TEST(SaveTimes, StepsAndTimeGoTogether) {
  const TrainingRecord record =
      run_training(saving({"train.steps=8", "checkpoint.every_steps=3", "checkpoint.every=1h"}));
  EXPECT_THAT(saved_steps(record), ElementsAre(3, 6));
}

// A straggler that is no rank 0 makes the ranks' clocks differ at the end of a step.
TEST(SaveTimes, RanksWhoseClocksDifferAgree) {
  for (const int rank : {0, 1, 3}) {
    for (const char* time : {"150us", "300us", "450us", "600us"}) {
      const TrainingRecord record = run_training(
          saving({"checkpoint.every_steps=0", std::string("checkpoint.every=") + time},
                 "straggler { rank: " + std::to_string(rank) + " factor: 1.5 from_step: 2 until_step: 17 }"));
      EXPECT_EQ(record.outcome, Outcome::kDone);
      EXPECT_TRUE(record.violations.empty());
      EXPECT_THAT(record.checkpoint_failures, IsEmpty());
      EXPECT_FALSE(record.checkpoints.empty());
    }
  }
}

TEST(SaveTimes, ACrashGoesBackToASaveByTime) {
  const TrainingRecord record = run_training(saving({"checkpoint.every_steps=0", "checkpoint.every=500us"},
                                                    "crash { rank: 2 at { step: 18 phase: BACKWARD } }"));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_TRUE(record.recoveries[0].from_checkpoint);
  EXPECT_EQ(record.weights_sha256, run_training(saving({})).weights_sha256);
}

}  // namespace
}  // namespace rehearse
