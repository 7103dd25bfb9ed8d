#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/trust.h"
#include "core/runtime/rank_context.h"
#include "core/train/recovery_policy.h"

namespace rehearse {

// One rank's knowledge of the checkpoints that its job may go back to. Ranks agree on what all of them do; rank 0 alone
// looks at the storage and writes there. Functions that write return what went wrong, in words; training may go on.
class RecoveryPoints {
 public:
  // `keep`: the newest checkpoints that rotation leaves, 0 for all; `avoided`: what a launcher told the job to leave
  // alone. All references outlive this.
  RecoveryPoints(RankContext& context, const RecoveryPolicy& policy, const StoragePath& parent, std::int64_t keep,
                 const std::vector<std::int64_t>& avoided)
      : context_(context), policy_(policy), parent_(parent), keep_(keep), told_to_avoid_(avoided) {}

  // The policy's choice among what is there.
  CheckpointChoice choice();
  // The job has gone back to this step, 0 for the start. What is newer is of a past that did not happen, and loses its
  // trust; it stays until the job comes to its step again. What a rotation that a crash cut short has left goes.
  Task<std::string> gone_back(std::int64_t step);
  // Whoever resumes from a checkpoint by name trusts it.
  Task<std::string> resumed(std::int64_t step);
  // The same failure came after the same checkpoint twice.
  void note_failure(std::int64_t resumed_step, std::int64_t failed_step);

  // Checkpoints that rotation must leave when this step's is committed.
  std::vector<std::int64_t> must_keep(std::int64_t step) const;
  // A checkpoint is committed, and rotation took others away.
  void saved(std::int64_t step, const std::vector<std::int64_t>& deleted);
  // A step after the latest checkpoint was judged well, so that it may be gone back to: if it is not newer than
  // `checked_step`, the last step whose gradients are known to be right. A machine that computes wrong may have done so
  // since then.
  Task<std::string> judged_well(std::int64_t checked_step);

 private:
  std::vector<std::int64_t> order(const std::vector<StoredCheckpoint>& stored);
  RecoveryPoint point(std::int64_t step, bool trusted) const;
  Task<std::string> store_trust();

  RankContext& context_;
  const RecoveryPolicy& policy_;
  const StoragePath& parent_;
  std::int64_t keep_;
  std::vector<std::int64_t> told_to_avoid_;
  std::vector<std::int64_t> avoided_;                      // that led to the same failure twice
  std::pair<std::int64_t, std::int64_t> failure_{-1, -1};  // the latest: resumed and failed step
  std::vector<std::int64_t> wait_for_trust_;               // checkpoints that a good step makes trusted, ascending
  std::vector<std::int64_t> trusted_;                      // on rank 0, ascending
  std::vector<std::int64_t> named_;                        // on rank 0: whom the list in the storage names
  std::string problem_;                                    // on rank 0: why no checkpoint is trusted
  std::vector<RecoveryPoint> stored_;                      // on rank 0: what was there when the job went back
};

}  // namespace rehearse
