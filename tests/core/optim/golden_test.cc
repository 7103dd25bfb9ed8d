#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/digest.h"
#include "core/model/layout.h"
#include "core/optim/adam.h"
#include "core/optim/clip.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/reduce.h"
#include "tests/reference/golden.h"
#include "tests/reference/trainer.h"

// core/optim's schedule, clipping and Adam, on one shard and on several, against PyTorch's float64 numbers.

namespace rehearse {
namespace {

using reference::Golden;
using reference::GoldenVariant;
using reference::Step;

constexpr const char* kData = REHEARSE_SOURCE_DIR "/tests/data/reference";

struct Optim {
  AdamConfig adam;
  ScheduleConfig schedule;
  std::optional<LrSpike> spike;
};

Optim optim_from(const reference::Options& o) {
  Optim optim;
  optim.adam = {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.decay_matrices_only ? Decay::kMatrices : Decay::kAll};
  optim.schedule = {o.warmup_steps, o.cosine, o.min_lr};
  if (o.spike_step > 0) optim.spike = LrSpike{o.spike_step, o.spike_factor};
  return optim;
}

// The ranges of shard [first, first + count) of the flat vector.
std::vector<DecayRange> decay_of_shard(const ParameterLayout& layout, Decay decay, std::int64_t first,
                                       std::int64_t count) {
  std::vector<DecayRange> ranges;
  for (const ParameterInfo& info : layout.tensors()) {
    const std::int64_t begin = std::max(info.offset, first);
    const std::int64_t end = std::min(info.offset + info.numel, first + count);
    if (begin < end) ranges.push_back({begin - first, end - begin, decay == Decay::kAll || info.is_matrix()});
  }
  return ranges;
}

// Data-parallel training with everything that is not the model from core/optim and core/tensor, the optimizer on
// `shards` equal cuts of the flat vector.
template <class T>
reference::Result<T> train(const Golden& golden, const reference::Options& o, std::int64_t shards) {
  const Optim optim = optim_from(o);
  const ParameterLayout layout(golden.config);
  const auto n = static_cast<std::size_t>(layout.total());
  std::vector<T> params(golden.init.begin(), golden.init.end());
  std::vector<T> m(n);
  std::vector<T> v(n);
  std::vector<T> rank_grads;
  reference::Result<T> result;
  const reference::Tokens& tokens = golden.tokens;
  const auto ids_per_rank = static_cast<std::size_t>(tokens.batch * (golden.config.context + 1));
  for (std::int64_t s = 0; s < tokens.steps; ++s) {
    Step step;
    std::vector<T> grads(n);
    for (std::int64_t rank = 0; rank < tokens.ranks; ++rank) {
      const auto ids =
          std::span(tokens.ids).subspan(static_cast<std::size_t>(s * tokens.ranks + rank) * ids_per_rank, ids_per_rank);
      step.rank_losses.push_back(
          reference::gradient<T>(golden.config, params, ids, tokens.batch, o.accumulate, rank_grads));
      step.loss += step.rank_losses.back() / static_cast<double>(tokens.ranks);
      add_in_place(layout.total(), grads.data(), static_cast<const T*>(rank_grads.data()));
    }
    divide_in_place(layout.total(), grads.data(), static_cast<T>(tokens.ranks));
    if (s == 0) result.first_gradient = grads;
    step.grad_norm = std::sqrt(sum_of_squares<T>(layout.total(), grads.data()));
    if (o.clip_norm > 0) {
      scale_in_place(layout.total(), grads.data(), static_cast<T>(clip_factor(step.grad_norm, o.clip_norm)));
    }
    step.lr = learning_rate(optim.adam.lr, optim.schedule, tokens.steps, optim.spike, s + 1);
    const std::int64_t chunk = (layout.total() + shards - 1) / shards;
    for (std::int64_t first = 0; first < layout.total(); first += chunk) {
      const std::int64_t count = std::min(chunk, layout.total() - first);
      const auto cut = [&](std::vector<T>& x) {
        return std::span<T>(x).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
      };
      adam_update<T>({optim.adam, step.lr, s + 1}, cut(params), cut(m), cut(v), cut(grads),
                     decay_of_shard(layout, optim.adam.decay, first, count));
    }
    step.param_norm = std::sqrt(sum_of_squares<T>(layout.total(), params.data()));
    if (s == 0) result.first_params = params;
    result.steps.push_back(step);
  }
  result.final_params = params;
  return result;
}

class OptimGoldenTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(OptimGoldenTest, FloatAndDoubleFollowPyTorch) {
  const Golden golden = reference::load_golden(kData, std::get<0>(GetParam()));
  const GoldenVariant variant = reference::load_variant(golden, std::get<1>(GetParam()));
  const auto floats = train<float>(golden, variant.options, 1);
  const auto doubles = train<double>(golden, variant.options, 1);
  const std::int64_t spike = variant.options.spike_step;
  const double param_tolerance = variant.options.weight_decay > 0 ? 1e-6 : 1e-7;
  for (std::size_t i = 0; i < variant.steps.size(); ++i) {
    SCOPED_TRACE(::testing::Message() << "step " << i + 1);
    const auto step = static_cast<std::int64_t>(i) + 1;
    const Step& expected = variant.steps[i];
    EXPECT_NEAR(doubles.steps[i].loss, expected.loss, 1e-9);
    EXPECT_NEAR(doubles.steps[i].grad_norm / expected.grad_norm, 1, 1e-9);
    EXPECT_NEAR(doubles.steps[i].param_norm / expected.param_norm, 1, 1e-9);
    EXPECT_NEAR(doubles.steps[i].lr, expected.lr, 1e-15);
    if (spike > 0 && step > spike) {
      EXPECT_NEAR(floats.steps[i].loss, expected.loss, 1e-2);
      continue;
    }
    EXPECT_NEAR(floats.steps[i].loss, expected.loss, step == 1 ? 1e-6 : 5e-6);
    EXPECT_NEAR(floats.steps[i].grad_norm / expected.grad_norm, 1, step == 1 ? 1e-6 : 2e-6);
    // The spiked update moves every weight by 1000 times as much, and so its rounding in the norm after it.
    EXPECT_NEAR(floats.steps[i].param_norm / expected.param_norm, 1, step == spike ? 1e-6 : param_tolerance);
  }
  if (std::string(std::get<1>(GetParam())).empty()) {
    EXPECT_LE(reference::relative_l2(floats.first_params, golden.first_params), 1e-6);
    EXPECT_LE(reference::relative_l2(floats.final_params, golden.final_params), 5e-6);
    EXPECT_LE(reference::largest_difference(floats.first_params, golden.first_params), 2e-4);
    EXPECT_LE(reference::largest_difference(floats.final_params, golden.final_params), 5e-4);
    EXPECT_LE(reference::largest_difference(doubles.first_params, golden.first_params), 1e-9);
    EXPECT_LE(reference::largest_difference(doubles.final_params, golden.final_params), 1e-9);
  }
  EXPECT_EQ(train<float>(golden, variant.options, 4).final_params, floats.final_params);
  EXPECT_EQ(train<float>(golden, variant.options, 7).final_params, floats.final_params);
}

INSTANTIATE_TEST_SUITE_P(All, OptimGoldenTest,
                         ::testing::Combine(::testing::ValuesIn(reference::kGoldenNames),
                                            ::testing::ValuesIn(reference::kGoldenVariants)),
                         [](const auto& info) {
                           const std::string variant = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param)) + "_" + (variant.empty() ? "plain" : variant);
                         });

// One number for the whole arithmetic, the same in every build: release, debug, sanitizers, gcc and clang.
TEST(GoldenBits, OfAWholeTrainingArePinned) {
  const Golden golden = reference::load_golden(kData, "golden_a");
  const auto options = reference::load_variant(golden, "all").options;
  const std::vector<float> floats = train<float>(golden, options, 1).final_params;
  const std::vector<double> doubles = train<double>(golden, options, 1).final_params;
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(floats))),
            "9366cf46f1e670be1c59fe6e5dd1e388e0497c7ad40497341d15547d895df456");
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(doubles))),
            "3fc1d466a731ebc7d48ce7fec9ccc28af8e4e641e09150dfd97773d6380a73ee");
}

}  // namespace
}  // namespace rehearse
