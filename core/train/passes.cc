#include "core/train/passes.h"

#include <utility>

namespace rehearse {

template <class T>
Passes<T>::Passes(RankContext& context, const MiniGpt<T>& model, DataParallel<T>& parallel, const BatchShare& share,
                  std::shared_ptr<const ModelWork> work, const TrainConfig& config)
    : parallel_(parallel),
      share_(share),
      microbatch_(context, model, std::move(work), config.recompute_blocks, config.dtype),
      flow_(context, parallel, config.overlap) {}

template <class T>
Task<double> Passes<T>::train(std::span<const std::int32_t> tokens, bool keep_whole, const Enter& enter) {
  const ParameterTable<const T>& parameters = parallel_.const_parameters();
  const double scale = share_.loss_scale();
  double loss = 0;
  flow_.begin_step(keep_whole);
  for (std::int64_t i = 0; i < share_.microbatches; ++i) {
    const std::span<const std::int32_t> part = microbatch_of(share_, tokens, i);
    const bool last = i + 1 == share_.microbatches;
    // What strikes a phase strikes the first microbatch of it.
    enter(Phase::kForward, i == 0);
    flow_.begin_pass(PassKind::kForward, parallel_.stage_units().stages() - 1);
    const double one = co_await microbatch_.forward(parameters, part, hook());
    loss += one;
    enter(Phase::kBackward, i == 0);
    flow_.begin_pass(PassKind::kBackward, last ? -1 : 0, last);
    co_await microbatch_.backward(parameters, part, parallel_.gradients(), scale, hook());
  }
  co_return loss* scale;
}

template <class T>
Task<double> Passes<T>::measure(std::span<const std::int32_t> tokens) {
  double loss = 0;
  for (std::int64_t i = 0; i < share_.microbatches; ++i) {
    const std::span<const std::int32_t> part = microbatch_of(share_, tokens, i);
    // The last stage's units and the first one's are never whole at once in training; nor are they here.
    flow_.begin_pass(PassKind::kForward, -1);
    const double one = co_await microbatch_.forward(parallel_.const_parameters(), part, hook());
    loss += one;
  }
  co_return loss / static_cast<double>(share_.microbatches);
}

template class Passes<float>;
template class Passes<double>;

}  // namespace rehearse
