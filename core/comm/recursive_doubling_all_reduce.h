#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Recursive doubling all-reduce, in place: afterwards `buffer` holds the sum over ranks on every rank, bit-equal. Every
// round moves the whole buffer, so it is for small ones. Slots and P are those of folded_ranks.h.
//
//   Order      the same for all elements. A pair makes y[v] = x[2v] + x[2v+1], a slot of one rank y[v] = its x; then
//              neighbours are added: y[v] + y[v+1] for even v, those two by two, and so on. For N = 4:
//              (x0 + x1) + (x2 + x3). Both ranks of an exchange add the lower slot's numbers first.
//   Steps      log2 P exchanges of the whole buffer, slot v with v XOR 1, 2, 4, ...; and two messages where N > P.
//   Messages   a slot sends and receives log2 P, and its pair's one more each way; a folded rank one each way.
//   Bytes      S a message.
//   Time       log2 N (alpha + t(S)) for N a power of two; for other N at most 2 (alpha + t(S)) more than for P. All
//   ranks
//              start at once.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Float or double only.
Task<> recursive_doubling_all_reduce(Communicator& comm, Call call, BufferView buffer);

}  // namespace rehearse
