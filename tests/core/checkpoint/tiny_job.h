#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/checkpoint/load.h"
#include "core/checkpoint/local_tier.h"
#include "core/checkpoint/save.h"
#include "core/checkpoint/verify.h"
#include "core/runtime/group.h"
#include "sim/cluster/world.h"
#include "sim/storage/sim_storage.h"

namespace rehearse {

// A job of any number of ranks that saves and loads the 57 parameters of tiny_checkpoint.h in a simulated cluster, with
// the plainest coordinator there is: rank 0 receives from and sends to everybody in turn.

class StarCoordinator : public ShardCarrier {
 public:
  explicit StarCoordinator(RankContext& context);
  Task<std::vector<std::string>> gather(std::string mine) override;
  Task<std::string> broadcast(std::string from_rank_0) override;
  Task<Payload> pass_on(Payload mine, int distance) override;
  Task<Payload> carry(Payload own, int from, std::vector<int> to) override;

 private:
  RankContext& context_;
  Group group_;
  std::uint64_t sequence_ = 0;
};

StorageConfig fast_storage();
StoragePath checkpoints();
// A mount "shared", empty.
Mounts empty_mounts(const StorageConfig& config = fast_storage());

// Values of all parameters after `step`, in flat order; `salt` makes another run's.
std::vector<float> tiny_values(std::int64_t step, float part, float salt = 0);
std::vector<ShardRange> tiny_ranges(int rank, int ranks);
// The same as places in the flat order.
std::vector<FlatRange> tiny_wanted(int rank, int ranks);
ExpectedManifest tiny_expectation(int ranks);

struct SaveOptions {
  std::int64_t keep = 0;
  std::vector<std::int64_t> keep_also;
  float salt = 0;
  int nan_rank = -1;
  std::optional<LocalTier> local;  // instead of the shared storage
};

// Prepares the directory and saves `step`; every rank calls it.
Task<SaveResult> save_tiny(RankContext& context, std::int64_t step, SaveOptions options);

// Runs a program on every rank of a new world to its end; a program that throws, a deadlock or a CommError is a
// failure.
void run_ranks(int ranks, Mounts& mounts, const std::function<Task<>(RankContext&)>& program,
               Storing storing = Storing::kElements);

// The results by rank.
std::vector<SaveResult> run_save(int ranks, Mounts& mounts, std::int64_t step, const SaveOptions& options = {},
                                 Storing storing = Storing::kElements);
// Tries every checkpoint, the newest first.
CheckpointChoice newest_first();
std::vector<LoadOutcome> run_load_newest(int ranks, Mounts& mounts,
                                         bool reshard = false);  // of a world size with another hash

// The same with a local disk a rank, "local0" and so on (mounts_with_disks).
std::vector<LoadOutcome> run_load_of_tiers(int ranks, Mounts& mounts, bool reshard = false);
Mounts mounts_with_disks(int ranks, const StorageConfig& config = fast_storage());

// Names below the checkpoints' directory, as seen now, without those of files in directories.
std::set<std::string> directories(const Mounts& mounts);
// Files of one checkpoint directory, as seen now or as they are durable.
std::map<std::string, FileData> files_of(const std::map<std::string, FileData>& all, const std::string& directory);
VerifiedCheckpoint verified(const std::map<std::string, FileData>& all, std::int64_t step);

// Whether the loaded state is that of the ranges after a step.
bool has_values(const State& state, const std::vector<FlatRange>& ranges, std::int64_t step, float salt = 0);

}  // namespace rehearse
