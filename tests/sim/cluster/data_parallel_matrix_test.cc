// The data axis of the equality matrix: 1 to 8 ranks, ZeRO 0 to 3, with and without overlap, accumulation and
// recomputation, on 8 blocks and 8 heads with a vocabulary that nothing divides. All of one number of ranks and
// microbatches have the same bits, and those are within float32 rounding of the one-process trainer's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/oracle.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

Scenario layout(int ranks, int microbatches, int stage, bool overlap, bool recompute) {
  const auto word = [](bool value) { return std::string(value ? "true" : "false"); };
  return tiny_training(
      "", {"cluster.ranks=" + std::to_string(ranks), "model.layers=8", "model.embed=16", "model.heads=8",
           "model.vocab=37", "train.steps=3", "train.batch=4", "train.accumulate=" + std::to_string(microbatches),
           "train.bucket=3KB", "train.zero_stage=" + std::to_string(stage), "train.overlap=" + word(overlap),
           "train.recompute_blocks=" + word(recompute), "checkpoint.every_steps=0", "checkpoint.keep=0"});
}

TrainingRecord run(const Scenario& scenario) {
  TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_THAT(record.violations, ::testing::IsEmpty());
  EXPECT_TRUE(record.state_checked);
  return record;
}

class DataParallelMatrix : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(DataParallelMatrix, HasOneResultWithinRoundingOfTheReference) {
  const auto [ranks, microbatches] = GetParam();
  const Scenario plain = layout(ranks, microbatches, 0, false, false);
  const TrainingRecord expected = run(plain);
  const reference::Result<float> reference = oracle(plain);
  ASSERT_EQ(expected.steps.size(), reference.steps.size());
  // The data README's tolerances between float32 runs: sums in another order.
  for (std::size_t i = 0; i < reference.steps.size(); ++i) {
    const reference::Step& step = reference.steps[i];
    EXPECT_NEAR(expected.steps[i].report.loss, step.loss, 5e-6);
    EXPECT_NEAR(expected.steps[i].report.grad_norm, step.grad_norm, 1e-5 * step.grad_norm);
    EXPECT_NEAR(expected.steps[i].param_norm, step.param_norm, 1e-6 * step.param_norm);
  }
  for (int stage = 0; stage <= 3; ++stage) {
    for (const bool overlap : {false, true}) {
      for (const bool recompute : {false, true}) {
        const TrainingRecord record = run(layout(ranks, microbatches, stage, overlap, recompute));
        EXPECT_EQ(record.weights_sha256, expected.weights_sha256)
            << "stage " << stage << ", overlap " << overlap << ", recompute " << recompute;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RanksAndMicrobatches, DataParallelMatrix,
                         testing::Combine(testing::Range(1, 9), testing::Values(1, 4)), [](const auto& info) {
                           return "ranks_" + std::to_string(std::get<0>(info.param)) + "_microbatches_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace rehearse
