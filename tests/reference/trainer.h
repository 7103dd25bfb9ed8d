#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/config.h"

namespace rehearse::reference {

// Everything that decides the numbers besides model, weights and tokens.
struct Options {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decay_matrices_only = false;
  double clip_norm = 0;         // 0: no clipping
  std::int64_t accumulate = 1;  // microbatches, dividing the batch
  std::int64_t warmup_steps = 0;
  bool cosine = false;
  double min_lr = 0;
  std::int64_t spike_step = 0;  // from 1; 0: none
  double spike_factor = 1;
};

// int32 [steps, ranks, batch, context + 1], row-major.
struct Tokens {
  std::int64_t steps = 0;
  std::int64_t ranks = 0;
  std::int64_t batch = 0;
  std::vector<std::int32_t> ids;
};

struct Step {
  double loss = 0;  // mean over ranks, before the update
  std::vector<double> rank_losses;
  double grad_norm = 0;  // of the averaged gradient, before clipping
  double lr = 0;
  double param_norm = 0;  // after the update
};

// Flat vectors in layout order.
template <class T>
struct Result {
  std::vector<Step> steps;
  std::vector<T> first_gradient;  // averaged, of step 1, before clipping
  std::vector<T> first_params;    // after step 1
  std::vector<T> final_params;
};

// Gradients of one sequence set [batch, context + 1], the mean of `accumulate` consecutive microbatches; returns the
// loss.
template <class T>
double gradient(const ModelConfig& config, std::span<const T> params, std::span<const std::int32_t> tokens,
                std::int64_t batch, std::int64_t accumulate, std::vector<T>& grads);

// Trains all ranks' data in one process, step by step.
template <class T>
Result<T> train(const ModelConfig& config, std::vector<T> params, const Tokens& tokens, const Options& options);

}  // namespace rehearse::reference
