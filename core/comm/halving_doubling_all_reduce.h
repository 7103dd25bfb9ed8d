#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Recursive halving-doubling all-reduce, in place (Rabenseifner, 2004): afterwards `buffer` holds the sum over ranks on
// every rank, bit-equal. A reduce-scatter by recursive halving and an all-gather by recursive doubling over the P slots
// of folded_ranks.h, P being the largest power of two up to N; the N-P other ranks are folded in before and told after.
//
//   Order      the same for all elements. A pair makes y[v] = x[2v] + x[2v+1], a slot of one rank y[v] = its x; then
//              round by round the upper half of the y is added to the lower, y[v] = y[v] + y[v + d] for v < d, with
//              d = P/2, P/4, ..., 1. For N = 4: (x0 + x2) + (x1 + x3). Thus the bits are those of
//              recursive_halving_reduce_scatter.h and an all_gather after it, whatever N.
//   Steps      2 log2 P exchanges, of S/2, S/4, ..., S/P and back; and two of the whole buffer where N > P.
//   Messages   a slot sends and receives 2 log2 P, those of empty pieces included, and its pair's two; a folded rank
//              sends one and receives one.
//   Bytes      of a slot without a pair, each way: 2S (P-1)/P with equal pieces. A pair's sends S more each way.
//   Time       with equal pieces and N = P: 2 log2 P alpha + 2 (t(S/2) + ... + t(S/P)); where N > P 2 (alpha + t(S))
//              more, within 1 %. All ranks start at once.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Float or double only.
Task<> halving_doubling_all_reduce(Communicator& comm, Call call, BufferView buffer);

}  // namespace rehearse
