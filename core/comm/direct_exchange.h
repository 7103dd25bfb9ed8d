#pragma once

#include <vector>

#include "core/runtime/rank_context.h"

namespace rehearse {

// Everyone to everyone straight, all at once: `out[q]` of a rank is copied to `into[r]` of group rank q, r being the
// sender's group rank; any dtype. What a rank has for itself it copies. out[q] and the into[r] it comes to have the
// same count and dtype; nothing is sent for an empty one. `out` and `into` have one view per group rank and share no
// memory.
//
//   Order      nothing is summed.
//   Steps      a rank sends to r+1, r+2, ..., r-1 (mod N), one message after the other, and meanwhile takes what comes
//              from r-1, r-2, ..., r+1. So no two send to the same rank at the same time, where parts are equal.
//   Messages   N-1 sent and N-1 received per rank, without those of empty parts.
//   Bytes      all of `out` and of `into` but for the rank's own.
//   Time       alpha + (N-1) t(m) with parts of m bytes, where all ranks start at once: all latencies but one are
//              hidden. A receiver holds what has come and was not taken yet.
//   Nothing    is sent, and no time passes, with one rank or no elements anywhere.
//   Errors     CommError of its messages (side_by_side.h).
Task<> direct_all_to_all(RankContext& context, Call call, std::vector<BufferView> out, std::vector<BufferView> into);

// The same in place and with sums: afterwards chunk r of `buffer` (chunks.h) holds the sum over ranks on group rank r;
// the other chunks are as they were.
//
//   Order      ((x[r] + x[r-1]) + x[r-2]) + ... + x[r+1], as chunks come.
//   Messages   N-1 sent and N-1 received per rank, those of empty chunks included.
//   Bytes      with equal chunks each way S (N-1)/N.
//   Time       alpha + (N-1) t(S/N) with equal chunks.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages (side_by_side.h). Float or double only.
Task<> direct_reduce_scatter(RankContext& context, Call call, BufferView buffer);

// The same in place without sums: group rank r gives chunk r of `buffer` (chunks.h) to all; any dtype. The message of a
// rank is made once. Messages, bytes and time are those of direct_reduce_scatter.
Task<> direct_all_gather(RankContext& context, Call call, BufferView buffer);

}  // namespace rehearse
