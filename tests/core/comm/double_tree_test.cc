#include "core/comm/double_tree.h"

#include <gtest/gtest.h>

#include "tests/core/comm/schedules.h"

namespace rehearse {
namespace {

bool is_leaf(const TreePlace& place) { return !place.lower && !place.higher; }

TEST(DoubleTree, EachTreeIsTheInOrderTree) {
  for (int size = 1; size <= 70; ++size) {
    for (const int tree : {0, 1}) {
      const BinaryTree expected = tree_of(size, tree);
      const auto rank_of = [&](int v) { return expected.nodes[static_cast<std::size_t>(v)].rank; };
      for (const BinaryTree::Node& node : expected.nodes) {
        const TreePlace place = double_tree_place(node.rank, size, tree);
        EXPECT_EQ(place.parent.value_or(-1), node.parent < 0 ? -1 : rank_of(node.parent))
            << size << " ranks, " << node.rank;
        EXPECT_EQ(place.lower.value_or(-1), node.lower < 0 ? -1 : rank_of(node.lower))
            << size << " ranks, " << node.rank;
        EXPECT_EQ(place.higher.value_or(-1), node.higher < 0 ? -1 : rank_of(node.higher))
            << size << " ranks, " << node.rank;
      }
    }
  }
}

// What gives the two trees twice the bandwidth of one.
TEST(DoubleTree, NoRankHasTwoChildrenInBoth) {
  for (int size = 2; size <= 200; ++size) {
    int busy_in_both = 0;
    for (int rank = 0; rank < size; ++rank) {
      const TreePlace first = double_tree_place(rank, size, 0);
      const TreePlace second = double_tree_place(rank, size, 1);
      EXPECT_FALSE(first.lower && first.higher && second.lower && second.higher) << size << " ranks, rank " << rank;
      busy_in_both += !is_leaf(first) && !is_leaf(second) ? 1 : 0;
    }
    EXPECT_LE(busy_in_both, size % 2) << size << " ranks";
  }
}

TEST(DoubleTree, IsAsDeepAsCeilLog2N) {
  for (int size = 1; size <= 200; ++size) {
    for (const int tree : {0, 1}) {
      for (int rank = 0; rank < size; ++rank) {
        int depth = 0;
        TreePlace place = double_tree_place(rank, size, tree);
        for (; place.parent; ++depth) place = double_tree_place(*place.parent, size, tree);
        EXPECT_LE(1 << depth, 2 * size - 1) << size << " ranks, rank " << rank;
      }
    }
  }
}

}  // namespace
}  // namespace rehearse
