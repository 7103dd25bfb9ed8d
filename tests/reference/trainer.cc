#include "tests/reference/trainer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/check.h"
#include "core/model/mini_gpt.h"

namespace rehearse::reference {
namespace {

template <class T>
double norm(const std::vector<T>& x) {
  double sum = 0;
  for (const T value : x) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

// Steps from 0, as the golden data's README writes the schedule.
double rate(const Options& o, std::int64_t s, std::int64_t steps) {
  double lr = o.lr;
  if (s < o.warmup_steps) {
    lr = o.lr * static_cast<double>(s + 1) / static_cast<double>(o.warmup_steps);
  } else if (o.cosine) {
    const auto past = static_cast<double>(s - o.warmup_steps);
    const auto span = static_cast<double>(std::max<std::int64_t>(1, steps - o.warmup_steps));
    lr = o.min_lr + (o.lr - o.min_lr) / 2 * (1 + std::cos(std::numbers::pi * past / span));
  }
  return s + 1 == o.spike_step ? lr * o.spike_factor : lr;
}

}  // namespace

template <class T>
double gradient(const ModelConfig& config, std::span<const T> params, std::span<const std::int32_t> tokens,
                std::int64_t batch, std::int64_t accumulate, std::vector<T>& grads) {
  CHECK_EQ(batch % accumulate, 0);
  const MiniGpt<T> model(config);
  const std::int64_t micro = batch / accumulate;
  const auto micro_ids = static_cast<std::size_t>(micro * (config.context + 1));
  Activations<T> activations(config, micro, nullptr);
  grads.assign(params.size(), T{0});
  const auto param_table = table_of_flat<const T>(model.layout(), params.data());
  const auto grad_table = table_of_flat<T>(model.layout(), grads.data());
  double loss = 0;
  for (std::int64_t i = 0; i < accumulate; ++i) {
    const auto ids = tokens.subspan(static_cast<std::size_t>(i) * micro_ids, micro_ids);
    for (int stage = 0; stage < model.stages(); ++stage) model.forward(stage, param_table, ids, activations);
    for (int stage = model.stages() - 1; stage >= 0; --stage) {
      model.backward(stage, param_table, ids, grad_table, activations, 1.0 / static_cast<double>(accumulate));
    }
    loss += activations.loss / static_cast<double>(accumulate);
  }
  return loss;
}

template <class T>
Result<T> train(const ModelConfig& config, std::vector<T> params, const Tokens& tokens, const Options& o) {
  const ParameterLayout layout(config);
  const std::size_t n = params.size();
  CHECK_EQ(static_cast<std::int64_t>(n), layout.total());
  std::vector<bool> decays(n, true);
  if (o.decay_matrices_only) {
    for (const ParameterInfo& info : layout.tensors()) {
      for (std::int64_t i = 0; i < info.numel; ++i)
        decays[static_cast<std::size_t>(info.offset + i)] = info.is_matrix();
    }
  }
  std::vector<T> m(n);
  std::vector<T> v(n);
  std::vector<T> rank_grads;
  std::vector<double> sum(n);
  std::vector<T> grads(n);
  double beta1_power = 1;
  double beta2_power = 1;
  Result<T> result;
  const auto ids_per_rank = static_cast<std::size_t>(tokens.batch * (config.context + 1));
  for (std::int64_t s = 0; s < tokens.steps; ++s) {
    Step step;
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::int64_t rank = 0; rank < tokens.ranks; ++rank) {
      const auto ids =
          std::span(tokens.ids).subspan(static_cast<std::size_t>(s * tokens.ranks + rank) * ids_per_rank, ids_per_rank);
      step.rank_losses.push_back(gradient<T>(config, params, ids, tokens.batch, o.accumulate, rank_grads));
      step.loss += step.rank_losses.back() / static_cast<double>(tokens.ranks);
      for (std::size_t i = 0; i < n; ++i) sum[i] += static_cast<double>(rank_grads[i]);
    }
    for (std::size_t i = 0; i < n; ++i) grads[i] = static_cast<T>(sum[i] / static_cast<double>(tokens.ranks));
    if (s == 0) result.first_gradient = grads;
    step.grad_norm = norm(grads);
    if (o.clip_norm > 0 && o.clip_norm / (step.grad_norm + 1e-6) < 1) {
      for (T& g : grads) g *= static_cast<T>(o.clip_norm / (step.grad_norm + 1e-6));
    }
    step.lr = rate(o, s, tokens.steps);
    beta1_power *= o.beta1;
    beta2_power *= o.beta2;
    const T step_size = static_cast<T>(step.lr / (1 - beta1_power));
    const T root2 = static_cast<T>(std::sqrt(1 - beta2_power));
    for (std::size_t i = 0; i < n; ++i) {
      if (decays[i]) params[i] *= static_cast<T>(1 - step.lr * o.weight_decay);
      m[i] = static_cast<T>(o.beta1) * m[i] + static_cast<T>(1 - o.beta1) * grads[i];
      v[i] = static_cast<T>(o.beta2) * v[i] + static_cast<T>(1 - o.beta2) * grads[i] * grads[i];
      params[i] -= step_size * (m[i] / (std::sqrt(v[i]) / root2 + static_cast<T>(o.eps)));
    }
    step.param_norm = norm(params);
    if (s == 0) result.first_params = params;
    result.steps.push_back(step);
  }
  result.final_params = params;
  return result;
}

#define REHEARSE_INSTANTIATE(T)                                                                                 \
  template double gradient(const ModelConfig&, std::span<const T>, std::span<const std::int32_t>, std::int64_t, \
                           std::int64_t, std::vector<T>&);                                                      \
  template Result<T> train(const ModelConfig&, std::vector<T>, const Tokens&, const Options&);
REHEARSE_INSTANTIATE(float)
REHEARSE_INSTANTIATE(double)
#undef REHEARSE_INSTANTIATE

}  // namespace rehearse::reference
