#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/data/token_source.h"
#include "core/model/cost.h"
#include "core/model/layout.h"
#include "core/parallel/checkpoint_io.h"
#include "core/runtime/rank_context.h"
#include "core/train/config.h"
#include "core/train/disturbance.h"
#include "core/train/observer.h"
#include "core/train/recovery_policy.h"

namespace rehearse {

// One training job, the same object for all of its ranks; it outlives them.
struct TrainJob {
  TrainConfig config;
  CheckpointPlan checkpoints;
  // What is decided when something goes wrong; outlives the job.
  const RecoveryPolicy* policy = nullptr;
  // Continue from this step's checkpoint; a fresh start without it. A job that was restarted (a context of a generation
  // above 0) continues from the first checkpoint of the policy's order that all ranks can load instead, and starts
  // afresh where there is none.
  std::optional<std::int64_t> resume_from;
  // Checkpoints that led to the same failure twice, as the launcher of a restarted job knows.
  std::vector<std::int64_t> avoided;
  // A message of a collective that is waited for longer fails it.
  Duration collective_timeout = kForever;
  TrainObserver* observer = nullptr;
  Disturbance* disturbance = nullptr;  // null: nothing strikes
  // What ranks would make alike, each for itself, where it is not here: the config's layout, the costs of its stages,
  // and its data. A rank whose microbatches are others makes its own costs.
  std::optional<ParameterLayout> layout;
  std::shared_ptr<const ModelWork> work;
  std::shared_ptr<const TokenSource> source;
};

// The part of a CheckpointPlan that the configuration decides: retention and schedule.
CheckpointPlan make_checkpoint_plan(const TrainConfig& config);

struct RunResult {
  std::int64_t step = 0;           // the last that was finished
  std::int64_t applied_steps = 0;  // updates of the weights
  std::string stopped;             // why a guard ended the job before its last step; empty where none did
};

// All ranks end with it when the guards have convicted one of them of a broken memory: its machine is to be replaced,
// and the job to start again. Says why.
class EvictedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What every rank of a training job runs. Throws CommError, EvictedError, StorageError and, where the checkpoint it is
// to resume from is damaged or not this job's, InputError.
Task<RunResult> rank_main(RankContext& context, const TrainJob& job);

}  // namespace rehearse
