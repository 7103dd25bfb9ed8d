// Activation recomputation: a block's forward again before its backward; the memory of one block, and no other bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/model/activations.h"
#include "core/model/cost.h"
#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using Words = std::vector<std::string>;

Scenario job(bool recompute, const Words& more, const std::string& faults = "") {
  Words words = {"model.layers=3", "train.batch=2", "cluster.device.flops=1GFLOPS"};
  if (recompute) words.emplace_back("train.recompute_blocks=true");
  words.insert(words.end(), more.begin(), more.end());
  return tiny_training(faults, words);
}

TrainingRecord run(const Scenario& scenario) {
  TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_THAT(record.violations, ::testing::IsEmpty());
  return record;
}

TEST(RecomputeBlocks, ChangesNoBit) {
  for (const Words& more :
       {Words{}, Words{"train.accumulate=2", "train.eval_every=2"}, Words{"train.zero_stage=3", "train.bucket=400B"},
        Words{"train.zero_stage=3", "train.bucket=400B", "train.overlap=true", "train.accumulate=2"},
        Words{"model.dtype=FLOAT64", "model.layers=1"},
        Words{"cluster.ranks=3", "train.guards.corruption=ROLLBACK", "train.guards.recompute_every=2"}}) {
    const TrainingRecord kept = run(job(false, more));
    const TrainingRecord again = run(job(true, more));
    EXPECT_EQ(again.weights_sha256, kept.weights_sha256);
    for (std::size_t i = 0; i < kept.steps.size(); ++i) {
      EXPECT_EQ(again.steps[i].report.grad_norm, kept.steps[i].report.grad_norm) << i;
    }
    EXPECT_THAT(again.guards, ::testing::IsEmpty());
  }
}

// Of three blocks with R rows of embed E, H heads and context T, two times R (15 E + 4) + batch H T^2 is saved.
TEST(RecomputeBlocks, KeepsTheActivationsOfOneBlock) {
  const std::int64_t rows = 2 * 4;
  const std::int64_t block = rows * (15 * 8 + 4) + 2 * 1 * 4 * 4;
  for (const Words& more : {Words{}, Words{"mode=COST"}}) {
    const std::int64_t kept = run(job(false, more)).memory[0].activations_peak.count();
    const std::int64_t again = run(job(true, more)).memory[0].activations_peak.count();
    EXPECT_EQ(kept - again, 4 * 2 * block);
  }
}

// Forward of two of the three blocks, once more.
TEST(RecomputeBlocks, TakesTheForwardTimeOfAllBlocksButTheLast) {
  const Scenario scenario = job(true, {});
  const Duration forward =
      compute_time(stage_cost(scenario.train.model, 2, 1, Direction::kForward).flops, scenario.device.rate);
  const auto step = [](const Scenario& one) { return run(one).steps.front().step_seconds; };
  EXPECT_EQ(step(scenario) - step(job(false, {})), forward * 2);
  EXPECT_EQ(step(job(true, {"mode=COST"})), step(scenario));
  // A single block is still there.
  EXPECT_EQ(step(job(true, {"model.layers=1"})), step(job(false, {"model.layers=1"})));
}

TEST(RecomputeBlocks, ACrashEndsWithTheBytesOfTheCalmRunAndTheJobMayContinueWithout) {
  const TrainingRecord calm = run(job(false, {}));
  const std::string crash = "faults { crash { rank: 1 at { step: 4 phase: BACKWARD } } }\n";
  const TrainingRecord record = run(job(true, {}, crash));
  EXPECT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.weights_sha256, calm.weights_sha256);
  ResumeFrom resume;
  resume.step = 4;
  resume.files = record.checkpoints.front().files;
  const Scenario without = job(false, {}, crash);
  EXPECT_EQ(run_training(without, resume).weights_sha256, calm.weights_sha256);
}

}  // namespace
}  // namespace rehearse
