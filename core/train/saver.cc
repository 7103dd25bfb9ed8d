#include "core/train/saver.h"

#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

// Groups beside the world's.
constexpr std::uint32_t kSaveGroup = 1;
constexpr std::uint32_t kUploadGroup = 2;

}  // namespace

template <class T>
Saver<T>::Saver(RankContext& context, const TrainJob& job, DataParallel<T>& parallel, RecoveryPoints& points)
    : context_(context), job_(job), config_(job.config.checkpoint), parallel_(parallel), points_(points) {
  if (config_.asynchronous) background_.emplace(context, job.collective_timeout, kSaveGroup);
  if (config_.tiers.has_value()) uploads_.emplace(context, job.collective_timeout, kUploadGroup);
}

template <class T>
void Saver<T>::begin() {
  last_save_ = context_.clock().now();
  saves_ = 0;
}

template <class T>
Task<bool> Saver<T>::is_due(std::int64_t step) {
  const bool due = config_.every_steps > 0 && step % config_.every_steps == 0;
  // The last step's state is the job's result.
  if (config_.every_time == Duration() || step == job_.config.steps) co_return due;
  const bool late = context_.clock().now() - last_save_ >= config_.every_time;
  const StepSums own(late ? 1 : 0, 0, 0, 0);
  const std::vector<StepSums> said = co_await parallel_.exchange_sums(own, true);
  co_return due || said.front().loss != 0;
}

template <class T>
bool Saver<T>::is_upload_due(std::int64_t step) {
  const bool due = saves_ % config_.tiers->upload_every == 0;
  ++saves_;
  return due || step == job_.config.steps;
}

template <class T>
Task<> Saver<T>::save(const TrainCounters& counters, Digest128 state) {
  co_await settle_save();
  open_ = Open();
  open_.step = counters.step;
  open_.state = state;
  const Tier tier = uploads_.has_value() ? Tier::kLocal : Tier::kRemote;
  std::vector<std::int64_t> keep_also = points_.must_keep(counters.step, tier);
  SaveRequest request =
      co_await snapshot_training_state(context_, parallel_, job_.checkpoints, counters, std::move(keep_also));
  if (tier == Tier::kLocal) {
    open_.next = request;
    open_.is_upload_due = is_upload_due(counters.step);
    request.local = job_.checkpoints.local;
  }
  if (background_.has_value()) {
    background_->start(std::move(request));
  } else {
    SaveResult result = co_await publish_training_state(parallel_.group(), std::move(request));
    co_await note(std::move(result));
  }
  last_save_ = context_.clock().now();
}

template <class T>
Task<> Saver<T>::look() {
  if (background_.has_value() && background_->is_done()) co_await settle_save();
  if (uploads_.has_value() && uploads_->is_done()) co_await settle_upload();
}

template <class T>
Task<> Saver<T>::settle() {
  co_await settle_save();
  co_await settle_upload();
}

template <class T>
Task<> Saver<T>::settle_save() {
  if (!background_.has_value() || !background_->is_open()) co_return;
  SaveResult result = co_await background_->finish();
  co_await note(std::move(result));
}

template <class T>
Task<> Saver<T>::settle_upload() {
  if (!uploads_.has_value() || !uploads_->is_open()) co_return;
  const SaveResult result = co_await uploads_->finish();
  tell(uploading_, result, Tier::kRemote, true);
  if (!result.saved()) {
    saves_ = 0;  // the next one is uploaded in its stead
  } else if (is_uploaded_only_) {
    points_.saved(uploading_.step, result.deleted, Tier::kRemote);
  } else {
    const std::string problem = co_await points_.uploaded(uploading_.step, result.deleted);
    if (!problem.empty()) job_.observer->on_checkpoint_problem(context_.rank(), uploading_.step, problem);
  }
}

// The save that was begun last has ended.
template <class T>
Task<> Saver<T>::note(SaveResult result) {
  const Tier tier = uploads_.has_value() ? Tier::kLocal : Tier::kRemote;
  if (result.saved()) points_.saved(open_.step, result.deleted, tier);
  tell(open_, result, tier, false);
  if (tier == Tier::kLocal) co_await upload(result.saved());
}

template <class T>
Task<> Saver<T>::upload(bool saved) {
  CHECK(open_.next.has_value());
  SaveRequest request = std::move(*open_.next);
  open_.next.reset();
  if (saved && !open_.is_upload_due) co_return;
  co_await settle_upload();
  uploading_.step = open_.step;
  uploading_.state = open_.state;
  is_uploaded_only_ = !saved;
  // What the upload before has left is known only now.
  request.keep_also = points_.must_keep(open_.step, Tier::kRemote);
  uploads_->start(std::move(request));
}

template <class T>
void Saver<T>::tell(const Open& open, const SaveResult& result, Tier tier, bool uploaded) const {
  CheckpointReport report;
  report.step = open.step;
  report.tier = tier;
  report.uploaded = uploaded;
  report.problem = result.problem;
  report.rotation_problem = result.rotation_problem;
  job_.observer->on_checkpoint(context_.rank(), report, open.state);
  // Of its own disk each rank alone knows.
  if (tier == Tier::kLocal && context_.rank() != 0 && !result.rotation_problem.empty()) {
    job_.observer->on_checkpoint_problem(context_.rank(), open.step,
                                         "on the local disks: saved, but " + result.rotation_problem);
  }
}

template class Saver<float>;
template class Saver<double>;

}  // namespace rehearse
