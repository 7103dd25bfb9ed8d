#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/config.h"
#include "core/checkpoint/coordinator.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/run_state.h"
#include "core/checkpoint/shard_file.h"
#include "core/checkpoint/trust.h"
#include "core/runtime/rank_context.h"
#include "core/runtime/storage.h"

namespace rehearse {

// What a rank wants of a checkpoint.
struct LoadRequest {
  LoadRequest(ExpectedManifest load_expected, std::vector<FlatRange> load_wanted)
      : expected(std::move(load_expected)), wanted(std::move(load_wanted)) {}
  ExpectedManifest expected;
  std::vector<FlatRange> wanted;  // the elements this rank will own: its shard, or all where it owns all
  // Arithmetic hashes of the same job, cut in another way: a checkpoint with one of them is re-cut, whatever its world
  // size, layout and sharding; parameters and dtype must still be the same.
  std::vector<std::string> reshard_from;
};

struct LoadedCheckpoint {
  LoadedCheckpoint() = default;
  Manifest manifest;
  RunState run_state;  // of the shared storage's checkpoint alone
  State state;         // the wanted ranges one after the other; empty in cost-only mode
  Bytes read;
  TierReads reads;  // the same, by tier
};

// Reads a published checkpoint. Nothing is used before it is verified: the manifest, the run state and the list of
// files by every rank; each shard by the ranks that want of it and by rank (shard mod world size); the rest by rank 0.
// So, when all ranks succeed, every byte of the directory was verified. Throws InputError for damage and for a
// checkpoint that is not this job's, StorageError where reading fails.
Task<LoadedCheckpoint> load_checkpoint(RankContext& context, StoragePath directory, LoadRequest request);

// A checkpoint that a disk would not give, for all ranks: it may another time.
class UnreadableCheckpoint : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The same on every rank of a job, or on none: where one rank fails, or they read different checkpoints, all throw
// InputError that says which ranks and why; UnreadableCheckpoint, where it was nothing but input/output errors, or
// differences that may go.
Task<LoadedCheckpoint> load_agreed(RankContext& context, CheckpointCoordinator& coordinator, StoragePath directory,
                                   LoadRequest request);

struct RejectedCheckpoint {
  std::int64_t step = 0;
  std::string reason;
};

struct LoadOutcome {
  LoadOutcome() = default;
  std::optional<LoadedCheckpoint> checkpoint;  // nothing where no checkpoint in `parent` loads
  std::vector<RejectedCheckpoint> rejected;    // those that some rank refused, in the order tried; on every rank
  // Of jobs with two tiers: what is damaged on local disks and was taken from elsewhere, in words; on every rank.
  std::vector<std::string> refused_copies;
};

// Loads the first checkpoint in the order that every rank can load: rank 0 chooses and tells, all load, and
// one that any rank refuses nobody keeps. Only steps up to `newest_step` count. Throws StorageError on rank 0 where
// `parent` cannot be listed.
Task<LoadOutcome> load_first(RankContext& context, CheckpointCoordinator& coordinator, StoragePath parent,
                             LoadRequest request, std::int64_t newest_step, CheckpointChoice choice);

// The parts of it, for a loader of two tiers.

// Throws InputError unless the checkpoint is that of the request's job, or of the same job cut in a way it names.
void check_request(const Manifest& manifest, const LoadRequest& request, const std::string& source);
// Throws InputError unless a shard's file is that of the record; in cost-only mode by its size alone.
void check_shard(const ShardRecord& shard, const Payload& data, const std::string& source);
// Which checkpoints are trusted, as the choice wants to know; it is told of damage. Throws StorageError.
Task<TrustedSteps> trusted_for(Storage& storage, StoragePath parent, const CheckpointChoice& choice);
// Problems by rank, empty where there is none, as one.
std::string merge_problems(const std::vector<std::string>& problems);

}  // namespace rehearse
