#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Ring all-gather, in place: group rank r gives chunk r of `buffer` (chunks.h); afterwards all ranks hold all chunks.
//
//   Order      nothing is summed; any dtype.
//   Steps      N-1. In step s = 0..N-2 rank i sends chunk i-s to rank i+1 and receives chunk i-1-s from rank i-1. The
//              message that came in is the one that goes out next, without a copy.
//   Messages   N-1 sent and N-1 received per rank, those of empty chunks included.
//   Bytes      rank i sends S - (chunk i+1) and receives S - (chunk i); with equal chunks both are S (N-1)/N.
//   Time       (N-1) (alpha + t(largest chunk)), as in ring_reduce_scatter.h, which also explains the letters.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages.
Task<> ring_all_gather(Communicator& comm, Call call, BufferView buffer);

}  // namespace rehearse
