#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/config.h"
#include "core/checkpoint/trust.h"
#include "core/parallel/checkpoint_io.h"
#include "core/runtime/rank_context.h"
#include "core/train/recovery_policy.h"

namespace rehearse {

// One rank's knowledge of the checkpoints that its job may go back to. Ranks agree on what all of them do; rank 0 alone
// looks at the shared storage and writes there. It is the state after a step that is trusted, and with it the copies
// that are of it: where a job comes to a step again, the other tier may still have the step of another past. So the
// list of trusted checkpoints, which is in the shared storage, names those of each tier. Functions that write return
// what went wrong, in words; training may go on.
class RecoveryPoints {
 public:
  // `avoided`: what a launcher told the job to leave alone. All references outlive this.
  RecoveryPoints(RankContext& context, const RecoveryPolicy& policy, const CheckpointPlan& plan,
                 const std::vector<std::int64_t>& avoided)
      : context_(context),
        policy_(policy),
        parent_(plan.parent),
        keep_(plan.keep),
        has_tiers_(plan.local.has_value()),
        told_to_avoid_(avoided) {}

  // The policy's choice among what is there.
  CheckpointChoice choice();
  // The job has gone back to this step, 0 for the start. What is newer is of a past that did not happen, and loses its
  // trust; it stays until the job comes to its step again. What a rotation that a crash cut short has left goes.
  Task<std::string> gone_back(std::int64_t step);
  // Whoever resumes from a checkpoint by name trusts it.
  Task<std::string> resumed(std::int64_t step);
  // The same failure came after the same checkpoint twice.
  void note_failure(std::int64_t resumed_step, std::int64_t failed_step);

  // Checkpoints that rotation in this tier must leave when this step's is committed there; of local disks all that
  // stay.
  std::vector<std::int64_t> must_keep(std::int64_t step, Tier tier) const;
  // A checkpoint is committed in the first tier that has it, and rotation there took others away.
  void saved(std::int64_t step, const std::vector<std::int64_t>& deleted, Tier tier);
  // One that the local disks took is now in the shared storage, too, and rotation there took others away.
  Task<std::string> uploaded(std::int64_t step, std::vector<std::int64_t> deleted);
  // A step after the latest checkpoint was judged well, so that it may be gone back to: if it is not newer than
  // `checked_step`, the last step whose gradients are known to be right. A machine that computes wrong may have done so
  // since then.
  Task<std::string> judged_well(std::int64_t checked_step);

 private:
  std::vector<std::int64_t> order(const std::vector<StoredCheckpoint>& stored);
  RecoveryPoint point(std::int64_t step, bool trusted) const;
  std::set<std::int64_t>& copies(Tier tier) { return copies_[static_cast<std::size_t>(tier)]; }
  const std::set<std::int64_t>& copies(Tier tier) const { return copies_[static_cast<std::size_t>(tier)]; }
  std::vector<std::int64_t> trusted_in(Tier tier) const;
  TrustedSteps trusted() const;
  // Where the list could not be replaced, the job would go back by the old one.
  void keep_what_is_named(Tier tier, std::vector<std::int64_t>& steps) const;
  Task<std::string> store_trust();

  RankContext& context_;
  const RecoveryPolicy& policy_;
  const StoragePath& parent_;
  std::int64_t keep_;
  bool has_tiers_;
  std::vector<std::int64_t> told_to_avoid_;
  std::vector<std::int64_t> avoided_;                      // that led to the same failure twice
  std::pair<std::int64_t, std::int64_t> failure_{-1, -1};  // the latest: resumed and failed step
  std::set<std::int64_t> waits_;                           // saved, and trusted once a later step is judged well
  std::set<std::int64_t> good_;                            // the state after these is trusted
  std::array<std::set<std::int64_t>, 2> copies_;  // by tier: saved there in this past; all of it is, without tiers
  TrustedSteps named_;                            // on rank 0: whom the list in the storage names
  std::string problem_;                           // on rank 0: why no checkpoint is trusted
  std::vector<StoredCheckpoint> stored_;          // on rank 0: what was there when the job went back
};

}  // namespace rehearse
