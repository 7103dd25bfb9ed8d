#pragma once

#include <cstdint>
#include <optional>

#include "core/parallel/checkpoint_io.h"
#include "core/runtime/rank_context.h"
#include "core/train/config.h"
#include "core/train/disturbance.h"
#include "core/train/observer.h"

namespace rehearse {

// One training job, the same object for all of its ranks; it outlives them.
struct TrainJob {
  TrainConfig config;
  CheckpointPlan checkpoints;
  // Continue from this step's checkpoint; a fresh start without it. A job that was restarted (a context of a generation
  // above 0) continues from the newest checkpoint that all ranks can load instead, and starts afresh where there is
  // none.
  std::optional<std::int64_t> resume_from;
  TrainObserver* observer = nullptr;
  Disturbance* disturbance = nullptr;  // null: nothing strikes
};

// The part of a CheckpointPlan that the configuration decides: retention and schedule.
CheckpointPlan make_checkpoint_plan(const TrainConfig& config);

struct RunResult {
  std::int64_t step = 0;           // the last that was finished
  std::int64_t applied_steps = 0;  // updates of the weights
};

// What every rank of a training job runs. Throws CommError, StorageError and, where the checkpoint it is to resume from
// is damaged or not this job's, InputError.
Task<RunResult> rank_main(RankContext& context, const TrainJob& job);

}  // namespace rehearse
