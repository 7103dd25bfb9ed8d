#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Ring reduce-scatter, in place: afterwards chunk r of `buffer` (chunks.h) holds the sum over ranks on group rank r.
// What the other chunks hold is undefined.
//
//   Order      chunk r starts at rank r+1 and goes around: ((x[r+1] + x[r+2]) + ...) + x[r]; rank r adds its own last.
//   Steps      N-1. In step s = 0..N-2 rank i sends chunk i-1-s to rank i+1, receives chunk i-2-s from rank i-1 and
//              adds its own.
//   Messages   N-1 sent and N-1 received per rank, those of empty chunks included.
//   Bytes      rank i sends S - (chunk i) and receives S - (chunk i-1); with equal chunks both are S (N-1)/N.
//   Time       (N-1) (alpha + t(largest chunk)), where all ranks start at once: a switch carries the N messages of a
//              step side by side. Proof for unequal chunks in tests/core/comm/ring_time_test.cc.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Float or double only.
//
// S: bytes of the whole buffer, equal on all ranks. alpha: latency; t: time on a port (core/base/units.h).
Task<> ring_reduce_scatter(Communicator& comm, Call call, BufferView buffer);

}  // namespace rehearse
