#pragma once

#include "core/runtime/communicator.h"

namespace rehearse {

// All-reduce for hosts with fast links inside, in place: afterwards `buffer` holds the sum over ranks on every rank,
// bit-equal. Group ranks h g .. h g + g - 1 are host h, g being `ranks_per_host`; there are H = N/g hosts. A ring
// reduce-scatter inside each host; then, on each of the g places in a host, a ring all-reduce of that place's chunk
// across the hosts; then a ring all-gather inside. Only S/g a rank crosses between hosts, each way twice (H-1)/H of it.
//
//   Order      chunk l of g is first summed inside host h, p[h] = ((x[h,l+1] + x[h,l+2]) + ...) + x[h,l], places mod g;
//              then part k of H of it across hosts, ((p[k+1] + p[k+2]) + ...) + p[k], hosts mod H.
//   Steps      2(g-1) inside and 2(H-1) across.
//   Messages   2(g-1) + 2(H-1) sent and received per rank, those of empty chunks included but for a chunk of g that is
//              empty: nothing goes across for it.
//   Bytes      with equal chunks each way 2S (g-1)/g inside and 2S/g (H-1)/H across.
//   Time       with equal chunks 2(g-1) (alpha + t(S/g)) + 2(H-1) (alpha + t(S/N)), each with its own links' alpha and
//              t, where all ranks start at once.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages. Float or double only. Requires g to divide N.
Task<> hierarchical_all_reduce(Communicator& comm, Call call, BufferView buffer, int ranks_per_host);

}  // namespace rehearse
