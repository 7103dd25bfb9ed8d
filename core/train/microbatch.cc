#include "core/train/microbatch.h"

#include <utility>

namespace rehearse {

template <class T>
Microbatch<T>::Microbatch(RankContext& context, const MiniGpt<T>& model, std::shared_ptr<const ModelWork> work,
                          bool recompute_blocks, DType dtype)
    : context_(context),
      model_(model),
      work_(std::move(work)),
      activations_(model.layout().config(), work_->batch(), &context.memory(), context.storing(), recompute_blocks,
                   dtype) {}

template <class T>
ComputeCost Microbatch<T>::cost(int stage, Direction direction) const {
  const StageCost& cost = work_->cost(stage, direction);
  return ComputeCost(cost.flops, cost.bytes, cost.kernels);
}

template <class T>
Task<double> Microbatch<T>::forward(const ParameterTable<const T>& parameters, std::span<const std::int32_t> tokens,
                                    StageHook* hook) {
  for (int stage = 0; stage < model_.stages(); ++stage) {
    auto work = [&] { model_.forward(stage, parameters, tokens, activations_); };
    const ComputeCost stage_cost = cost(stage, Direction::kForward);
    if (hook != nullptr) co_await hook->before(stage);
    co_await context_.device().run(stage_cost, work);
    if (hook != nullptr) co_await hook->after(stage);
  }
  co_return activations_.loss;
}

template <class T>
Task<> Microbatch<T>::backward(const ParameterTable<const T>& parameters, std::span<const std::int32_t> tokens,
                               const ParameterTable<T>& gradients, double loss_scale, StageHook* hook) {
  for (int stage = model_.stages() - 1; stage >= 0; --stage) {
    auto work = [&] { model_.backward(stage, parameters, tokens, gradients, activations_, loss_scale); };
    auto again = [&] { model_.recompute(stage, parameters, activations_); };
    const ComputeCost stage_cost = cost(stage, Direction::kBackward);
    const ComputeCost forward_cost = cost(stage, Direction::kForward);
    if (hook != nullptr) co_await hook->before(stage);
    if (model_.needs_recompute(stage, activations_.recomputes_blocks())) {
      co_await context_.device().run(forward_cost, again);
    }
    co_await context_.device().run(stage_cost, work);
    if (hook != nullptr) co_await hook->after(stage);
  }
}

template class Microbatch<float>;
template class Microbatch<double>;

}  // namespace rehearse
