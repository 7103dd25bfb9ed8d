// Models at real scale and rooflines in whole runs: memory, bytes on the wire, checkpoints and times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/checkpoint/shard_file.h"
#include "core/model/cost.h"
#include "core/model/layout.h"
#include "core/parallel/units.h"
#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

constexpr int kRanks = 8;

using Overrides = std::vector<std::string>;

Overrides both(Overrides first, const Overrides& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Eight ranks of a model at its real size, without checkpoints.
const Overrides kEight = {"mode=COST", "cluster.ranks=8", "train.steps=2", "checkpoint.every_steps=0",
                          "checkpoint.keep=0"};
const Overrides kOne = {"mode=COST", "cluster.ranks=1", "checkpoint.every_steps=0", "checkpoint.keep=0"};
const Overrides kHalf = {"model.dtype=BFLOAT16"};
const Overrides kEightHalf = both(kEight, kHalf);

Scenario large(const std::string& model, const Overrides& overrides) {
  const std::string text =
      "name: \"large\"\n"
      "cluster { ranks: 2 network { latency: \"5us\" } device { roofline { preset: \"h100\" } } }\n"
      "model { preset: \"" +
      model +
      "\" }\n"
      "data { synthetic { kind: MARKOV states: 4 } }\n"
      "train { steps: 2 batch: 1 adam { lr: 0.01 } }\n"
      "checkpoint { every_steps: 2 keep: 2 }\n";
  const FileReader no_files = [](const std::string& path, Bytes) -> std::string {
    throw InputError("cannot read " + path);
  };
  LoadOptions options;
  options.overrides = overrides;
  return parse_scenario(text, "large.textproto", no_files, options);
}

std::int64_t padded(const Scenario& s) {
  return UnitPlan(ParameterLayout(s.train.model), s.train.bucket_elements(), s.ranks).padded_total();
}

std::int64_t bytes_of(const TrainingRecord& record, Operation operation) {
  for (const CommunicationRow& row : record.communication) {
    if (row.operation == operation) return row.bytes.count();
  }
  return 0;
}

// Rajbhandari et al., arXiv:1910.02054, section 3: 16 P with data parallelism, 4 P + 12 P / N with ZeRO-1.
TEST(StateTypesOfARun, TakeTheBytesOfZeRO) {
  const Scenario whole = large("llama2-7b", both(kEightHalf, {"train.zero_stage=0"}));
  const std::int64_t p = padded(whole);
  const TrainingRecord ddp = run_training(whole);
  ASSERT_EQ(ddp.outcome, Outcome::kDone) << ddp.failure;
  EXPECT_EQ((ddp.memory[0].parameters + ddp.memory[0].gradients + ddp.memory[0].optimizer).count(), 16 * p);
  const TrainingRecord zero = run_training(large("llama2-7b", kEightHalf));
  EXPECT_EQ(zero.memory[7].parameters.count(), 2 * p);
  EXPECT_EQ(zero.memory[7].gradients.count(), 2 * p);
  EXPECT_EQ(zero.memory[7].optimizer.count(), 12 * p / kRanks);
  EXPECT_TRUE(zero.violations.empty());
}

// Megatron's main gradients in float32: 18 P, and twice the bytes in the reduction.
TEST(StateTypesOfARun, GradientsAreReducedInTheirOwnType) {
  const Scenario half = large("gpt2-xl", kEightHalf);
  const std::int64_t p = padded(half);
  const TrainingRecord plain = run_training(half);
  const TrainingRecord main = run_training(large("gpt2-xl", both(kEightHalf, {"train.main_grads_dtype=FLOAT32"})));
  EXPECT_EQ(main.memory[0].gradients.count(), 4 * p);
  EXPECT_EQ(bytes_of(plain, Operation::kReduceScatter), 2 * (kRanks - 1) * 2 * p);  // of all ranks, in two steps
  EXPECT_EQ(bytes_of(main, Operation::kReduceScatter), 2 * (kRanks - 1) * 4 * p);
  EXPECT_EQ(bytes_of(main, Operation::kBroadcast), (kRanks - 1) * 2 * p);
}

TEST(StateTypesOfARun, BucketsAreCutByTheSizeOfGradients) {
  const auto units = [](const Overrides& types) {
    const Scenario s = large("gpt2", both(both(kEight, types), {"train.bucket=25MB"}));
    return UnitPlan(ParameterLayout(s.train.model), s.train.bucket_elements(), s.ranks).units().size();
  };
  EXPECT_GT(units({}), units(kHalf));
  EXPECT_EQ(units({}), units(both(kHalf, {"train.main_grads_dtype=FLOAT32"})));
}

// Shards hold the optimizer's state, the model file the parameters.
TEST(StateTypesOfARun, CheckpointsAreAsLargeAsTheirTypes) {
  const auto checkpoint_bytes = [](const Overrides& types) {
    const Scenario s = large("gpt2", both({"mode=COST"}, types));
    const TrainingRecord record = run_training(s);
    EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
    EXPECT_EQ(record.checkpoints.size(), 1U);
    std::int64_t bytes = 0;
    for (const auto& [name, data] : record.checkpoints.at(0).files) bytes += data.size().count();
    return bytes;
  };
  const std::int64_t p = 124'439'808;
  const std::int64_t whole = checkpoint_bytes({});
  EXPECT_NEAR(static_cast<double>(whole), 16.0 * p, 1e6);
  EXPECT_NEAR(static_cast<double>(checkpoint_bytes(kHalf)), 14.0 * p, 1e6);
  EXPECT_NEAR(static_cast<double>(checkpoint_bytes(both(kHalf, {"train.optimizer_dtype=BFLOAT16"}))), 8.0 * p, 1e6);
}

// A job that is lost takes its checkpoint up again, of whatever types it is.
TEST(StateTypesOfARun, AJobGoesOnFromItsCheckpoint) {
  const Scenario s = large(
      "gpt2", both(kHalf, {"mode=COST", "train.steps=4", "train.optimizer_dtype=FLOAT16", "faults.crash[0].rank=1",
                           "faults.crash[0].at.step=4", "faults.crash[0].at.phase=FORWARD"}));
  const TrainingRecord record = run_training(s);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 2);
}

// One rank, so that nothing is sent: forward and backward of every stage, the norm of the gradient, and the update.
TEST(RooflineOfARun, AStepTakesItsKernels) {
  const Scenario s = large("gpt2", both(kHalf, kOne));
  const TrainingRecord record = run_training(s);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  const Roofline& device = s.device.roofline.value();
  Duration expected;
  for (int stage = 0; stage < 14; ++stage) {
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      const StageCost cost = stage_cost(s.train.model, 1, stage, direction, DType::kBFloat16);
      expected = expected + device.time_of(cost.kernels);
    }
  }
  const std::int64_t p = 124'439'808;
  expected =
      expected + device.time_of(Flops(2 * p), Bytes(2 * p)) + device.time_of(Flops(16 * p), Bytes((2 + 24 + 2) * p));
  EXPECT_EQ(record.steps[1].step_seconds, expected);
}

// The real run has the kernels of the same list.
TEST(RooflineOfARun, IsTheSameWithNumbersAndWithout) {
  const Overrides roofline = {"cluster.device.roofline.preset=a100", "train.guards.corruption=EVICT",
                              "checkpoint.every_steps=0", "checkpoint.keep=0"};
  const TrainingRecord real = run_training(tiny_training("", roofline));
  const TrainingRecord cost = run_training(tiny_training("", both(roofline, {"mode=COST"})));
  ASSERT_EQ(real.outcome, Outcome::kDone) << real.failure;
  EXPECT_EQ(cost.simulated, real.simulated);
  EXPECT_EQ(cost.events, real.events);
  // Other times, the same numbers.
  const TrainingRecord flops = run_training(tiny_training("", {"checkpoint.every_steps=0", "checkpoint.keep=0"}));
  EXPECT_EQ(flops.weights_sha256, real.weights_sha256);
  EXPECT_LT(flops.simulated, real.simulated);
}

TEST(RooflineOfARun, ASlowRankTakesItsFactor) {
  const TrainingRecord plain = run_training(large("gpt2", kOne));
  const TrainingRecord slow = run_training(
      large("gpt2", both(kOne, {"cluster.device.slowdown[0].rank=0", "cluster.device.slowdown[0].factor=2"})));
  EXPECT_EQ(slow.steps[1].step_seconds, plain.steps[1].step_seconds * 2);
}

}  // namespace
}  // namespace rehearse
