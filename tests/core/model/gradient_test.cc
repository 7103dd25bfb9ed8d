#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/model/init.h"
#include "core/model/mini_gpt.h"
#include "tests/reference/trainer.h"

// Gradients of the whole model against finite differences in double, tensor by tensor, at sizes that no vector length
// divides; kernels have their own in tests/core/tensor.

namespace rehearse {
namespace {

constexpr ModelConfig kConfig{2, 15, 3, 11, 7};
constexpr std::int64_t kBatch = 2;

std::vector<std::int32_t> some_tokens() {
  RandomStream stream(5);
  std::vector<std::int32_t> tokens(kBatch * (kConfig.context + 1));
  for (auto& token : tokens) token = static_cast<std::int32_t>(stream.below(kConfig.vocab));
  return tokens;
}

std::vector<double> some_parameters(const ParameterLayout& layout) {
  std::vector<double> params(static_cast<std::size_t>(layout.total()));
  initialise(layout, RandomStream(7), table_of_flat(layout, params.data()));
  RandomStream stream(8);  // LayerNorms away from 1 and 0, where mistakes hide
  for (double& p : params) p += 0.1 * (stream.uniform() - 0.5);
  return params;
}

TEST(Gradient, OfEveryTensorMatchesFiniteDifferences) {
  const ParameterLayout layout(kConfig);
  const auto tokens = some_tokens();
  auto params = some_parameters(layout);
  std::vector<double> grads;
  std::vector<double> unused;
  reference::gradient<double>(kConfig, params, tokens, kBatch, 1, grads);
  constexpr double kStep = 1e-5;
  RandomStream stream(9);
  for (const ParameterInfo& info : layout.tensors()) {
    // Along a random direction within the tensor: (f(p + h d) - f(p - h d)) / 2h against d . gradient.
    std::vector<double> direction(static_cast<std::size_t>(info.numel));
    double expected = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      direction[i] = stream.uniform() - 0.5;
      expected += direction[i] * grads[static_cast<std::size_t>(info.offset) + i];
    }
    const auto loss_at = [&](double h) {
      auto moved = params;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        moved[static_cast<std::size_t>(info.offset) + i] += h * direction[i];
      }
      return reference::gradient<double>(kConfig, moved, tokens, kBatch, 1, unused);
    };
    const double found = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    EXPECT_NEAR(found, expected, 1e-9) << info.name;
    EXPECT_GT(std::abs(expected), 1e-6) << info.name << ": the check would see nothing";
  }
}

TEST(Gradient, OfAccumulatedMicrobatchesIsTheFullBatchs) {
  const ParameterLayout layout(kConfig);
  const auto tokens = some_tokens();
  const auto params = some_parameters(layout);
  std::vector<double> whole;
  std::vector<double> parts;
  const double loss = reference::gradient<double>(kConfig, params, tokens, kBatch, 1, whole);
  EXPECT_NEAR(reference::gradient<double>(kConfig, params, tokens, kBatch, 2, parts), loss, 1e-14);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], parts[i], 1e-15);
}

TEST(MiniGpt, BackwardAddsAndGradientsAreFinalAfterTheirStage) {
  const MiniGpt<float> model(kConfig);
  const auto tokens = some_tokens();
  const auto exact = some_parameters(model.layout());
  const std::vector<float> params(exact.begin(), exact.end());
  const auto param_table = table_of_flat<const float>(model.layout(), params.data());
  std::vector<float> grads(params.size(), 0.5F);
  const auto grad_table = table_of_flat<float>(model.layout(), grads.data());
  Activations<float> activations(kConfig, kBatch, nullptr);
  for (int stage = 0; stage < model.stages(); ++stage) model.forward(stage, param_table, tokens, activations);
  std::vector<bool> final_tensors(model.layout().tensors().size());
  std::vector<float> seen(params.size());
  for (int stage = model.stages() - 1; stage >= 0; --stage) {
    const auto before = grads;
    model.backward(stage, param_table, tokens, grad_table, activations, 1.0);
    const auto ready = gradients_final_after(model.layout(), stage);
    for (const int tensor : ready) final_tensors[static_cast<std::size_t>(tensor)] = true;
    for (std::size_t t = 0; t < final_tensors.size(); ++t) {
      const ParameterInfo& info = model.layout().tensors()[t];
      const bool now = model.layout().stage_of(static_cast<int>(t)) == stage;
      EXPECT_EQ(now, std::find(ready.begin(), ready.end(), static_cast<int>(t)) != ready.end());
      const auto first = static_cast<std::ptrdiff_t>(info.offset);
      const auto last = first + static_cast<std::ptrdiff_t>(info.numel);
      const bool same = std::equal(grads.begin() + first, grads.begin() + last, before.begin() + first);
      EXPECT_EQ(same, !now) << info.name << " after stage " << stage;
    }
  }
  EXPECT_EQ(std::count(final_tensors.begin(), final_tensors.end(), true),
            static_cast<std::ptrdiff_t>(final_tensors.size()));
}

TEST(MiniGpt, SeveralMicrobatchesInFlightDoNotMix) {
  const MiniGpt<float> model(kConfig);
  const auto exact = some_parameters(model.layout());
  const std::vector<float> params(exact.begin(), exact.end());
  const auto table = table_of_flat<const float>(model.layout(), params.data());
  const auto tokens = some_tokens();
  const std::vector<std::int32_t> others(tokens.rbegin(), tokens.rend());
  const auto gradient_of = [&](bool interleaved) {
    std::vector<float> grads(params.size());
    std::vector<float> other_grads(params.size());
    Activations<float> a(kConfig, kBatch, nullptr);
    Activations<float> b(kConfig, kBatch, nullptr);
    for (int stage = 0; stage < model.stages(); ++stage) {
      model.forward(stage, table, tokens, a);
      if (interleaved) model.forward(stage, table, others, b);
    }
    for (int stage = model.stages() - 1; stage >= 0; --stage) {
      if (interleaved) model.backward(stage, table, others, table_of_flat(model.layout(), other_grads.data()), b, 1);
      model.backward(stage, table, tokens, table_of_flat(model.layout(), grads.data()), a, 1);
    }
    return grads;
  };
  EXPECT_EQ(gradient_of(false), gradient_of(true));
}

TEST(MiniGpt, NonFiniteWeightsGiveANonFiniteLossNotACrash) {
  const MiniGpt<float> model(kConfig);
  const auto tokens = some_tokens();
  for (const float poison : {std::nanf(""), INFINITY, 3e38F}) {
    const auto exact = some_parameters(model.layout());
    std::vector<float> params(exact.begin(), exact.end());
    for (float& p : params) p *= poison;
    const auto table = table_of_flat<const float>(model.layout(), params.data());
    std::vector<float> grads(params.size());
    Activations<float> a(kConfig, kBatch, nullptr);
    for (int stage = 0; stage < model.stages(); ++stage) model.forward(stage, table, tokens, a);
    EXPECT_FALSE(std::isfinite(a.loss)) << poison;
    for (int stage = model.stages() - 1; stage >= 0; --stage) {
      model.backward(stage, table, tokens, table_of_flat(model.layout(), grads.data()), a, 1);
    }
  }
}

}  // namespace
}  // namespace rehearse
