#pragma once

#include <optional>

#include "core/base/digest.h"
#include "core/parallel/background_save.h"
#include "core/parallel/checkpoint_io.h"
#include "core/train/rank_main.h"
#include "core/train/recovery_points.h"

namespace rehearse {

// When a rank saves, how, and who hears of it. Every rank makes the same calls. With two tiers a save goes to the local
// disks; what is to be uploaded goes on to the shared storage from the same snapshot, beside the training. A save that
// the local disks refuse is uploaded in any case.
template <class T>
class Saver {
 public:
  // All outlive this.
  Saver(RankContext& context, const TrainJob& job, DataParallel<T>& parallel, RecoveryPoints& points);

  // Training begins, at the start or after the job went back: the time to the next save runs from now, and it is
  // uploaded.
  void begin();
  // Whether the configuration wants a save after this step. Clocks differ from rank to rank: rank 0's decides for all.
  Task<bool> is_due(std::int64_t step);
  // Saves the state after `counters.step`, of which `state` is the digest of the rank's own chunks. One at a time, and
  // one upload: where a disk is slower than the cadence, training waits for it.
  Task<> save(const TrainCounters& counters, Digest128 state);
  // After a step: takes the end of a save or an upload that has ended meanwhile.
  Task<> look();
  // Waits for what is under way.
  Task<> settle();

 private:
  // What is told of a save when it has ended.
  struct Open {
    std::int64_t step = 0;
    Digest128 state;
    // With tiers: what to upload then.
    std::optional<SaveRequest> next;
    bool is_upload_due = false;
  };

  bool is_upload_due(std::int64_t step);
  Task<> settle_save();
  Task<> settle_upload();
  Task<> note(SaveResult result);
  Task<> upload(bool saved);
  void tell(const Open& open, const SaveResult& result, Tier tier, bool uploaded) const;

  RankContext& context_;
  const TrainJob& job_;
  const CheckpointConfig& config_;
  DataParallel<T>& parallel_;
  RecoveryPoints& points_;
  std::optional<BackgroundSave> background_;
  std::optional<BackgroundSave> uploads_;  // with tiers
  Open open_;                              // the save that was begun last
  Open uploading_;                         // and the upload
  bool is_uploaded_only_ = false;          // the local disks refused what is being uploaded
  std::int64_t saves_ = 0;                 // since training began
  TimePoint last_save_;                    // its end, or that of its snapshot; or when training began, if that is later
};

}  // namespace rehearse
