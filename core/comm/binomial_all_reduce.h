#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// All-reduce by a binomial tree, in place: binomial_reduce.h to group rank 0 and binomial_broadcast.h from there.
//
//   Order      that of binomial_reduce.h with root 0, the same for all elements and, being sent, on all ranks.
//   Steps      2 ceil(log2 N) rounds.
//   Messages   2(N-1) in all, of S bytes: each rank sends as many as it has children, and one, but for rank 0.
//   Time       2 log2 N (alpha + t(S)) for N a power of two, where all ranks start at once; for other N at most what
//              the next power takes.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Float or double only.
Task<> binomial_all_reduce(Communicator& comm, Call call, BufferView buffer);

}  // namespace rehearse
