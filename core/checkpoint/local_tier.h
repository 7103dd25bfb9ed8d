#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/storage.h"
#include "core/runtime/task.h"

namespace rehearse {

// Checkpoints on the local disks of the hosts: README.md of this folder, "Two tiers". Each rank has its own shard there
// and that of the rank before it, with manifest and run state beside them; no disk has all.

struct LocalTier {
  LocalTier() = default;
  // On each rank's own disk.
  StoragePath parent{"local", "checkpoints"};
  std::int64_t replica_distance = 1;  // TierConfig
  std::int64_t ranks_per_host = 1;
};

// How many ranks further on the second copy of a shard is, of a job of `ranks`; 0 where there is none. That is another
// host, unless there are just two and one has fewer ranks than the other: then it is for as many as there can be.
int replica_shift(const LocalTier& tier, int ranks);

// What one disk has of a checkpoint.
struct LocalCopy {
  std::int64_t step = 0;
  std::string manifest_sha256;
  std::int64_t generation = 0;  // that saved it
  TimePoint saved;
  std::int64_t world_size = 0;
  std::vector<std::int64_t> shards;  // whose files are there, ascending
};

// What one disk has.
struct LocalInventory {
  std::vector<LocalCopy> copies;                  // by step
  std::map<std::int64_t, std::string> manifests;  // their texts, by step
  std::vector<std::string> problems;              // what is damaged or cannot be read, in words
};
// Of this rank's disk, up to a step. A disk that cannot be read has nothing.
Task<LocalInventory> take_inventory(Storage& storage, StoragePath parent, std::int64_t newest_step);

// How a rank tells rank 0 of its disk.
std::string write_copies(const std::vector<LocalCopy>& copies);
std::vector<LocalCopy> parse_copies(std::string_view text);

// A checkpoint as all disks together have it.
struct SpreadCheckpoint {
  std::int64_t step = 0;
  std::string manifest_sha256;
  std::int64_t generation = 0;
  TimePoint saved;
  int manifest_at = 0;                    // the first rank that has the manifest
  std::vector<std::vector<int>> holders;  // by shard: the ranks that have a copy, ascending
  // Whether there is a copy of every shard.
  bool is_complete() const;
};
// Of the ranks' copies, by rank; ascending by step, and where a step was saved more than once, the one that was saved
// last comes last.
std::vector<SpreadCheckpoint> spread_over_disks(const std::vector<std::vector<LocalCopy>>& disks);

// For what ranks tell each other. Lines end with '\n'.
std::vector<std::string_view> lines_of(std::string_view text);
std::string to_one_line(std::string text);
// Numbers as text and back.
std::string write_numbers(const std::vector<std::int64_t>& numbers);
std::vector<std::int64_t> parse_numbers(std::string_view text);

}  // namespace rehearse
