#pragma once

#include "core/checkpoint/coordinator.h"
#include "core/checkpoint/save.h"
#include "core/runtime/rank_context.h"

namespace rehearse {

// Publishes one checkpoint on the local disks (request.local); every rank calls it. Each rank writes its shard, and
// that of the rank before it, which it is sent, into a directory with a temporary name; rank 0 makes manifest and run
// state of what all report, the same that a save to the shared storage makes, and tells them; each rank adds them and
// renames the directory. Result as save_checkpoint: where any rank fails, nobody keeps it. What a crash between the
// renames leaves counts where the disks together have all of it. Rotation goes by the same rule on each disk, and what
// it could not do is in each rank's own result.
Task<SaveResult> save_locally(RankContext& context, ShardCarrier& carrier, SaveRequest request);

}  // namespace rehearse
