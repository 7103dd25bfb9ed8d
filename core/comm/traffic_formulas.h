#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/comm/algorithms.h"

namespace rehearse {

// What all ranks of a group send together in one call, by formula: exact, for any number of ranks and elements. With N
// ranks, S bytes a buffer, P the largest power of two up to N and p = N - P pairs (folded_ranks.h). Each algorithm's
// header says where the messages come from. Messages without bytes count. Nothing is sent by one rank, or where there
// are no elements.
struct CollectiveTraffic {
  std::int64_t messages = 0;
  Bytes bytes;
  bool operator==(const CollectiveTraffic&) const = default;
};

// `elements` of a type, the whole buffer of a rank. Throws InputError where a count leaves 63 bits.
//   kRing               2 N (N-1) messages, 2 (N-1) S bytes
//   kHalvingDoubling    2 P log2 P + 2 p messages, 2 (P-1+p) S bytes
//   kRecursiveDoubling  P log2 P + 2 p messages, each of S bytes
//   kBinomialTree       2 (N-1) messages of S bytes
//   kDoubleBinaryTree   2 (N-1) messages for each segment of each half, 2 (N-1) S bytes
//   kHierarchical       with h hosts of g: 2 h g (g-1) + 2 g h (h-1) messages, 2 h (g-1) S + 2 (h-1) S bytes; across
//                       hosts fewer where there are fewer than g elements
CollectiveTraffic all_reduce_traffic(AllReduceAlgorithm algorithm, int ranks, std::int64_t elements, DType dtype,
                                     const AlgorithmOptions& options = AlgorithmOptions());
//   kRing, kDirect      N (N-1) messages, (N-1) S bytes
//   kRecursiveHalving   P log2 P + 2 p messages, (P-1+p) S bytes and the chunks of the odd ranks of pairs
CollectiveTraffic reduce_scatter_traffic(ReduceScatterAlgorithm algorithm, int ranks, std::int64_t elements,
                                         DType dtype);
// The same with kRecursiveDoubling in place of kRecursiveHalving.
CollectiveTraffic all_gather_traffic(AllGatherAlgorithm algorithm, int ranks, std::int64_t elements, DType dtype);
//   kBinomial           N-1 messages of S bytes
//   kChain              N-1 messages for each segment, (N-1) S bytes
CollectiveTraffic broadcast_traffic(BroadcastAlgorithm algorithm, int ranks, std::int64_t elements, DType dtype,
                                    const AlgorithmOptions& options = AlgorithmOptions());

}  // namespace rehearse
