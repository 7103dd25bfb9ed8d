// Where faults strike in runs: ranks of every kind, microbatches, and runs that continue others.

#include <gtest/gtest.h>

#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

Scenario capstone_with(const std::string& faults, const std::vector<std::string>& overrides = {}) {
  const std::string path = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";
  std::string text = read_real_file(path, kScenarioFileLimit);
  text.resize(text.find("expect {"));
  LoadOptions options;
  options.overrides = overrides;
  return parse_scenario(text + "faults { " + faults + " }\n", path, read_real_file, options);
}

// With so many ranks the last ones have nothing but padding to update; they die like all others.
TEST(FaultPlacesOfRuns, ARankThatUpdatesNothingIsStruckToo) {
  const Scenario scenario = capstone_with("crash { rank: 63 at { step: 2 phase: FORWARD } }",
                                          {"cluster.ranks=64", "model.embed=2", "model.heads=1", "model.layers=1",
                                           "model.context=4", "train.batch=1", "train.steps=3"});
  const TrainingRecord record = run_training(scenario);
  EXPECT_TRUE(record.faults_not_struck.empty());
  EXPECT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.outcome, Outcome::kDone);
}

TEST(FaultPlacesOfRuns, APhaseIsStruckInItsFirstMicrobatchAlone) {
  const std::string flip =
      "flip { rank: 1 at { step: 3 phase: FORWARD always: true } target: PARAMETER tensor: \"ln_f.weight\" index: 0 "
      "bit: 3 }";
  const TrainingRecord record = run_training(capstone_with(flip, {"train.accumulate=4"}));
  EXPECT_EQ(record.faults.size(), 1U);
}

// The clock goes on over any number of continuations: a fault at a time strikes once in all of them.
TEST(FaultPlacesOfRuns, AFaultAtATimeStrikesOnceOverContinuedRuns) {
  const Scenario scenario = capstone_with("crash { rank: 2 time: \"1ms\" }", {"checkpoint.every_steps=5"});
  std::map<std::int64_t, ResumeFrom> saved;
  TrainingHooks hooks;
  hooks.on_checkpoint = [&saved](const CheckpointRecord& checkpoint) {
    saved[checkpoint.step] = ResumeFrom{checkpoint.step, checkpoint.files};
  };
  const TrainingRecord whole = run_training(scenario, std::nullopt, hooks);
  ASSERT_EQ(whole.recoveries.size(), 1U);
  const TrainingRecord second = run_training(scenario, saved.at(5), hooks);
  EXPECT_TRUE(second.recoveries.empty());
  const TrainingRecord third = run_training(scenario, saved.at(10), hooks);
  EXPECT_TRUE(third.recoveries.empty());
  EXPECT_EQ(second.weights_sha256, whole.weights_sha256);
  EXPECT_EQ(third.weights_sha256, whole.weights_sha256);
}

TEST(FaultPlacesOfRuns, WindowsOfOneSpeedThatFollowEachOtherAllCount) {
  const TrainingRecord record =
      run_training(capstone_with("straggler { rank: 1 factor: 2 from_step: 2 until_step: 4 } straggler { rank: 1 "
                                 "factor: 2 from_step: 5 until_step: 6 }"));
  EXPECT_TRUE(record.faults_not_struck.empty());
}

// Ranks that do not wait for each other overlap in two steps: that time is counted once.
TEST(FaultPlacesOfRuns, GoodputIsNeverOverOne) {
  const TrainingRecord record =
      run_training(capstone_with("straggler { rank: 3 factor: 1000 }", {"train.zero_stage=0"}));
  EXPECT_GT(goodput_of(record), 0.5);
  EXPECT_LE(goodput_of(record), 1.0);
}

}  // namespace
}  // namespace rehearse
