// Each invariant is shown to hold where it holds and to break where somebody breaks it.

#include <gtest/gtest.h>

#include <cmath>

#include "core/model/init.h"
#include "sim/check/accumulation_difference.h"
#include "sim/check/optimizer_memory.h"
#include "sim/check/replica_agreement.h"

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

}  // namespace
}  // namespace rehearse
