#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/coordinator.h"
#include "core/checkpoint/load.h"
#include "core/checkpoint/local_tier.h"
#include "core/runtime/rank_context.h"

namespace rehearse {

// Where rank 0 has the shards of one checkpoint come from. Pure.
class ShardSources {
 public:
  static constexpr int kRemote = -1;

  // `wants`: by rank, the shards it needs. `remote`: whether the shared storage has the checkpoint, too.
  ShardSources(const SpreadCheckpoint& spread, const std::vector<std::vector<std::int64_t>>& wants, bool remote);

  // Shards whose copy is still to be read, each with the rank that is to read it: shard, rank, shard, rank, ... Empty
  // where all are settled.
  std::vector<std::int64_t> to_read() const;
  // What came of it: these could not be read, or were not what was saved. The others are settled.
  void refuse(const std::vector<std::int64_t>& shards);
  // A shard that is wanted and that nobody has; nothing where there is none.
  std::optional<std::int64_t> missing() const;
  // Once all are settled: shard, source, how many ranks receive it, which; of every shard that is wanted.
  std::vector<std::int64_t> plan() const;

 private:
  struct Shard {
    std::int64_t index = 0;
    std::vector<int> wanted_by;
    std::vector<int> copies;  // ranks to ask, the first one first
    bool settled = false;
  };
  std::vector<Shard> shards_;
  bool remote_;
};

// One rank's part in loading one checkpoint from the local disks and, where copies are gone, the shared storage.
class SpreadLoad {
 public:
  // `spread` is on rank 0; `directory`: on each rank's disk; `remote_directory`: of the same step, maybe not there.
  SpreadLoad(RankContext& context, ShardCarrier& carrier, StoragePath directory, StoragePath remote_directory,
             const LoadRequest& request, const SpreadCheckpoint* spread)
      : context_(context),
        carrier_(carrier),
        directory_(std::move(directory)),
        remote_directory_(std::move(remote_directory)),
        request_(request),
        spread_(spread) {}

  // Every rank has the manifest's text; `in_remote` counts on rank 0. Gives why the checkpoint is refused, the same on
  // every rank; empty where every rank has loaded it.
  Task<std::string> run(std::string manifest_text, bool in_remote);

  LoadedCheckpoint& loaded() { return loaded_; }
  // Copies that were refused, in words; the same on every rank.
  const std::vector<std::string>& refused() const { return refused_; }

 private:
  bool leads() const { return context_.rank() == 0; }
  const Manifest& manifest() const { return loaded_.manifest; }
  const ShardRecord& shard(std::int64_t index) const { return manifest().shards[static_cast<std::size_t>(index)]; }
  std::string parse(const std::string& text, std::vector<std::int64_t>& wanted);
  Task<std::string> read_copies(std::vector<std::int64_t> assignment);
  Task<std::string> choose_sources(const std::vector<std::string>& wants, bool in_remote,
                                   std::vector<std::int64_t>& plan);
  Task<std::string> bring(std::vector<std::int64_t> plan);
  void take(std::int64_t index, const Payload& data, const std::string& source);

  RankContext& context_;
  ShardCarrier& carrier_;
  StoragePath directory_;
  StoragePath remote_directory_;
  const LoadRequest& request_;
  const SpreadCheckpoint* spread_;
  LoadedCheckpoint loaded_;
  std::map<std::int64_t, Payload> read_;  // copies that this rank has read, and that are whole
  std::vector<std::string> refused_;
};

}  // namespace rehearse
