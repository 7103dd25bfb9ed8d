// Each invariant is shown to hold where it holds and to break where somebody breaks it.

#include <gtest/gtest.h>

#include <cmath>

#include "core/model/init.h"
#include "sim/check/accumulation_difference.h"
#include "sim/check/batch_ledger.h"
#include "sim/check/optimizer_memory.h"
#include "sim/check/parameter_assembly.h"
#include "sim/check/replica_agreement.h"
#include "sim/check/state_memory.h"
#include "sim/check/step_agreement.h"

namespace rehearse {
namespace {

ModelConfig tiny() {
  ModelConfig config;
  config.layers = 1;
  config.embed = 8;
  config.heads = 2;
  config.vocab = 11;
  config.context = 4;
  return config;
}

// Parameters of one replica, and the view of them.
struct Replica {
  Replica() : layout(tiny()), values(static_cast<std::size_t>(layout.total())) {
    initialise(layout, RandomStream(1), table_of_flat(layout, values.data()));
  }
  TensorsView view() const {
    TensorsView view;
    view.layout = &layout;
    for (const ParameterInfo& info : layout.tensors()) {
      view.tensors.push_back(reinterpret_cast<const std::byte*>(values.data() + info.offset));
    }
    return view;
  }
  ParameterLayout layout;
  std::vector<float> values;
};

StepReport report_of(std::int64_t step) {
  StepReport report;
  report.step = step;
  return report;
}

TEST(ReplicaAgreement, HoldsForEqualBits) {
  const Replica a;
  const Replica b;
  ReplicaAgreement agreement(2);
  agreement.on_step(0, report_of(1), a.view(), std::span<const ConstShardPiece>());
  agreement.on_step(1, report_of(1), b.view(), std::span<const ConstShardPiece>());
  EXPECT_TRUE(agreement.violations().empty());
  double squares = 0;
  for (const float x : a.values) squares += static_cast<double>(x) * x;
  EXPECT_NEAR(agreement.after(1).norm, std::sqrt(squares), 1e-12);
}

TEST(ReplicaAgreement, NamesTheTensorWhereOneBitDiffers) {
  for (const char* name : {"tok_embed.weight", "blocks.0.mlp.2.bias", "head.weight"}) {
    const Replica a;
    Replica b;
    const ParameterInfo& info = b.layout.tensors()[static_cast<std::size_t>(b.layout.find(name))];
    float& last = b.values[static_cast<std::size_t>(info.offset + info.numel - 1)];
    last = std::nextafter(last, 10.0F);
    ReplicaAgreement agreement(2);
    agreement.on_step(1, report_of(7), a.view(), std::span<const ConstShardPiece>());
    agreement.on_step(0, report_of(7), b.view(), std::span<const ConstShardPiece>());
    ASSERT_FALSE(agreement.violations().empty());
    EXPECT_EQ(agreement.violations()[0],
              std::string("replicas differ: after step 7, ranks 1 and 0 hold different ") + name);
  }
}

TEST(ReplicaAgreement, SeesASignedZeroThatNormsCannot) {
  Replica a;
  Replica b;
  a.values[3] = 0.0F;
  b.values[3] = -0.0F;
  ReplicaAgreement agreement(2);
  agreement.on_start(0, 0, a.view(), Digest128());
  agreement.on_start(1, 0, b.view(), Digest128());
  EXPECT_EQ(agreement.violations().size(), 1U);
}

TrainConfig capstone(int zero_stage) {
  TrainConfig config;
  config.model.layers = 2;
  config.model.embed = 32;
  config.model.heads = 4;
  config.model.vocab = 64;
  config.model.context = 16;
  config.zero_stage = zero_stage;
  return config;
}

TEST(OptimizerMemory, IsTwelveBytesAParameterOverTheRanks) {
  EXPECT_EQ(expected_optimizer_bytes(capstone(1), 4).count(), 89'472);
  EXPECT_EQ(expected_optimizer_bytes(capstone(0), 4).count(), 4 * 89'472);
  TrainConfig in_double = capstone(1);
  in_double.dtype = DType::kFloat64;
  EXPECT_EQ(expected_optimizer_bytes(in_double, 4).count(), 2 * 89'472);
}

TEST(OptimizerMemory, OneByteMoreOnOneRankIsAViolation) {
  std::vector<Bytes> held(4, Bytes(89'472));
  EXPECT_FALSE(check_optimizer_memory(capstone(1), held).has_value());
  held[2] += Bytes(1);
  const auto violation = check_optimizer_memory(capstone(1), held);
  ASSERT_TRUE(violation.has_value());
  EXPECT_NE(violation->find("rank 2 holds 89473 bytes"), std::string::npos);
}

// Of 29,824 parameters, none of which four ranks have to pad; blocks of 12,576, embeddings of 2,560, a head of 2,112.
TEST(StateMemory, IsFourBytesAParameterOverTheRanks) {
  const auto expect_bytes = [](const TrainConfig& config, std::int64_t parameters, std::int64_t gradients,
                               std::int64_t most_parameters, std::int64_t most_gradients) {
    const StateBytes bytes = expected_state_bytes(config, 4);
    EXPECT_EQ(bytes.parameters.count(), 4 * parameters);
    EXPECT_EQ(bytes.gradients.count(), 4 * gradients);
    EXPECT_EQ(bytes.most_parameters.count(), 4 * most_parameters);
    EXPECT_EQ(bytes.most_gradients.count(), 4 * most_gradients);
  };
  const std::int64_t p = 29'824;
  const auto with_batch = [](int stage) {
    TrainConfig config = capstone(stage);
    config.batch = 2;
    return config;
  };
  expect_bytes(with_batch(0), p, p, p, p);
  expect_bytes(with_batch(1), p, p, p, p);
  expect_bytes(with_batch(2), p, p / 4, p, p / 4 + p);
  expect_bytes(with_batch(3), p / 4, p / 4, p / 4 + p, p / 4 + p);
  // Another gradient, for computing twice.
  TrainConfig twice = with_batch(3);
  twice.guards.recompute_every = 2;
  expect_bytes(twice, p / 4, p / 4 + p, p / 4 + p, p / 4 + p + p);
  // A unit for each tensor, on one rank.
  TrainConfig accumulating = with_batch(2);
  accumulating.accumulate = 2;
  accumulating.bucket_bytes = 4;
  const StateBytes bytes = expected_state_bytes(accumulating, 1);
  EXPECT_EQ(bytes.most_gradients.count(), 4 * 2 * p);
  accumulating.accumulate = 1;
  EXPECT_EQ(expected_state_bytes(accumulating, 1).most_gradients.count(), 4 * (p + 12'576));
  accumulating.overlap = true;
  EXPECT_EQ(expected_state_bytes(accumulating, 1).most_gradients.count(), 4 * (p + 2 * 12'576));
}

TEST(StateMemory, OneByteMoreOfAnythingIsAViolation) {
  TrainConfig config = capstone(3);
  config.batch = 2;
  const std::vector<StateBytes> right(4, expected_state_bytes(config, 4));
  EXPECT_FALSE(check_state_memory(config, right).has_value());
  for (Bytes StateBytes::*part :
       {&StateBytes::parameters, &StateBytes::gradients, &StateBytes::most_parameters, &StateBytes::most_gradients}) {
    std::vector<StateBytes> held = right;
    held[2].*part += Bytes(1);
    const auto violation = check_state_memory(config, held);
    ASSERT_TRUE(violation.has_value());
    EXPECT_NE(violation->find("rank 2 "), std::string::npos) << *violation;
  }
}

// Each of three ranks has every third part of each tensor.
TEST(ReplicaAgreement, PutsPartsTogetherThatNoRankHasWhole) {
  const Replica replica;
  ReplicaAgreement whole(1);
  whole.on_start(0, 0, replica.view(), Digest128());
  ReplicaAgreement parts(3);
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<ConstShardPiece> pieces;
    for (int t = 0; t < static_cast<int>(replica.layout.tensors().size()); ++t) {
      const ParameterInfo& info = replica.layout.tensors()[static_cast<std::size_t>(t)];
      ConstShardPiece piece;
      piece.tensor = t;
      piece.offset = info.numel * rank / 3;
      piece.count = info.numel * (rank + 1) / 3 - piece.offset;
      piece.parameters = reinterpret_cast<const std::byte*>(replica.values.data() + info.offset + piece.offset);
      pieces.push_back(piece);
    }
    TensorsView view = replica.view();
    for (const std::byte*& tensor : view.tensors) tensor = nullptr;
    view.parts = pieces;
    parts.on_start(rank, 0, view, Digest128());
  }
  EXPECT_EQ(parts.after(0).digest, whole.after(0).digest);
  EXPECT_EQ(parts.after(0).norm, whole.after(0).norm);
  EXPECT_TRUE(parts.violations().empty());
}

// The whole batch's gradient itself differs by nothing; one wrong element is found.
TEST(AccumulationDifference, MeasuresTheWorstElement) {
  const Replica replica;
  const MiniGpt<float> model(tiny());
  const std::vector<std::int32_t> tokens = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};  // two sequences of five
  Activations<float> activations(tiny(), 2, nullptr);
  Replica gradients;
  std::fill(gradients.values.begin(), gradients.values.end(), 0.0F);
  const auto parameters = table_of_flat<const float>(replica.layout, replica.values.data());
  const auto table = table_of_flat(gradients.layout, gradients.values.data());
  for (int stage = 0; stage < model.stages(); ++stage) model.forward(stage, parameters, tokens, activations);
  for (int stage = model.stages() - 1; stage >= 0; --stage) {
    model.backward(stage, parameters, tokens, table, activations, 1.0);
  }
  AccumulationDifference<float> difference(tiny(), 2);
  difference.on_gradients(0, 1, tokens, replica.view(), gradients.view());
  EXPECT_EQ(difference.largest(), 0);
  gradients.values[5] += 0.25F;
  difference.on_gradients(0, 2, tokens, replica.view(), gradients.view());
  EXPECT_NEAR(difference.largest(), 0.25, 1e-6);
  gradients.values[5] = std::nanf("");
  difference.on_gradients(0, 3, tokens, replica.view(), gradients.view());
  EXPECT_TRUE(std::isnan(difference.largest()));
}

StepReport ledger_report(std::int64_t step, std::int64_t batch, std::int64_t applied, bool skipped = false) {
  StepReport report = report_of(step);
  report.batch_index = batch;
  report.applied_steps = applied;
  report.skipped = skipped;
  return report;
}

TEST(StepAgreement, HoldsWhereAllRanksSayTheSame) {
  StepAgreement agreement(2);
  for (int rank = 0; rank < 2; ++rank) agreement.on_step(rank, ledger_report(1, 0, 1), TensorsView(), {});
  // Another attempt, later, with other numbers.
  for (int rank = 0; rank < 2; ++rank) agreement.on_step(rank, ledger_report(1, 1, 1), TensorsView(), {});
  EXPECT_TRUE(agreement.violations().empty());
}

TEST(StepAgreement, BreaksForEveryNumberThatOneRankHasAlone) {
  const auto violations_of = [](void (*change)(StepReport&)) {
    StepAgreement agreement(2);
    StepReport report = ledger_report(1, 0, 1);
    agreement.on_step(0, report, TensorsView(), {});
    change(report);
    agreement.on_step(1, report, TensorsView(), {});
    return agreement.violations().size();
  };
  EXPECT_EQ(violations_of([](StepReport&) {}), 0u);
  EXPECT_EQ(violations_of([](StepReport& report) { report.skipped = true; }), 1u);
  EXPECT_EQ(violations_of([](StepReport& report) { ++report.batch_index; }), 1u);
  EXPECT_EQ(violations_of([](StepReport& report) { ++report.applied_steps; }), 1u);
  EXPECT_EQ(violations_of([](StepReport& report) { report.lr += 1; }), 1u);
  EXPECT_EQ(violations_of([](StepReport& report) { report.loss += 1; }), 1u);
  EXPECT_EQ(violations_of([](StepReport& report) { report.grad_norm += 1; }), 1u);
}

TEST(BatchLedger, HoldsWhereBatchesFollowAndAreLeftOutOnTheWayBack) {
  BatchLedger ledger;
  ledger.on_start(0, 0, TensorsView(), Digest128());
  ledger.on_step(0, ledger_report(1, 0, 1), TensorsView(), {});
  ledger.on_step(0, ledger_report(2, 1, 1, true), TensorsView(), {});
  ledger.on_step(0, ledger_report(3, 2, 2), TensorsView(), {});
  ledger.on_start(0, 1, TensorsView(), Digest128());
  ledger.on_step(0, ledger_report(2, 3, 2), TensorsView(), {});
  EXPECT_TRUE(ledger.violations().empty()) << ledger.violations().front();
}

TEST(BatchLedger, BreaksWhereABatchIsUsedTwiceOrLeftOutOrMiscounted) {
  const auto violations_of = [](const StepReport& second) {
    BatchLedger ledger;
    ledger.on_start(0, 0, TensorsView(), Digest128());
    ledger.on_step(0, ledger_report(1, 0, 1), TensorsView(), {});
    ledger.on_step(0, second, TensorsView(), {});
    return ledger.violations().size();
  };
  EXPECT_EQ(violations_of(ledger_report(2, 1, 2)), 0u);
  EXPECT_EQ(violations_of(ledger_report(2, 0, 2)), 1u);
  EXPECT_EQ(violations_of(ledger_report(2, 2, 2)), 1u);
  EXPECT_EQ(violations_of(ledger_report(2, 1, 1)), 1u);
  EXPECT_EQ(violations_of(ledger_report(2, 1, 2, true)), 1u);
  EXPECT_GE(violations_of(ledger_report(3, 1, 2)), 1u);
}

}  // namespace
}  // namespace rehearse
