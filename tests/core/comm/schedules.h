#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/comm/algorithms.h"
#include "tests/core/comm/message_graph.h"

namespace rehearse {

// The messages of each algorithm as its header tells them, put together by recursion over ranges of ranks: another way
// than the algorithms go. `count` elements of `element` bytes; nothing is sent where there are none.
MessageGraph schedule_of(AllReduceAlgorithm algorithm, int ranks, std::int64_t count, std::int64_t element,
                         const AlgorithmOptions& options);
MessageGraph schedule_of(ReduceScatterAlgorithm algorithm, int ranks, std::int64_t count, std::int64_t element);
MessageGraph schedule_of(AllGatherAlgorithm algorithm, int ranks, std::int64_t count, std::int64_t element);
MessageGraph schedule_of(BroadcastAlgorithm algorithm, int ranks, int root, std::int64_t count, std::int64_t element,
                         const AlgorithmOptions& options);
MessageGraph schedule_of(ReduceAlgorithm algorithm, int ranks, int root, std::int64_t count, std::int64_t element,
                         const AlgorithmOptions& options);
// bytes(from, to).
MessageGraph schedule_of(AllToAllAlgorithm algorithm, int ranks, const std::function<std::int64_t(int, int)>& bytes);

// One of the two trees of kDoubleBinaryTree, as the in-order tree that it is: over 1..N-1 the root of a range is the
// number in it with the most zero bits at its end, what is below it left, what is above it right. -1: no child.
struct BinaryTree {
  struct Node {
    int rank = -1;
    int parent = -1;  // these three by v
    int lower = -1;
    int higher = -1;
  };
  std::vector<Node> nodes;  // by v; 0 is the root
};
BinaryTree tree_of(int ranks, int tree);

}  // namespace rehearse
