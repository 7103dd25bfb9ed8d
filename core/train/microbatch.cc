#include "core/train/microbatch.h"

#include "core/model/cost.h"

namespace rehearse {

template <class T>
Microbatch<T>::Microbatch(RankContext& context, const MiniGpt<T>& model, std::int64_t sequences)
    : context_(context),
      model_(model),
      sequences_(sequences),
      activations_(model.layout().config(), sequences, &context.memory(), context.storing()) {}

template <class T>
ComputeCost Microbatch<T>::cost(int stage, bool backward) const {
  const StageCost cost = stage_cost(model_.layout().config(), sequences_, stage,
                                    backward ? Direction::kBackward : Direction::kForward, dtype_of<T>);
  return ComputeCost(cost.flops, cost.bytes);
}

template <class T>
Task<double> Microbatch<T>::forward(const ParameterTable<const T>& parameters, std::span<const std::int32_t> tokens) {
  for (int stage = 0; stage < model_.stages(); ++stage) {
    auto work = [&] { model_.forward(stage, parameters, tokens, activations_); };
    const ComputeCost stage_cost = cost(stage, false);
    co_await context_.device().run(stage_cost, work);
  }
  co_return activations_.loss;
}

template <class T>
Task<> Microbatch<T>::backward(const ParameterTable<const T>& parameters, std::span<const std::int32_t> tokens,
                               const ParameterTable<T>& gradients, double loss_scale) {
  for (int stage = model_.stages() - 1; stage >= 0; --stage) {
    auto work = [&] { model_.backward(stage, parameters, tokens, gradients, activations_, loss_scale); };
    const ComputeCost stage_cost = cost(stage, true);
    co_await context_.device().run(stage_cost, work);
  }
}

template class Microbatch<float>;
template class Microbatch<double>;

}  // namespace rehearse
