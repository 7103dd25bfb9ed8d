#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// All-gather by recursive doubling, in place: group rank r gives chunk r of `buffer` (chunks.h); afterwards all ranks
// hold all chunks. Slots and P are those of folded_ranks.h.
//
//   Order      nothing is summed; any dtype.
//   Steps      log2 P exchanges, of the chunks of 1, 2, ..., P/2 slots; where N > P the odd chunk of a pair goes to its
//              even rank before, and the whole buffer back after.
//   Messages   a slot sends and receives log2 P, those of empty chunks included; the odd rank of a pair sends one and
//              receives one, and so does the even one beside its log2 P.
//   Bytes      with equal chunks and N = P each way S (N-1)/N.
//   Time       with equal chunks and N = P: log2 N alpha + t(S/N) + t(2S/N) + ... + t(S/2); all ranks start at once.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages.
Task<> recursive_doubling_all_gather(Communicator& comm, Call call, BufferView buffer);

}  // namespace rehearse
