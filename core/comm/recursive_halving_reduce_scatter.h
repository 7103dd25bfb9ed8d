#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Reduce-scatter by recursive halving, in place: afterwards chunk r of `buffer` (chunks.h) holds the sum over ranks on
// group rank r. What the other chunks hold is undefined. Slots and P are those of folded_ranks.h.
//
//   Order      that of halving_doubling_all_reduce.h, the same for all chunks.
//   Steps      log2 P exchanges, of the chunks of P/2, P/4, ..., 1 slots; where N > P the fold of whole buffers before
//              and the odd chunk of a pair after.
//   Messages   a slot sends and receives log2 P, those of empty chunks included; the odd rank of a pair sends one and
//              receives one, and so does the even one beside its log2 P.
//   Bytes      with equal chunks and N = P each way S (N-1)/N.
//   Time       with equal chunks and N = P: log2 N alpha + t(S/2) + t(S/4) + ... + t(S/N); all ranks start at once.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Float or double only.
Task<> recursive_halving_reduce_scatter(Communicator& comm, Call call, BufferView buffer);

}  // namespace rehearse
