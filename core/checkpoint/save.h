#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/checkpoint/coordinator.h"
#include "core/checkpoint/local_tier.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/run_state.h"
#include "core/runtime/payload.h"
#include "core/runtime/rank_context.h"
#include "core/runtime/storage.h"

namespace rehearse {

// Saving, in two halves: a snapshot of the state at step k, then its publication, which may run beside the training
// that goes on (spawn it); the bytes are the same either way.

// Real elements that a rank holds of one unit.
struct OwnedState {
  OwnedState(const ShardRange& owned_range, const BufferView& owned_master, const BufferView& owned_m,
             const BufferView& owned_v)
      : range(owned_range), master(owned_master), m(owned_m), v(owned_v) {}
  ShardRange range;
  BufferView master;  // param_shard_numel elements each
  BufferView m;
  BufferView v;
};

// A rank's shard as it will stand in its file; nothing in it changes when training goes on.
struct ShardSnapshot {
  ShardSnapshot() = default;
  ShardRecord record;
  Payload file;         // in cost-only mode a size, without the header
  std::string problem;  // why it must not be published; empty where it may
};

// Takes the snapshot of this rank's state, one range after the other, on the device's copy stream. A NaN or an infinity
// in it is a problem of the snapshot: such a checkpoint is never published.
Task<ShardSnapshot> snapshot_shard(RankContext& context, Coordinates coordinates, DType dtype,
                                   std::vector<OwnedState> state);

// A file that the scenario names, to be copied into the checkpoint.
struct CheckpointInput {
  std::string path;
  std::string sha256;
  std::shared_ptr<const std::string> contents;
};

// What rank 0 knows of a checkpoint apart from the shards.
struct CheckpointDraft {
  Manifest manifest;  // without shards and model: publication fills those in
  Payload model;      // write_model_file's bytes, of the same step as the snapshots
  TimePoint simulated_time;
  std::int64_t generation = 0;
  std::string scenario_sha256;
  std::string scenario_text;
  std::vector<CheckpointInput> inputs;
  std::vector<std::int64_t> outside;  // for RunState
};

struct SaveRequest {
  SaveRequest(StoragePath save_parent, std::int64_t save_step, ShardSnapshot save_shard)
      : parent(std::move(save_parent)), step(save_step), shard(std::move(save_shard)) {}
  StoragePath parent;              // prepare_checkpoints was called on it
  std::optional<LocalTier> local;  // instead: to the local disks (local_save.h)
  std::int64_t step;
  ShardSnapshot shard;
  std::shared_ptr<const CheckpointDraft> draft;  // on rank 0
  std::int64_t keep = 0;                         // newest checkpoints that stay; 0: all
  std::vector<std::int64_t> keep_also;           // steps that rotation never deletes; of local disks, all that stay
};

struct SaveResult {
  SaveResult() = default;
  // The same on every rank: empty where the checkpoint is durable under its name, else why it is not. Then nothing of
  // it is left, earlier checkpoints are as they were, and training may go on.
  std::string problem;
  bool saved() const { return problem.empty(); }
  std::vector<std::int64_t> deleted;  // on rank 0: steps that rotation took away
  std::string rotation_problem;       // on rank 0: why rotation could not delete; the save counts
};

// Publishes one checkpoint; every rank calls it. Each rank writes its shard into a directory with a temporary name;
// rank 0 adds the rest, manifest.json last, each file and the directory synced, and renames the directory to its name.
// A checkpoint of the step that is there already stays where it is whole and has the same manifest (after a resume);
// else the new one takes its place. CommError passes through; what is then left has temporary names.
Task<SaveResult> save_checkpoint(RankContext& context, CheckpointCoordinator& coordinator, SaveRequest request);

}  // namespace rehearse
