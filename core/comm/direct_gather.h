#pragma once

#include <vector>

#include "core/runtime/communicator.h"

namespace rehearse {

// Gather straight to the root: `own` of group rank r is copied to into[r] on group rank `root`; any dtype. `into` has
// one view per group rank, of the size and dtype of that rank's `own`, on the root, and is empty elsewhere. The root's
// own part may lie in place (into[root] the same memory as `own`).
//
//   Order      nothing is summed.
//   Steps      1: all send at once, the root takes the messages in group-rank order.
//   Messages   one sent per rank but the root, none for an empty `own`; up to N-1 received by the root.
//   Bytes      rank r sends its own S_r; the root receives the sum of the others'.
//   Time       alpha + sum of t(S_r) over the ranks that send, where all start at once: an incast on the root's port.
//              A sender is done after t(S_r).
//   Nothing    is sent, and no time passes, with one rank or no elements anywhere.
//   Errors     CommError of its messages. Requires 0 <= root < N.
Task<> direct_gather(Communicator& comm, Call call, BufferView own, std::vector<BufferView> into, int root);

}  // namespace rehearse
