// A job goes on from its checkpoint on another number of ranks: the same state, the same batches, the same schedule.

#include "sim/config/reshard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/resharded_resume.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kFour = {"cluster.ranks=4", "train.batch=3", "train.schedule.warmup_steps=4",
                                        "train.eval_every=2"};

// The sequences of each step, in the order of ranks.
class Tokens : public TrainObserver {
 public:
  void on_gradients(int rank, std::int64_t step, std::span<const std::int32_t> tokens, const TensorsView&,
                    const TensorsView&) override {
    parts_[{step, rank}].assign(tokens.begin(), tokens.end());
  }
  std::vector<std::int32_t> of_step(std::int64_t step) const {
    std::vector<std::int32_t> all;
    for (const auto& [place, tokens] : parts_) {
      if (place.first == step) all.insert(all.end(), tokens.begin(), tokens.end());
    }
    return all;
  }

 private:
  std::map<std::pair<std::int64_t, int>, std::vector<std::int32_t>> parts_;
};

TrainingRecord run_watched(const Scenario& scenario, const std::optional<ResumeFrom>& resume, TrainObserver* observer) {
  TrainingHooks hooks;
  hooks.observer = observer;
  return run_training(scenario, resume, hooks);
}

TEST(ReshardedRun, SeesTheSameBatchesInTheSameOrderAndKeepsTheSchedule) {
  const Scenario four = tiny_training("", kFour);
  Tokens whole_tokens;
  const TrainingRecord whole = run_watched(four, std::nullopt, &whole_tokens);
  ASSERT_EQ(whole.outcome, Outcome::kDone);
  for (const int ranks : {1, 2, 3, 6, 12}) {
    SCOPED_TRACE(ranks);
    const Scenario other = reshard_scenario(four, {"cluster.ranks=" + std::to_string(ranks)});
    Tokens tokens;
    const TrainingRecord record = run_watched(other, resume_of(whole, 4, four.arithmetic_sha256), &tokens);
    ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
    EXPECT_THAT(record.violations, IsEmpty());
    EXPECT_EQ(record.start_parameters, whole.steps[3].parameters);
    ASSERT_EQ(record.steps.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      const StepReport& report = record.steps[i].report;
      const StepReport& expected = whole.steps[4 + i].report;
      EXPECT_FALSE(tokens.of_step(report.step).empty());
      EXPECT_EQ(tokens.of_step(report.step), whole_tokens.of_step(report.step));
      EXPECT_EQ(report.lr, expected.lr);
      EXPECT_EQ(report.tokens, expected.tokens);
      EXPECT_EQ(report.batch_index, expected.batch_index);
      // Other sums of the same numbers.
      EXPECT_NEAR(report.loss, expected.loss, 1e-5);
      EXPECT_NEAR(report.grad_norm, expected.grad_norm, 1e-4);
    }
    ASSERT_EQ(record.evals.size(), 1u);
    EXPECT_NEAR(record.evals.back().loss, whole.evals.back().loss, 1e-5);
  }
}

TEST(ReshardedRun, OtherRanksAreRefusedWhereNobodyAskedForThem) {
  const Scenario four = tiny_training("", kFour);
  const TrainingRecord whole = run_training(four);
  ResumeFrom resume = resume_of(whole, 4, four.arithmetic_sha256);
  resume.reshard_from.clear();
  try {
    run_training(reshard_scenario(four, {"cluster.ranks=2"}), resume);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("world_size of the checkpoint is 4, of this job 2; other ranks continue it "
                                        "where resharding is asked for (rehearse resume --reshard)"));
  }
}

TEST(ReshardedRun, AnotherJobsCheckpointIsRefusedAllTheSame) {
  const Scenario four = tiny_training("", kFour);
  const Scenario stranger = tiny_training("", {"cluster.ranks=4", "train.batch=3", "seed=6"});
  const TrainingRecord other = run_training(stranger);
  ResumeFrom resume = resume_of(other, 4, stranger.arithmetic_sha256);
  resume.reshard_from = four.arithmetic_sha256;
  EXPECT_THROW(run_training(reshard_scenario(four, {"cluster.ranks=2"}), resume), InputError);
}

// Cut for 3 ranks and back for 4 again, the job is the one that it was, and continues as that.
TEST(ReshardedRun, ThereAndBackWithoutAStepIsTheRunThatNeverLeft) {
  const Scenario four = tiny_training("", kFour);
  const TrainingRecord whole = run_training(four);
  const Scenario three = reshard_scenario(four, {"cluster.ranks=3"});
  const Scenario back = reshard_scenario(three, {"cluster.ranks=4"});
  EXPECT_EQ(back.arithmetic_sha256, four.arithmetic_sha256);
  const TrainingRecord record = run_training(back, resume_of(whole, 4, four.arithmetic_sha256));
  EXPECT_EQ(record.weights_sha256, whole.weights_sha256);
  EXPECT_EQ(state_of(record, 6), state_of(whole, 6));
}

// What a resharded run saves is a checkpoint like any other: it is continued on as many ranks, and re-cut again.
TEST(ReshardedRun, ItsOwnCheckpointsContinueItAndAreReshardedInTurn) {
  std::vector<std::string> overrides = kFour;
  overrides.push_back("checkpoint.keep=0");
  const Scenario four = tiny_training("", overrides);
  const TrainingRecord whole = run_training(four);
  const Scenario three = reshard_scenario(four, {"cluster.ranks=3"});
  const TrainingRecord on_three = run_training(three, resume_of(whole, 2, four.arithmetic_sha256));
  ASSERT_EQ(on_three.outcome, Outcome::kDone) << on_three.failure;
  EXPECT_NE(on_three.weights_sha256, whole.weights_sha256);

  ResumeFrom resume = resume_of(on_three, 4, three.arithmetic_sha256);
  resume.reshard_from.clear();
  const TrainingRecord continued = run_training(three, resume);
  EXPECT_EQ(continued.weights_sha256, on_three.weights_sha256);
  EXPECT_EQ(state_of(continued, 6), state_of(on_three, 6));

  const Scenario two = reshard_scenario(three, {"cluster.ranks=2", "train.zero_stage=0"});
  const TrainingRecord on_two = run_training(two, resume_of(on_three, 4, three.arithmetic_sha256));
  ASSERT_EQ(on_two.outcome, Outcome::kDone) << on_two.failure;
  EXPECT_EQ(on_two.start_parameters, on_three.steps[1].parameters);
}

// Its newest checkpoint may be the one that it was resharded from.
TEST(ReshardedRun, GoesBackToTheCheckpointOfOtherRanks) {
  const Scenario four = tiny_training("", kFour);
  const TrainingRecord whole = run_training(four);
  const Scenario calm = reshard_scenario(four, {"cluster.ranks=3"});
  const TrainingRecord expected = run_training(calm, resume_of(whole, 4, four.arithmetic_sha256));
  const Scenario crashes = tiny_training("faults { crash { rank: 1 at { step: 5 phase: BACKWARD } } }", kFour);
  const TrainingRecord before = run_training(tiny_training("", kFour));
  const Scenario three = reshard_scenario(crashes, {"cluster.ranks=3"});
  const TrainingRecord record = run_training(three, resume_of(before, 4, four.arithmetic_sha256));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 1u);
  EXPECT_EQ(record.recoveries[0].resumed_step, 4);
  EXPECT_TRUE(record.recoveries[0].from_checkpoint);
  EXPECT_EQ(record.weights_sha256, expected.weights_sha256);
}

// A fault of a rank that is not there any more never strikes, nor does one in memory that its rank no longer holds.
TEST(ReshardedRun, FaultsThatFindNobodyAreReportedAsSuch) {
  const std::string faults =
      "faults { crash { rank: 3 at { step: 5 phase: BACKWARD } } crash { rank: 3 time: \"1ms\" }\n"
      "  flip { rank: 0 at { step: 5 phase: OPTIMIZER } target: MASTER tensor: \"tok_embed.weight\" index: 0 bit: 1 } "
      "}";
  const Scenario four = tiny_training("", kFour);
  const Scenario planned = tiny_training(faults, kFour);
  const TrainingRecord whole = run_training(four);
  const Scenario two = reshard_scenario(planned, {"cluster.ranks=2"});
  const TrainingRecord record = run_training(two, resume_of(whole, 4, four.arithmetic_sha256));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_THAT(record.recoveries, IsEmpty());
  EXPECT_EQ(record.faults.size(), 1u);  // the flip: rank 0 still holds the first elements
  EXPECT_EQ(record.faults_not_struck.size(), 2u);
}

}  // namespace
}  // namespace rehearse
