#include "core/train/saver.h"

#include <utility>

namespace rehearse {

template <class T>
Saver<T>::Saver(RankContext& context, const TrainJob& job, DataParallel<T>& parallel, RecoveryPoints& points)
    : context_(context), job_(job), config_(job.config.checkpoint), parallel_(parallel), points_(points) {
  if (config_.asynchronous) background_.emplace(context, job.collective_timeout);
}

template <class T>
Task<bool> Saver<T>::is_due(std::int64_t step) {
  const bool due = config_.every_steps > 0 && step % config_.every_steps == 0;
  // The last step's state is the job's result.
  if (config_.every_time == Duration() || step == job_.config.steps) co_return due;
  const bool late = context_.clock().now() - last_save_ >= config_.every_time;
  const StepSums own(late ? 1 : 0, 0, 0, 0);
  const std::vector<StepSums> said = co_await parallel_.exchange_sums(own);
  co_return due || said.front().loss != 0;
}

template <class T>
Task<> Saver<T>::save(const TrainCounters& counters, Digest128 state) {
  co_await settle();
  step_ = counters.step;
  state_ = state;
  std::vector<std::int64_t> keep_also = points_.must_keep(counters.step);
  SaveRequest request =
      co_await snapshot_training_state(context_, parallel_, job_.checkpoints, counters, std::move(keep_also));
  if (background_.has_value()) {
    background_->start(std::move(request));
  } else {
    const SaveResult result = co_await publish_training_state(parallel_.group(), std::move(request));
    note(result);
  }
  last_save_ = context_.clock().now();
}

template <class T>
Task<> Saver<T>::look() {
  if (background_.has_value() && background_->is_done()) co_await settle();
}

template <class T>
Task<> Saver<T>::settle() {
  if (!background_.has_value() || !background_->is_open()) co_return;
  const SaveResult result = co_await background_->finish();
  note(result);
}

template <class T>
void Saver<T>::note(const SaveResult& result) {
  if (result.saved()) points_.saved(step_, result.deleted);
  CheckpointReport report;
  report.step = step_;
  report.problem = result.problem;
  report.rotation_problem = result.rotation_problem;
  job_.observer->on_checkpoint(context_.rank(), report, state_);
}

template class Saver<float>;
template class Saver<double>;

}  // namespace rehearse
