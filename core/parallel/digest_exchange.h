#pragma once

#include <vector>

#include "core/base/digest.h"
#include "core/comm/process_group.h"

namespace rehearse {

// The digests of every rank, by group rank, in one all_gather; as many of each. Empty in cost-only mode, where there is
// nothing to take a digest of.
Task<std::vector<std::vector<Digest128>>> exchange_digests(ProcessGroup& group, std::vector<Digest128> own);

// Group rank `root`'s digests come to all, by a broadcast; the others give as many. What they gave, in cost-only mode.
Task<std::vector<Digest128>> share_digests(ProcessGroup& group, std::vector<Digest128> digests, int root);

}  // namespace rehearse
