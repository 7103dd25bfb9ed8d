// Hosts are lost for good: spares take their places, or the job goes on with fewer ranks, as a resharded resume would.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"
#include "sim/config/reshard.h"
#include "tests/sim/cluster/resharded_resume.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Four ranks share twelve sequences.
Scenario four_ranks(const std::string& more, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = {"cluster.ranks=4", "train.batch=3", "checkpoint.keep=0"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return tiny_training(more, all);
}

std::string lost(int rank, int step, const std::string& phase = "BACKWARD") {
  return "faults { crash { kind: HOST rank: " + std::to_string(rank) + " at { step: " + std::to_string(step) +
         " phase: " + phase + " } } }\n";
}

const std::vector<std::string> kElastic = {"recovery.mode=ELASTIC"};

// The run is the one that a resharded resume of `scenario` from the same checkpoint gives, in weights and checkpoints.
void expect_resharded_resume(const Scenario& scenario, const TrainingRecord& saved, const TrainingRecord& record,
                             std::int64_t step, int ranks) {
  EXPECT_FALSE(state_of(saved, step).empty());
  EXPECT_EQ(state_of(record, step), state_of(saved, step));
  const Scenario fewer = reshard_scenario(scenario, {"cluster.ranks=" + std::to_string(ranks)});
  const TrainingRecord resumed = run_training(fewer, resume_of(saved, step, scenario.arithmetic_sha256));
  ASSERT_EQ(resumed.outcome, Outcome::kDone) << resumed.failure;
  EXPECT_THAT(resumed.recoveries, IsEmpty());
  EXPECT_EQ(record.weights_sha256, resumed.weights_sha256);
  const std::int64_t last = scenario.train.steps;
  EXPECT_FALSE(state_of(record, last).empty());
  EXPECT_EQ(state_of(record, last), state_of(resumed, last));
}

TEST(Elastic, TheStoryEndsWithTheWeightsOfAReshardedResume) {
  const Scenario scenario = load_scenario(std::string(REHEARSE_SOURCE_DIR) + "/scenarios/elastic_4_to_3.textproto");
  const TrainingRecord record = run_training(scenario);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  expect_resharded_resume(scenario, record, record, 10, 3);
}

TEST(Elastic, WhicheverHostIsLostTheOthersGoOnAsAReshardedResumeWould) {
  for (const int rank : {0, 1, 3}) {
    for (const std::string stage : {"train.zero_stage=0", "train.zero_stage=1"}) {
      SCOPED_TRACE(std::to_string(rank) + ", " + stage);
      const Scenario scenario = four_ranks(lost(rank, 5), {"recovery.mode=ELASTIC", stage});
      const TrainingRecord record = run_training(scenario);
      ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
      EXPECT_THAT(record.violations, IsEmpty());
      ASSERT_EQ(record.recoveries.size(), 1u);
      EXPECT_EQ(record.recoveries[0].ranks, 3);
      EXPECT_THAT(record.recoveries[0].gone, ElementsAre(rank));
      EXPECT_EQ(record.recoveries[0].resumed_step, 4);
      EXPECT_EQ(record.memory.size(), 3u);
      const Scenario calm = four_ranks("", {stage});
      expect_resharded_resume(calm, run_training(calm), record, 4, 3);
    }
  }
}

TEST(Elastic, BeforeTheFirstCheckpointTheJobStartsAfreshOnThoseLeft) {
  const Scenario scenario = four_ranks(lost(2, 1), kElastic);
  const TrainingRecord record = run_training(scenario);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_FALSE(record.recoveries.at(0).from_checkpoint);
  EXPECT_TRUE(record.save_cost.has_value());  // all saves were of three ranks
  const TrainingRecord three = run_training(reshard_scenario(four_ranks(""), {"cluster.ranks=3"}));
  EXPECT_EQ(record.weights_sha256, three.weights_sha256);
}

TEST(Elastic, HostsThatCannotShareABatchStandByAndReplaceTheNextLoss) {
  const std::string twice =
      "faults { crash { kind: HOST rank: 3 at { step: 3 phase: BACKWARD } }\n"
      "  crash { kind: HOST rank: 0 at { step: 5 phase: BACKWARD } } }\n";
  const Scenario scenario = tiny_training(twice, {"cluster.ranks=4", "train.batch=1", "recovery.mode=ELASTIC"});
  const TrainingRecord record = run_training(scenario);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 2u);
  EXPECT_EQ(record.recoveries[0].ranks, 2);  // 3 do not divide 4 sequences
  EXPECT_EQ(record.recoveries[0].spares_left, 1);
  EXPECT_THAT(record.recoveries[1].on_spares, ElementsAre(0));
  EXPECT_EQ(record.recoveries[1].ranks, 2);
  EXPECT_EQ(record.recoveries[1].spares_left, 0);
}

TEST(Elastic, RanksAreLostOneAfterAnotherDownToOne) {
  const std::string all =
      "faults { crash { kind: HOST rank: 1 at { step: 2 phase: BACKWARD } }\n"
      "  crash { kind: HOST rank: 2 at { step: 3 phase: BACKWARD } }\n"
      "  crash { kind: HOST rank: 0 at { step: 5 phase: BACKWARD } } }\n";
  const TrainingRecord record = run_training(four_ranks(all, kElastic));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 3u);
  EXPECT_EQ(record.recoveries[0].ranks, 3);
  EXPECT_EQ(record.recoveries[1].ranks, 2);
  EXPECT_EQ(record.recoveries[2].ranks, 1);
  EXPECT_THAT(record.violations, IsEmpty());
  EXPECT_EQ(record.steps.size(), 6u);
}

TEST(Elastic, WithTooFewRanksTheJobIsGivenUp) {
  const TrainingRecord record = run_training(four_ranks(lost(1, 5), {"recovery.mode=ELASTIC", "recovery.min_ranks=4"}));
  EXPECT_EQ(record.outcome, Outcome::kFailed);
  EXPECT_THAT(record.failure, HasSubstr("rank 1 was lost with its host, and of the hosts that are left, no number from "
                                        "recovery.min_ranks = 4 on divides a batch"));
}

TEST(Elastic, AProcessThatCrashesStartsAgainOnItsHost) {
  const std::string crash = "faults { crash { rank: 1 at { step: 5 phase: BACKWARD } } }\n";
  const TrainingRecord record = run_training(four_ranks(crash, kElastic));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.recoveries.at(0).ranks, 4);
  EXPECT_EQ(record.weights_sha256, run_training(four_ranks("")).weights_sha256);
}

// What three ranks saved is continued by three, as it is.
TEST(Elastic, ItsCheckpointsAreThoseOfAJobOfFewerRanks) {
  const Scenario scenario = four_ranks(lost(3, 3), kElastic);
  const TrainingRecord record = run_training(scenario);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  const Scenario three = reshard_scenario(scenario, {"cluster.ranks=3"});
  const ResumeFrom resume = resume_of(record, 4, "");
  EXPECT_EQ(resume.files.at("scenario.textproto").text(), make_scenario_copy(three).text);
  const TrainingRecord continued = run_training(three, resume);
  EXPECT_EQ(continued.weights_sha256, record.weights_sha256);
}

TEST(Spares, TakeALostHostsPlaceWithoutTheDelay) {
  const Duration delay = Duration::microseconds(1000);  // of tiny_training
  const TrainingRecord whole = run_training(four_ranks(""));
  const TrainingRecord waits = run_training(four_ranks(lost(1, 5)));
  const TrainingRecord record = run_training(four_ranks(lost(1, 5), {"recovery.spares=1"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole.weights_sha256);
  ASSERT_EQ(record.recoveries.size(), 1u);
  EXPECT_THAT(record.recoveries[0].on_spares, ElementsAre(1));
  EXPECT_EQ(record.recoveries[0].ranks, 4);
  const auto stopped_to_started = [](const RecoveryRecord& one) { return one.restarted - one.detected; };
  // The agents meet in two latencies.
  EXPECT_EQ(stopped_to_started(waits.recoveries.at(0)) - stopped_to_started(record.recoveries[0]),
            delay - Duration::microseconds(10));
}

TEST(Spares, OnceUsedUpTheModeCounts) {
  const std::string twice =
      "faults { crash { kind: HOST rank: 1 at { step: 3 phase: BACKWARD } }\n"
      "  crash { kind: HOST rank: 1 at { step: 5 phase: BACKWARD } } }\n";
  const TrainingRecord record = run_training(four_ranks(twice, {"recovery.spares=1", "recovery.mode=ELASTIC"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 2u);
  EXPECT_THAT(record.recoveries[0].on_spares, ElementsAre(1));
  EXPECT_THAT(record.recoveries[1].gone, ElementsAre(1));
  EXPECT_EQ(record.recoveries[1].ranks, 3);
}

// How many are left is part of what a checkpoint holds.
TEST(Spares, ThatAreUsedStayUsedAfterAResume) {
  const std::string twice =
      "faults { crash { kind: HOST rank: 1 at { step: 3 phase: BACKWARD } }\n"
      "  crash { kind: HOST rank: 2 at { step: 6 phase: BACKWARD } } }\n";
  const Scenario scenario = four_ranks(twice, {"recovery.spares=1"});
  const TrainingRecord record = run_training(scenario);
  ASSERT_EQ(record.recoveries.size(), 2u);
  EXPECT_THAT(record.recoveries[1].on_spares, IsEmpty());
  const TrainingRecord continued = run_training(scenario, resume_of(record, 4, ""));
  ASSERT_EQ(continued.outcome, Outcome::kDone) << continued.failure;
  ASSERT_EQ(continued.recoveries.size(), 1u);
  EXPECT_THAT(continued.recoveries[0].on_spares, IsEmpty());
  EXPECT_EQ(continued.weights_sha256, record.weights_sha256);
}

}  // namespace
}  // namespace rehearse
