#pragma once

#include "core/checkpoint/coordinator.h"
#include "core/checkpoint/load.h"
#include "core/checkpoint/local_tier.h"
#include "core/runtime/rank_context.h"

namespace rehearse {

// load_first for a job with two tiers. Every rank tells rank 0 what its disk has; rank 0 chooses among that and what
// the shared storage `remote` has, and tells all. Of one checkpoint a rank's own copy of a shard comes first, then
// another rank's, which that rank reads and sends, then the shared storage's; every copy is verified by the manifest
// before it is used, and one that is damaged or cannot be read gives way to the next. Where a checkpoint of the local
// disks does not load, the shared storage's of the same step is tried whole, then older ones. Throws StorageError on
// rank 0 where `remote`, or which checkpoints are trusted, cannot be read.
Task<LoadOutcome> load_first_of_tiers(RankContext& context, ShardCarrier& carrier, StoragePath remote,
                                      StoragePath local, LoadRequest request, std::int64_t newest_step,
                                      CheckpointChoice choice);

}  // namespace rehearse
