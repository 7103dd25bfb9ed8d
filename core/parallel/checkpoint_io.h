#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/load.h"
#include "core/checkpoint/save.h"
#include "core/parallel/data_parallel.h"
#include "core/runtime/rank_context.h"

namespace rehearse {

// The counters of design section 7, all kept in a checkpoint.
struct TrainCounters {
  std::int64_t step = 0;
  std::int64_t batch_index = 0;
  std::int64_t applied_steps = 0;
  std::optional<GuardHistory> guards;  // of a job that has guards
};

// Where a job keeps its checkpoints and what they say besides its state; the same for all ranks.
struct CheckpointPlan {
  StoragePath parent{"shared", "checkpoints"};
  std::optional<LocalTier> local;  // the first tier, of a job that has two
  std::int64_t keep = 0;           // newest that rotation keeps; 0: all
  ScheduleRecord schedule;
  std::string arithmetic_sha256;
  // Of the same job, cut in other ways that it may continue from (LoadRequest).
  std::vector<std::string> reshard_from;
  std::string scenario_sha256;
  std::string scenario_text;
  std::vector<CheckpointInput> inputs;
  bool has_guards = false;
  TimePoint began;  // when this run started, on the clock of the run that it continues
  // What the world outside wants kept in the run state; asked by rank 0 when it saves. May be empty.
  std::function<std::vector<std::int64_t>()> outside;
};

// Makes the parent directory, and with two tiers that on each rank's disk, and clears what interrupted saves left;
// every rank calls it before its first save or load.
template <class T>
Task<> open_checkpoints(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan);

// The state after `counters.step`, to be published; every rank calls it. Training may go on when it has returned.
// `keep_also`: steps that rotation never deletes.
template <class T>
Task<SaveRequest> snapshot_training_state(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan,
                                          TrainCounters counters, std::vector<std::int64_t> keep_also);

// Makes a checkpoint of the snapshots that every rank has taken, in the tier that the request names; every rank of the
// group calls it. Whether there is a new checkpoint is the same on all; if not, training may go on.
Task<SaveResult> publish_training_state(ProcessGroup& group, SaveRequest request);

// Restores the checkpoint of `step`, on every rank or on none. Throws InputError where it is missing, damaged or not
// this job's, UnreadableCheckpoint where the disk fails.
template <class T>
Task<TrainCounters> load_training_state(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan,
                                        std::int64_t step);

// What load_first_training_state found.
struct FoundState {
  FoundState() = default;
  std::optional<TrainCounters> counters;     // nothing where no checkpoint loads: nothing was changed
  std::vector<RejectedCheckpoint> rejected;  // those that some rank refused, in the order tried
  Bytes read;                                // by this rank, of the one that was loaded
  TierReads reads;                           // the same, by tier
  std::vector<std::string> refused_copies;   // LoadOutcome
};

// Restores the first checkpoint of the choice that every rank can load; the same one on all, or none.
template <class T>
Task<FoundState> load_first_training_state(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan,
                                           CheckpointChoice choice);

}  // namespace rehearse
