#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Binomial-tree reduce, in place: afterwards `buffer` of group rank `root` holds the sum over ranks; the others are
// scratch. The tree of binomial_broadcast.h, upwards: with v = (rank - root) mod N, v receives from v + 1, v + 2,
// v + 4, ... below its lowest set bit (and below N), adds, and sends to v minus that bit.
//
//   Order      the same for all elements: T(v) = ((x[v] + T(v+1)) + T(v+2)) + T(v+4) ..., of the children of v; T(0) is
//              the sum. For N = 4 and root 0: (x0 + x1) + (x2 + x3).
//   Steps      ceil(log2 N) rounds.
//   Messages   one sent per rank but the root; one received from each child; N-1 in all.
//   Bytes      S a message.
//   Time       log2 N (alpha + t(S)) for N a power of two, where all ranks start at once. For other N at most
//              ceil(log2 N) (alpha + t(S)); children that are ready at once wait for each other at their parent's port.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Float or double only. Requires 0 <= root < N.
Task<> binomial_reduce(Communicator& comm, Call call, BufferView buffer, int root);

}  // namespace rehearse
