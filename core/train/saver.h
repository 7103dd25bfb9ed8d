#pragma once

#include <optional>

#include "core/base/digest.h"
#include "core/parallel/background_save.h"
#include "core/parallel/checkpoint_io.h"
#include "core/train/rank_main.h"
#include "core/train/recovery_points.h"

namespace rehearse {

// When a rank saves, how, and who hears of it. Every rank makes the same calls.
template <class T>
class Saver {
 public:
  // All outlive this.
  Saver(RankContext& context, const TrainJob& job, DataParallel<T>& parallel, RecoveryPoints& points);

  // Training begins, at the start or after the job went back: the time to the next save runs from now.
  void begin() { last_save_ = context_.clock().now(); }
  // Whether the configuration wants a save after this step. Clocks differ from rank to rank: rank 0's decides for all.
  Task<bool> is_due(std::int64_t step);
  // Saves the state after `counters.step`, of which `state` is the digest of the rank's own chunks. One at a time:
  // where the disk is slower than the cadence, training waits for it.
  Task<> save(const TrainCounters& counters, Digest128 state);
  // After a step: takes the end of a save that has ended meanwhile.
  Task<> look();
  // Waits for the save that is under way, if one is.
  Task<> settle();

 private:
  void note(const SaveResult& result);

  RankContext& context_;
  const TrainJob& job_;
  const CheckpointConfig& config_;
  DataParallel<T>& parallel_;
  RecoveryPoints& points_;
  std::optional<BackgroundSave> background_;
  std::int64_t step_ = 0;  // of the save that was begun last
  Digest128 state_;
  TimePoint last_save_;  // its end, or that of its snapshot; or when training began, if that is later
};

}  // namespace rehearse
