#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Binomial-tree broadcast, in place: `buffer` of group rank `root` is copied to all others; any dtype.
//
// Let v = (rank - root) mod N and K = ceil(log2 N). Rank v receives from v minus its lowest set bit 2^b, then sends to
// v + 2^(b-1), v + 2^(b-2), ..., v + 1, as far as those are below N; the root counts as b = K. Largest subtree first.
//
//   Order      nothing is summed.
//   Steps      K rounds; the message that came in is the one that goes out, without a copy.
//   Messages   one received per rank but the root; the root sends K, rank v one to each of its children; N-1 in all.
//   Bytes      S a message.
//   Time       floor(log2 N) alpha + K t(S), where all ranks start at once. Derivation, and the time of each rank, in
//              tests/core/comm/binomial_broadcast_test.cc.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Requires 0 <= root < N.
Task<> binomial_broadcast(Communicator& comm, Call call, BufferView buffer, int root);

}  // namespace rehearse
