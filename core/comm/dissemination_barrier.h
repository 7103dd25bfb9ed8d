#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// Dissemination barrier (Hensgen, Finkel and Manber, 1988): no rank leaves before all have entered. In round k a rank
// knows of the 2^k ranks up to itself, and tells the rank 2^k further on.
//
//   Order      nothing is summed; no data.
//   Steps      K = ceil(log2 N) rounds; in round k rank r sends to r + 2^k and receives from r - 2^k, mod N.
//   Messages   K sent and received per rank, of zero bytes.
//   Time       K alpha, where all start at once; otherwise nobody leaves before the last has entered, and all have left
//              K alpha after that.
//   Nothing    is sent, and no time passes, with one rank.
//   Errors     CommError of its messages.
Task<> dissemination_barrier(Communicator& comm, Call call);

}  // namespace rehearse
