#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Pipelined chain reduce, in place: afterwards `buffer` of group rank `root` holds the sum over ranks; the others keep
// what they had. The chain of chain_broadcast.h, from its end to the root: v receives a segment from v + 1, adds, and
// passes the sum to v - 1 while it receives the next.
//
//   Order      the same for all elements: x[0] + (x[1] + (... + x[N-1])), by v = (rank - root) mod N.
//   Steps      P + N - 2, of one segment.
//   Messages   P sent per rank but the root, P received per rank but the end of the chain.
//   Bytes      S each way.
//   Time       (N-1) (alpha + t(c)) + (P-1) t(c), with P segments of equal size c, where all ranks start at once.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Float or double only. Requires 0 <= root < N.
Task<> chain_reduce(Communicator& comm, Call call, BufferView buffer, int root, Bytes segment);

}  // namespace rehearse
