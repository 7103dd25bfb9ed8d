#pragma once

#include <cstdint>

#include "core/base/units.h"

namespace rehearse {

// The algorithms of each collective, for whoever chooses one. In each line: the order in which the ranks' numbers x are
// summed, by group rank, in words (the algorithm's header has it in full), and the world sizes it can do. Sums have the
// same bits on all ranks with every algorithm, and other bits with another; only those marked as equal are.
//
// An algorithm whose sums are those of a reduce_scatter and an all_gather lets ZeRO stages have equal bits (design
// section 7): kRing with kRing, kHalvingDoubling with kRecursiveHalving.

enum class AllReduceAlgorithm : std::uint8_t {
  kRing,               // chunk r: x[r+1] + x[r+2] + ... + x[r], from left to right; any N. ring_all_reduce.h
  kHalvingDoubling,    // upper half onto lower half, again and again; neighbours first where N is no power of two; any
                       // N. halving_doubling_all_reduce.h
  kRecursiveDoubling,  // neighbours, then neighbours of those; any N. recursive_doubling_all_reduce.h
  kBinomialTree,      // neighbours, then neighbours of those, the same as kRecursiveDoubling where N is a power of two;
                      // any N. binomial_all_reduce.h
  kDoubleBinaryTree,  // in each of two trees: left subtree, own, right subtree; any N. double_tree_all_reduce.h
  kHierarchical,      // as kRing inside hosts, then as kRing across them; N a multiple of ranks_per_host.
                      // hierarchical_all_reduce.h
};
inline constexpr int kAllReduceAlgorithms = 6;

enum class ReduceScatterAlgorithm : std::uint8_t {
  kRing,              // chunk r: x[r+1] + x[r+2] + ... + x[r], from left to right; any N. ring_reduce_scatter.h
  kRecursiveHalving,  // that of kHalvingDoubling; any N. recursive_halving_reduce_scatter.h
  kDirect,            // chunk r: x[r] + x[r-1] + ... + x[r+1], from left to right; any N. direct_exchange.h
};
inline constexpr int kReduceScatterAlgorithms = 3;

enum class AllGatherAlgorithm : std::uint8_t {  // nothing is summed; any N
  kRing,                                        // ring_all_gather.h
  kRecursiveDoubling,                           // recursive_doubling_all_gather.h
  kDirect,                                      // direct_exchange.h
};
inline constexpr int kAllGatherAlgorithms = 3;

enum class BroadcastAlgorithm : std::uint8_t {  // nothing is summed; any N
  kBinomial,                                    // binomial_broadcast.h
  kChain,                                       // chain_broadcast.h
};
inline constexpr int kBroadcastAlgorithms = 2;

enum class ReduceAlgorithm : std::uint8_t {
  kBinomial,  // by v = rank - root: neighbours, then neighbours of those; any N. binomial_reduce.h
  kChain,     // by v = rank - root: x[0] + (x[1] + (... + x[N-1])); any N. chain_reduce.h
};
inline constexpr int kReduceAlgorithms = 2;

enum class AllToAllAlgorithm : std::uint8_t {  // nothing is summed; any N
  kPairwise,                                   // pairwise_all_to_all.h
  kDirect,                                     // direct_exchange.h
};
inline constexpr int kAllToAllAlgorithms = 2;

// gather and scatter are direct (direct_gather.h, direct_scatter.h), the barrier is a dissemination.

// What some algorithms are told beside their data; the same on all ranks of a group.
struct AlgorithmOptions {
  AlgorithmOptions() = default;
  AlgorithmOptions(Bytes largest_segment, int host_ranks) : segment(largest_segment), ranks_per_host(host_ranks) {}

  // Chains and kDoubleBinaryTree: the largest segment of their pipeline; 0 for no pipeline. It changes times and
  // messages, never bits.
  Bytes segment = Bytes(128 * 1024);
  // kHierarchical: group ranks 0..ranks_per_host-1 are a host, the next ones another, and so on.
  int ranks_per_host = 1;
};

// Whether the algorithm can do a group of `size` ranks. All others can do any.
bool can_do(AllReduceAlgorithm algorithm, int size, const AlgorithmOptions& options);

// "ring", "halving_doubling", ...
const char* name_of(AllReduceAlgorithm algorithm);
const char* name_of(ReduceScatterAlgorithm algorithm);
const char* name_of(AllGatherAlgorithm algorithm);
const char* name_of(BroadcastAlgorithm algorithm);
const char* name_of(ReduceAlgorithm algorithm);
const char* name_of(AllToAllAlgorithm algorithm);

}  // namespace rehearse
