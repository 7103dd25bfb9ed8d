#pragma once

#include <optional>

namespace rehearse {

// The two binary trees of Sanders, Speck and Traeff ("Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", 2009), in the form that NCCL made known. In each tree half of the ranks are leaves, and hardly any rank has
// children in both.
//
// Both are one tree over v = 0..N-1, in which the lowest set bit 2^b of v gives its level: v = 0 is the root, with one
// child, the largest power of two below N. Any other v has, if b > 0, the child v - 2^(b-1), whose subtree is all
// between, and the child v + 2^(b-1); where that is N or more, v + 2^(b-2) or the next smaller one below N, or none. So
// odd v are leaves. Tree 0 has v = rank. Tree 1 has v = N-1-rank for even N and v = rank-1 mod N for odd N, which makes
// of odd ranks even v.
struct TreePlace {
  std::optional<int> parent;
  std::optional<int> lower;   // child with smaller v, and
  std::optional<int> higher;  // child with larger v
};
// The place of group rank `rank` in tree 0 or 1, in group ranks. Requires 0 <= rank < size.
TreePlace double_tree_place(int rank, int size, int tree);

}  // namespace rehearse
