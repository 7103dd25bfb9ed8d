#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/model/cost.h"
#include "core/model/mini_gpt.h"
#include "core/parallel/stage_hook.h"
#include "core/runtime/rank_context.h"

namespace rehearse {

// Runs a model's stages on a rank's device, each its own device.run, on one set of activations.
template <class T>
class Microbatch {
 public:
  // `work`: of a microbatch. `recompute_blocks`: activations of blocks are computed again for backward, which then
  // takes the device their forward's time more. `dtype`: of activations, another one than T's in cost-only mode alone.
  // The model outlives this.
  Microbatch(RankContext& context, const MiniGpt<T>& model, std::shared_ptr<const ModelWork> work,
             bool recompute_blocks = false, DType dtype = dtype_of<T>);

  // The mean loss of `tokens` (sequences, context + 1), already checked; 0 in cost-only mode. `hook`, if there is one,
  // is awaited at each stage, and may change where the tables point to.
  Task<double> forward(const ParameterTable<const T>& parameters, std::span<const std::int32_t> tokens,
                       StageHook* hook = nullptr);
  // After forward with the same arguments: ADDS the gradient of loss_scale * loss to `gradients`.
  Task<> backward(const ParameterTable<const T>& parameters, std::span<const std::int32_t> tokens,
                  const ParameterTable<T>& gradients, double loss_scale, StageHook* hook = nullptr);
  const Activations<T>& activations() const { return activations_; }

 private:
  ComputeCost cost(int stage, Direction direction) const;

  RankContext& context_;
  const MiniGpt<T>& model_;
  std::shared_ptr<const ModelWork> work_;
  Activations<T> activations_;
};

}  // namespace rehearse
