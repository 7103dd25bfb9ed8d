#pragma once

#include "core/runtime/communicator.h"
#include "core/runtime/rank_context.h"

namespace rehearse {

// How hosts of several GPUs with a port each run one collective by rings: as many rings side by side as there are
// rails, each over all ranks host by host and each with its own part of the buffer. Ring i enters a host at its i-th
// GPU, so that every GPU's port to the outside carries one ring, and every link inside all of them but one.
struct RailRings {
  int ranks_per_host = 1;
  int rails = 1;  // at most ranks_per_host
};

// all_reduce, reduce_scatter or all_gather of `elements` of 4 bytes, without payload, as this rank does it. Requires
// hosts that are all full.
Task<> run_rail_rings(RankContext& context, RailRings rings, Operation operation, std::int64_t elements);

}  // namespace rehearse
