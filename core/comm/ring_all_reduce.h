#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Ring all-reduce, in place: afterwards `buffer` holds the sum over ranks on every rank, bit-equal. It *is* the ring
// reduce-scatter followed by the ring all-gather, under one call, so a program that takes the two apart (ZeRO) computes
// the same bits as one that does not (DDP).
//
//   Order      chunk r: ((x[r+1] + x[r+2]) + ...) + x[r], see ring_reduce_scatter.h.
//   Steps      2(N-1), the two halves' steps in a row; no rank waits for the others in between.
//   Messages   2(N-1) sent and received per rank, all counted as all_reduce.
//   Bytes      rank i sends 2S - (chunk i) - (chunk i+1) and receives 2S - (chunk i-1) - (chunk i); with equal chunks
//              both are 2S (N-1)/N.
//   Time       2(N-1) (alpha + t(largest chunk)); with equal chunks 2(N-1) (alpha + t(S/N)).
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Float or double only.
Task<> ring_all_reduce(Communicator& comm, Call call, BufferView buffer);

}  // namespace rehearse
