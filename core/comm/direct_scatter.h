#pragma once

#include <vector>

#include "core/runtime/communicator.h"

namespace rehearse {

// Scatter straight from the root: `from[r]` of group rank `root` is copied to `own` of group rank r; any dtype. `from`
// has one view per group rank, of the size and dtype of that rank's `own`, on the root, and is empty elsewhere. The
// root's own part may lie in place (from[root] the same memory as `own`).
//
//   Order      nothing is summed.
//   Steps      the root sends to the others in group-rank order, one message after the other.
//   Messages   one received per rank but the root, none for an empty `own`.
//   Bytes      rank r receives its own S_r; the root sends the sum of the others'.
//   Time       alpha + sum of t(S_r) over the ranks that receive, where all start at once. Each rank is done alpha
//   after
//              its own has left.
//   Nothing    is sent, and no time passes, with one rank or no elements anywhere.
//   Errors     CommError of its messages. Requires 0 <= root < N.
Task<> direct_scatter(Communicator& comm, Call call, std::vector<BufferView> from, BufferView own, int root);

}  // namespace rehearse
