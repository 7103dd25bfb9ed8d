#include "tests/core/comm/sum_order.h"

#include <algorithm>

#include "core/base/check.h"
#include "tests/core/comm/schedules.h"

namespace rehearse {
namespace {

SumOrder add(const SumOrder& left, const SumOrder& right) {
  SumOrder sum = left;
  sum.insert(sum.end(), right.begin(), right.end());
  sum.push_back(kAdd);
  return sum;
}

SumOrder from_left(const std::vector<SumOrder>& terms) {
  SumOrder sum = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) sum = add(sum, terms[i]);
  return sum;
}

// x[last + 1] + x[last + 2] + ... + x[last], around the ring.
SumOrder ring(const std::vector<SumOrder>& x, int last) {
  std::vector<SumOrder> turned;
  for (std::size_t k = 1; k <= x.size(); ++k) turned.push_back(x[(static_cast<std::size_t>(last) + k) % x.size()]);
  return from_left(turned);
}

std::vector<SumOrder> all(int ranks) {
  std::vector<SumOrder> x;
  for (int rank = 0; rank < ranks; ++rank) x.push_back({rank});
  return x;
}

std::vector<SumOrder> folded(int ranks) {
  int power = 1;
  while (2 * power <= ranks) power *= 2;
  std::vector<SumOrder> y;
  int rank = 0;
  for (int pair = 0; pair < ranks - power; ++pair, rank += 2) y.push_back(add({rank}, {rank + 1}));
  for (; rank < ranks; ++rank) y.push_back({rank});
  return y;
}

SumOrder halving(int ranks) {
  std::vector<SumOrder> y = folded(ranks);
  while (y.size() > 1) {
    const std::size_t half = y.size() / 2;
    for (std::size_t v = 0; v < half; ++v) y[v] = add(y[v], y[v + half]);
    y.resize(half);
  }
  return y[0];
}

SumOrder doubling(int ranks) {
  std::vector<SumOrder> y = folded(ranks);
  while (y.size() > 1) {
    for (std::size_t v = 0; v < y.size() / 2; ++v) y[v] = add(y[2 * v], y[2 * v + 1]);
    y.resize(y.size() / 2);
  }
  return y[0];
}

SumOrder binomial(int first, int last) {
  SumOrder sum = {first};
  for (int bit = 1; first + bit < last; bit *= 2)
    sum = add(sum, binomial(first + bit, std::min(first + 2 * bit, last)));
  return sum;
}

SumOrder in_tree(const BinaryTree& tree, int v) {
  const BinaryTree::Node& node = tree.nodes[static_cast<std::size_t>(v)];
  SumOrder sum = {node.rank};
  if (node.lower >= 0) sum = add(in_tree(tree, node.lower), sum);
  if (node.higher >= 0) sum = add(sum, in_tree(tree, node.higher));
  return sum;
}

SumOrder hierarchical(std::int64_t element, int ranks, std::int64_t count, int per_host) {
  const int place = owner_of(element, count, per_host);
  std::int64_t first = element;
  while (first > 0 && owner_of(first - 1, count, per_host) == place) --first;
  const int hosts = ranks / per_host;
  std::vector<SumOrder> of_host;
  for (int host = 0; host < hosts; ++host) {
    std::vector<SumOrder> x;
    for (int l = 0; l < per_host; ++l) x.push_back({host * per_host + l});
    of_host.push_back(ring(x, place));
  }
  return ring(of_host, owner_of(element - first, elements_of(place, count, per_host), hosts));
}

}  // namespace

std::string text_of(const SumOrder& order) {
  std::vector<std::string> stack;
  for (const int what : order) {
    if (what == kAdd) {
      const std::string right = stack.back();
      stack.pop_back();
      stack.back() = "(" + stack.back() + " + " + right + ")";
    } else {
      stack.push_back("x" + std::to_string(what));
    }
  }
  return stack.back();
}

std::vector<SumOrder> orders_of(AllReduceAlgorithm algorithm, int ranks, std::int64_t count,
                                const AlgorithmOptions& options) {
  std::vector<SumOrder> by_chunk;
  const auto size = static_cast<std::size_t>(count);
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return orders_of(ReduceScatterAlgorithm::kRing, ranks, count);
    case AllReduceAlgorithm::kHalvingDoubling:
      return std::vector<SumOrder>(size, halving(ranks));
    case AllReduceAlgorithm::kRecursiveDoubling:
      return std::vector<SumOrder>(size, doubling(ranks));
    case AllReduceAlgorithm::kBinomialTree:
      return std::vector<SumOrder>(size, binomial(0, ranks));
    case AllReduceAlgorithm::kDoubleBinaryTree: {
      std::vector<SumOrder> orders((size + 1) / 2, in_tree(tree_of(ranks, 0), 0));
      orders.resize(size, in_tree(tree_of(ranks, 1), 0));
      return orders;
    }
    case AllReduceAlgorithm::kHierarchical: {
      std::vector<SumOrder> orders;
      for (std::int64_t i = 0; i < count; ++i) orders.push_back(hierarchical(i, ranks, count, options.ranks_per_host));
      return orders;
    }
  }
  check_failed(__FILE__, __LINE__, "unknown algorithm");
}

std::vector<SumOrder> orders_of(ReduceScatterAlgorithm algorithm, int ranks, std::int64_t count) {
  if (algorithm == ReduceScatterAlgorithm::kRecursiveHalving) {
    return std::vector<SumOrder>(static_cast<std::size_t>(count), halving(ranks));
  }
  std::vector<SumOrder> of_chunk;
  for (int r = 0; r < ranks; ++r) {
    if (algorithm == ReduceScatterAlgorithm::kRing) {
      of_chunk.push_back(ring(all(ranks), r));
    } else {
      std::vector<SumOrder> backwards;
      for (int k = 0; k < ranks; ++k) backwards.push_back({(r - k + ranks) % ranks});
      of_chunk.push_back(from_left(backwards));
    }
  }
  std::vector<SumOrder> orders;
  for (std::int64_t i = 0; i < count; ++i) {
    orders.push_back(of_chunk[static_cast<std::size_t>(owner_of(i, count, ranks))]);
  }
  return orders;
}

SumOrder order_of(ReduceAlgorithm algorithm, int ranks, int root) {
  SumOrder order;
  if (algorithm == ReduceAlgorithm::kBinomial) {
    order = binomial(0, ranks);
  } else {
    order = {ranks - 1};
    for (int v = ranks - 2; v >= 0; --v) order = add({v}, order);
  }
  for (int& what : order) {
    if (what != kAdd) what = (what + root) % ranks;
  }
  return order;
}

}  // namespace rehearse
