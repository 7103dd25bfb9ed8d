// Mode COST: the same program, messages, waits and times as the real run, without its numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"
#include "sim/config/loader.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using ::testing::IsEmpty;

// All that both modes must agree on.
void expect_same_course(const TrainingRecord& real, const TrainingRecord& cost) {
  ASSERT_EQ(cost.outcome, real.outcome) << cost.failure;
  EXPECT_EQ(cost.simulated, real.simulated);
  EXPECT_EQ(cost.events, real.events);
  EXPECT_EQ(cost.messages, real.messages);
  EXPECT_EQ(cost.bytes_on_wire, real.bytes_on_wire);
  ASSERT_EQ(cost.steps.size(), real.steps.size());
  for (std::size_t i = 0; i < cost.steps.size(); ++i) {
    EXPECT_EQ(cost.steps[i].report.began, real.steps[i].report.began) << i;
    EXPECT_EQ(cost.steps[i].report.ended, real.steps[i].report.ended) << i;
    EXPECT_EQ(cost.steps[i].report.tokens, real.steps[i].report.tokens) << i;
    EXPECT_EQ(cost.steps[i].memory.activations_peak, real.steps[i].memory.activations_peak) << i;
  }
  ASSERT_EQ(cost.memory.size(), real.memory.size());
  for (std::size_t rank = 0; rank < cost.memory.size(); ++rank) {
    EXPECT_EQ(cost.memory[rank].optimizer, real.memory[rank].optimizer) << rank;
    EXPECT_EQ(cost.memory[rank].gradients, real.memory[rank].gradients) << rank;
  }
  ASSERT_EQ(cost.communication.size(), real.communication.size());
  for (std::size_t i = 0; i < cost.communication.size(); ++i) {
    EXPECT_EQ(cost.communication[i].bytes, real.communication[i].bytes) << i;
    EXPECT_EQ(cost.communication[i].time, real.communication[i].time) << i;
  }
  ASSERT_EQ(cost.recoveries.size(), real.recoveries.size());
  for (std::size_t i = 0; i < cost.recoveries.size(); ++i) {
    EXPECT_EQ(cost.recoveries[i].cause, real.recoveries[i].cause);
    EXPECT_EQ(cost.recoveries[i].resumed_step, real.recoveries[i].resumed_step);
    EXPECT_EQ(cost.recoveries[i].resumed, real.recoveries[i].resumed);
    EXPECT_EQ(cost.recoveries[i].read, real.recoveries[i].read);
  }
}

Scenario shipped(const std::string& name, const std::vector<std::string>& overrides = {}) {
  LoadOptions options;
  options.overrides = overrides;
  return load_scenario(std::string(REHEARSE_SOURCE_DIR) + "/scenarios/" + name + ".textproto", options);
}

class CostModeOf : public testing::TestWithParam<const char*> {};

TEST_P(CostModeOf, TakesTheTimesOfTheRealRun) {
  expect_same_course(run_training(shipped(GetParam())), run_training(shipped(GetParam(), {"mode=COST"})));
}

INSTANTIATE_TEST_SUITE_P(Scenarios, CostModeOf,
                         testing::Values("capstone", "ddp", "accumulate", "seven_ranks", "text", "crash_rolls_back",
                                         "crash_during_save", "host_lost_replica", "elastic_4_to_3", "hot_spare",
                                         "async_save", "straggler", "slow_link", "lossy_network", "partition_heals",
                                         "slow_disk", "disk_full_during_save", "skipped_collective", "hang",
                                         "saved_by_time", "stale_view", "io_error_on_read"),
                         [](const auto& test) { return std::string(test.param); });

// Without checkpoints: these hold the losses that guards remember, in as many digits as they have.
TEST(CostMode, TakesTheTimesOfGuardsThatSeeNothing) {
  const std::vector<std::string> guards = {"train.guards.nonfinite=SKIP_STEP",
                                           "train.guards.loss_spike=ROLLBACK",
                                           "train.guards.corruption=EVICT",
                                           "train.guards.recompute_every=2",
                                           "train.eval_every=2",
                                           "checkpoint.every_steps=0",
                                           "checkpoint.keep=0"};
  std::vector<std::string> cost = guards;
  cost.emplace_back("mode=COST");
  expect_same_course(run_training(tiny_training("", guards)), run_training(tiny_training("", cost)));
}

TEST(CostMode, HasNoNumbers) {
  const TrainingRecord record = run_training(tiny_training("", {"mode=COST", "train.eval_every=2"}));
  EXPECT_EQ(record.weights_sha256, "");
  EXPECT_THAT(record.evals, IsEmpty());
  EXPECT_THAT(record.violations, IsEmpty());
  ASSERT_EQ(record.steps.size(), 6U);
  for (const StepRecord& step : record.steps) EXPECT_TRUE(std::isnan(step.report.loss));
}

TEST(CostMode, FaultsOfNumbersDoNotStrikeAndOthersDo) {
  const std::string faults =
      "faults { spike { rank: 1 at { step: 4 phase: REDUCE } of: LOSS factor: 1000 }\n"
      "  overwrite { rank: 0 at { step: 3 phase: REDUCE } target: GRADIENT tensor: \"head.weight\" index: 0 with: "
      "QUIET_NAN }\n"
      "  crash { rank: 0 at { step: 5 phase: FORWARD } } }\n";
  const TrainingRecord record = run_training(tiny_training(faults, {"mode=COST"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 4);
  EXPECT_EQ(record.faults.size(), 1U);
  EXPECT_EQ(record.faults_not_struck.size(), 2U);
}

TEST(CostMode, JudgesWhatIsNotOfNumbers) {
  const Scenario scenario = shipped("crash_rolls_back", {"mode=COST"});
  const TrainingRecord record = run_training(scenario);
  std::vector<std::string> names;
  for (const Verdict& verdict : judge(scenario, record)) {
    EXPECT_TRUE(verdict.held) << verdict.name << ": " << verdict.detail;
    names.push_back(verdict.name);
  }
  EXPECT_THAT(names, testing::Contains("recoveries"));
  for (const char* name : {"loss", "weights_sha256", "same_weights_as", "event_digest"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0) << name;
  }
}

// Sixty-four ranks of it would take some terabytes.
TEST(CostMode, AModelOfSevenBillionParametersFits) {
  const TrainingRecord record =
      run_training(tiny_training("", {"mode=COST", "cluster.ranks=64", "model.layers=32", "model.embed=4096",
                                      "model.heads=32", "model.vocab=32000", "model.context=2048", "train.steps=2",
                                      "checkpoint.every_steps=0", "checkpoint.keep=0"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.steps.size(), 2U);
  EXPECT_GT(record.memory[0].parameters.count(), std::int64_t{4} * 6'000'000'000);
  EXPECT_GT(record.steps[1].step_seconds, Duration::seconds(1));
}

}  // namespace
}  // namespace rehearse
