#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/digest.h"
#include "core/base/units.h"
#include "core/checkpoint/config.h"
#include "core/model/layout.h"
#include "core/optim/config.h"
#include "core/parallel/shard_piece.h"
#include "core/train/gradient_dispute.h"

namespace rehearse {

// A rank's tensors as an observer may read them: by tensor index, each of the layout's numel elements of `dtype`; null
// for what is not in the view.
struct TensorsView {
  const ParameterLayout* layout = nullptr;
  DType dtype = DType::kFloat32;
  std::vector<const std::byte*> tensors;
  // Parameters that no rank holds whole (zero_stage 3): all tensors are null, and these are the rank's own parts.
  std::span<const ConstShardPiece> parts;
  bool is_sharded() const { return !tensors.empty() && tensors.front() == nullptr; }

  std::span<const std::byte> bytes(int tensor) const {
    const auto t = static_cast<std::size_t>(tensor);
    return {tensors[t], static_cast<std::size_t>(layout->tensors()[t].numel * size_of(dtype))};
  }
};

// One attempt at a step, as a rank saw it; the same on all ranks but for the times.
struct StepReport {
  std::int64_t step = 0;           // from 1
  std::int64_t batch_index = 0;    // of the batch that was used
  std::int64_t applied_steps = 0;  // after the step
  double loss = 0;                 // mean over ranks, before the update
  std::vector<double> rank_losses;
  double grad_norm = 0;  // of the averaged gradient, before clipping
  double lr = 0;
  std::int64_t tokens = 0;  // over all ranks
  std::int64_t nonfinite_elements = 0;
  std::vector<std::uint32_t> changed_state;  // by rank, StateParts that were not as their last update left them
  std::vector<GradientDispute> disputes;     // of the rank's own gradients, where they were computed twice
  bool skipped = false;                      // no update was made; `lr` is what it would have been
  TimePoint began;
  TimePoint ended;
};

// How a save to one tier ended.
struct CheckpointReport {
  std::int64_t step = 0;
  Tier tier = Tier::kRemote;     // of a job that has one: kRemote
  bool uploaded = false;         // beside the training, after the save to the local disks
  std::string problem;           // why there is no checkpoint; empty when it is committed
  std::string rotation_problem;  // on rank 0: why older ones could not be deleted
};

// What a guard decided about a step, the same on all ranks.
struct GuardReport {
  std::int64_t step = 0;
  std::string reaction;  // "SKIP_STEP"
  std::string reason;
  bool goes_back = false;    // on_load and on_start of an earlier step follow
  std::vector<int> evicted;  // ranks whose machine is to be replaced; all ranks end then
};

// What a job that went back continues from.
struct LoadReport {
  std::int64_t step = 0;
  bool loaded = false;                      // false: no checkpoint could be loaded, the job starts afresh
  Bytes read;                               // by this rank
  bool has_tiers = false;                   // checkpoints are on local disks, too
  TierReads reads;                          // what was read, by tier
  std::vector<std::string> rejected;        // newer checkpoints that some rank refused, with the reason
  std::vector<std::string> refused_copies;  // on local disks, of the one that was loaded or of others; on every rank
  std::int64_t skipped_batches = 0;         // that the job now leaves out
};

// Watches training from outside: no message, no virtual time, and no way to change anything. All views are good during
// the call alone. Calls come rank by rank, in the order of virtual time.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  // Parameters are the same everywhere and training starts after `step` (0, or a checkpoint's). `optimizer_state` is of
  // the rank's own chunks of master weights and moments.
  virtual void on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128 optimizer_state) {
    (void)rank, (void)step, (void)parameters, (void)optimizer_state;
  }
  // The rank's own gradient of its batch, before it is reduced: `tokens` is (batch, context + 1). Where units are
  // reduced while backward runs (TrainConfig::overlap, zero_stage 2 and 3), it is told in parts, each gradient once.
  virtual void on_gradients(int rank, std::int64_t step, std::span<const std::int32_t> tokens,
                            const TensorsView& parameters, const TensorsView& gradients) {
    (void)rank, (void)step, (void)tokens, (void)parameters, (void)gradients;
  }
  // The gradient is reduced and about to be used: summed over ranks in the pieces that this rank updates, not divided.
  virtual void on_reduced(int rank, std::int64_t step, std::span<const ConstShardPiece> pieces) {
    (void)rank, (void)step, (void)pieces;
  }
  // After the update; `pieces` has the moments of what this rank updates.
  virtual void on_step(int rank, const StepReport& report, const TensorsView& parameters,
                       std::span<const ConstShardPiece> pieces) {
    (void)rank, (void)report, (void)parameters, (void)pieces;
  }
  // The mean loss over ranks on the held-out batch, after `step`.
  virtual void on_eval(int rank, std::int64_t step, double loss) { (void)rank, (void)step, (void)loss; }
  // A save ended; `optimizer_state` is of the rank's own chunks in it.
  virtual void on_checkpoint(int rank, const CheckpointReport& report, Digest128 optimizer_state) {
    (void)rank, (void)report, (void)optimizer_state;
  }
  // Something about the checkpoints beside that of `step` could not be done; it is committed.
  virtual void on_checkpoint_problem(int rank, std::int64_t step, const std::string& problem) {
    (void)rank, (void)step, (void)problem;
  }
  // A guard does not let a step be applied.
  virtual void on_guard(int rank, const GuardReport& report) { (void)rank, (void)report; }
  // The job goes back, after a restart or a guard's verdict, and has chosen what it continues from.
  virtual void on_load(int rank, const LoadReport& report) { (void)rank, (void)report; }
  virtual void on_end(int rank, const TensorsView& parameters) { (void)rank, (void)parameters; }
};

}  // namespace rehearse
