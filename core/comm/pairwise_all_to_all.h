#pragma once

#include <vector>

#include "core/runtime/communicator.h"

namespace rehearse {

// Pairwise all-to-all: what goes where is as in direct_exchange.h, one exchange after the other.
//
//   Order      nothing is summed; any dtype.
//   Steps      N-1; in step s = 1..N-1 a rank sends to r+s and receives from r-s (mod N), and waits for both, so that
//              little is held at a time and no rank has to take two messages at once.
//   Messages   N-1 sent and N-1 received per rank, without those of empty parts.
//   Bytes      all of `out` and of `into` but for the rank's own.
//   Time       (N-1) (alpha + t(m)) with parts of m bytes, where all ranks start at once.
//   Nothing    is sent, and no time passes, with one rank or no elements anywhere.
//   Errors     CommError of its messages.
Task<> pairwise_all_to_all(Communicator& comm, Call call, std::vector<BufferView> out, std::vector<BufferView> into);

}  // namespace rehearse
