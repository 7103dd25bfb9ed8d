#pragma once

#include <cstdint>
#include <optional>

#include "core/base/units.h"

namespace rehearse {

// Where a checkpoint is: on the local disks of the hosts, each of which holds some shards, or in the storage that all
// hosts share and that outlives them.
enum class Tier : std::uint8_t { kLocal, kRemote };

// Saves go to the local disks first, and from there to the shared storage beside the training.
struct TierConfig {
  // Of the saves after a start or a return the first is uploaded, then one of so many; that of the last step, too.
  std::int64_t upload_every = 1;
  // A shard's second copy is on a local disk of the host so many further on; 0: there is none.
  std::int64_t replica_distance = 1;
};

struct CheckpointConfig {
  std::int64_t every_steps = 0;     // 0: not by steps
  std::int64_t keep = 0;            // newest checkpoints that rotation keeps; 0: all
  Duration every_time;              // after the first step that ends so long after the last save; 0: not by time
  bool asynchronous = false;        // the files are written while training goes on
  std::optional<TierConfig> tiers;  // without them the shared storage alone
  bool any() const { return every_steps > 0 || every_time > Duration(); }
};

// What a rank took of a checkpoint, by where it was. Of the local disks shards alone count.
struct TierReads {
  Bytes own_disk;
  Bytes other_disks;  // sent by the ranks that read them
  Bytes remote;
  std::int64_t shards_from_own_disk = 0;
  std::int64_t shards_from_other_disks = 0;
  std::int64_t shards_from_remote = 0;
  TierReads& operator+=(const TierReads& other) {
    own_disk += other.own_disk;
    other_disks += other.other_disks;
    remote += other.remote;
    shards_from_own_disk += other.shards_from_own_disk;
    shards_from_other_disks += other.shards_from_other_disks;
    shards_from_remote += other.shards_from_remote;
    return *this;
  }
};

}  // namespace rehearse
