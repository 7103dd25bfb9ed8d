#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Pipelined chain broadcast, in place: `buffer` of group rank `root` is copied to all others; any dtype. The ranks
// stand in a chain, v = (rank - root) mod N, and the buffer goes along it in P segments of at most `segment` bytes
// (segments.h): v passes segment k on while it receives segment k+1.
//
//   Order      nothing is summed.
//   Steps      P + N - 2, of one segment; the message that came in is the one that goes out, without a copy.
//   Messages   P received per rank but the root, P sent per rank but the last.
//   Bytes      S each way.
//   Time       (N-1) (alpha + t(c)) + (P-1) t(c), with P segments of equal size c, where all ranks start at once.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Requires 0 <= root < N.
Task<> chain_broadcast(Communicator& comm, Call call, BufferView buffer, int root, Bytes segment);

}  // namespace rehearse
