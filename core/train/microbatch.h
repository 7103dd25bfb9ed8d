#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/mini_gpt.h"
#include "core/runtime/rank_context.h"

namespace rehearse {

// Runs a model's stages on a rank's device, each its own device.run, on one set of activations.
template <class T>
class Microbatch {
 public:
  // `sequences` of one microbatch. The model outlives this.
  Microbatch(RankContext& context, const MiniGpt<T>& model, std::int64_t sequences);

  // The mean loss of `tokens` (sequences, context + 1), already checked; 0 in cost-only mode.
  Task<double> forward(const ParameterTable<const T>& parameters, std::span<const std::int32_t> tokens);
  // After forward with the same arguments: ADDS the gradient of loss_scale * loss to `gradients`.
  Task<> backward(const ParameterTable<const T>& parameters, std::span<const std::int32_t> tokens,
                  const ParameterTable<T>& gradients, double loss_scale);
  const Activations<T>& activations() const { return activations_; }

 private:
  ComputeCost cost(int stage, bool backward) const;

  RankContext& context_;
  const MiniGpt<T>& model_;
  std::int64_t sequences_;
  Activations<T> activations_;
};

}  // namespace rehearse
