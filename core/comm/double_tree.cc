#include "core/comm/double_tree.h"

#include "core/base/check.h"

namespace rehearse {
namespace {

int to_v(int rank, int size, int tree) {
  if (tree == 0) return rank;
  return size % 2 == 0 ? size - 1 - rank : (rank + size - 1) % size;
}

int to_rank(int v, int size, int tree) {
  if (tree == 0) return v;
  return size % 2 == 0 ? size - 1 - v : (v + 1) % size;
}

// v + bit, or else v plus the next smaller power of two that is below N; none for bit 0, or where v is the last.
std::optional<int> above(int v, int bit, int size) {
  for (; bit > 0; bit /= 2) {
    if (v + bit < size) return v + bit;
  }
  return std::nullopt;
}

// Nodes of one level hang, by turns, below and above a node of the next level, v + bit and v - bit. Where there is no
// v + bit, v took the place of it as the upper child of v - bit.
int parent_of(int v, int bit, int size) {
  const bool is_lower = (v & (2 * bit)) == 0;
  return is_lower && v + bit < size ? v + bit : v - bit;
}

}  // namespace

TreePlace double_tree_place(int rank, int size, int tree) {
  CHECK_GE(rank, 0);
  CHECK_LT(rank, size);
  CHECK(tree == 0 || tree == 1);
  const int v = to_v(rank, size, tree);
  TreePlace place;
  std::optional<int> parent;
  std::optional<int> lower;
  std::optional<int> higher;
  if (v == 0) {
    int top = 1;
    while (2 * top < size) top *= 2;
    if (top < size) higher = top;
  } else {
    const int bit = v & -v;
    parent = parent_of(v, bit, size);
    if (bit > 1) lower = v - bit / 2;
    higher = above(v, bit / 2, size);
  }
  if (parent) place.parent = to_rank(*parent, size, tree);
  if (lower) place.lower = to_rank(*lower, size, tree);
  if (higher) place.higher = to_rank(*higher, size, tree);
  return place;
}

}  // namespace rehearse
