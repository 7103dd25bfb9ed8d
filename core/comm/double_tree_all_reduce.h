#pragma once

#include "core/runtime/rank_context.h"

namespace rehearse {

// Double-binary-tree all-reduce, in place (Sanders, Speck and Traeff, 2009; NCCL since 2.4): afterwards `buffer` holds
// the sum over ranks on every rank, bit-equal. The first half of the elements (the larger, of an odd number) is reduced
// up tree 0 of double_tree.h and sent down again, the second half in tree 1, at the same time: a rank that is a leaf in
// one is inside in the other, so that all ports work. Each half goes in P segments of at most `segment` bytes
// (segments.h), so that the levels of a tree work at the same time too.
//
//   Order      in both halves T(v) = (T(lower child) + x[v]) + T(higher child), T(0) being the sum, by the v of the
//              half's tree; what a missing child would add is left out. For N = 4: x0 + ((x1 + x2) + x3) in the first
//              half and x3 + ((x2 + x1) + x0) in the second.
//   Steps      per tree P up and P down on each edge; the edges of both trees run by themselves, each message as soon
//              as it is there and a port is free.
//   Messages   in each tree P to the parent and P to each child: 4(N-1)P in all, or 2(N-1) with one element.
//   Bytes      a leaf of one tree with two children in the other sends and receives 2S.
//   Time       with P = 1, N a power of two and h = S/2: 2 (log2 N alpha + (2 log2 N - 1) t(h)), for alpha >
//              (log2 N - 3) t(h): a parent takes its two children's messages one after the other, the root has one
//              child. With more segments of equal size c about 2 (log2 N alpha + (2 log2 N - 1) t(c) + 2(P-1) t(c)),
//              or up to a tenth more where messages of the two trees meet at ports.
//   Nothing    is sent, and no time passes, with one rank or no elements.
//   Errors     CommError of its messages (side_by_side.h). Float or double only.
//
// Each tree has a call of its own, as the same two ranks may be neighbours in both.
Task<> double_tree_all_reduce(RankContext& context, Call first, Call second, BufferView buffer, Bytes segment);

}  // namespace rehearse
