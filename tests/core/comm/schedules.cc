#include "tests/core/comm/schedules.h"

#include <algorithm>
#include <numeric>

#include "tests/core/comm/oracle.h"

namespace rehearse {
namespace {

using Sizes = std::vector<std::int64_t>;  // bytes

std::int64_t sum(const Sizes& sizes, int first, int last) {
  return std::accumulate(sizes.begin() + first, sizes.begin() + last, std::int64_t{0});
}

Sizes chunks(std::int64_t count, int size, std::int64_t element) {
  Sizes sizes(static_cast<std::size_t>(size), count / size * element);
  for (std::int64_t r = 0; r < count % size; ++r) sizes[static_cast<std::size_t>(r)] += element;
  return sizes;
}

Sizes segments(std::int64_t count, std::int64_t element, Bytes largest) {
  int segments = 1;
  while (largest.count() > 0 && segments < count && (count + segments - 1) / segments * element > largest.count()) {
    ++segments;
  }
  return chunks(count, segments, element);
}

std::vector<int> iota(int size) {
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Steps of a ring in which member i first sends chunk i - first.
void ring(MessageGraph& graph, const std::vector<int>& members, const Sizes& sizes, int first, int steps) {
  const int size = static_cast<int>(members.size());
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < size; ++i) {
      const int chunk = ((i - first - step) % size + size) % size;
      graph.exchange(members[static_cast<std::size_t>(i)], members[static_cast<std::size_t>((i + 1) % size)],
                     sizes[static_cast<std::size_t>(chunk)], members[static_cast<std::size_t>((i + size - 1) % size)]);
    }
  }
}

// Slots first..last-1 all have these pieces, and halve them.
void halve(MessageGraph& graph, const std::vector<int>& slots, const Sizes& sizes, int first, int last) {
  if (last - first == 1) return;
  const int middle = (first + last) / 2;
  for (int i = 0; i < middle - first; ++i) {
    const int lower = slots[static_cast<std::size_t>(first + i)];
    const int upper = slots[static_cast<std::size_t>(middle + i)];
    graph.exchange(lower, upper, sum(sizes, middle, last), upper);
    graph.exchange(upper, lower, sum(sizes, first, middle), lower);
  }
  halve(graph, slots, sizes, first, middle);
  halve(graph, slots, sizes, middle, last);
}

void collect(MessageGraph& graph, const std::vector<int>& slots, const Sizes& sizes, int first, int last) {
  if (last - first == 1) return;
  const int middle = (first + last) / 2;
  collect(graph, slots, sizes, first, middle);
  collect(graph, slots, sizes, middle, last);
  for (int i = 0; i < middle - first; ++i) {
    const int lower = slots[static_cast<std::size_t>(first + i)];
    const int upper = slots[static_cast<std::size_t>(middle + i)];
    graph.exchange(lower, upper, sum(sizes, first, middle), upper);
    graph.exchange(upper, lower, sum(sizes, middle, last), lower);
  }
}

void exchange_all(MessageGraph& graph, const std::vector<int>& slots, std::int64_t bytes, int first, int last) {
  if (last - first == 1) return;
  const int middle = (first + last) / 2;
  exchange_all(graph, slots, bytes, first, middle);
  exchange_all(graph, slots, bytes, middle, last);
  for (int i = 0; i < middle - first; ++i) {
    const int lower = slots[static_cast<std::size_t>(first + i)];
    const int upper = slots[static_cast<std::size_t>(middle + i)];
    graph.exchange(lower, upper, bytes, upper);
    graph.exchange(upper, lower, bytes, lower);
  }
}

int pairs_of(int ranks) {
  int power = 1;
  while (2 * power <= ranks) power *= 2;
  return ranks - power;
}

std::vector<int> slots_of(int ranks) {
  std::vector<int> slots;
  for (int rank = 0; rank < ranks; rank += rank < 2 * pairs_of(ranks) ? 2 : 1) slots.push_back(rank);
  return slots;
}

// Messages between the ranks of each pair, of the sizes of the odd ranks or of one size, towards the even or the odd.
void in_pairs(MessageGraph& graph, int ranks, const std::function<std::int64_t(int)>& bytes, bool to_even) {
  for (int even = 0; even < 2 * pairs_of(ranks); even += 2) {
    const int odd = even + 1;
    const int from = to_even ? odd : even;
    const int to = to_even ? even : odd;
    graph.send(from, to, bytes(odd));
    graph.take(to, from);
  }
}

void binomial_up(MessageGraph& graph, int first, int last, std::int64_t bytes, const std::function<int(int)>& rank) {
  if (last - first == 1) return;
  int half = 1;
  while (2 * half < last - first) half *= 2;
  binomial_up(graph, first, first + half, bytes, rank);
  binomial_up(graph, first + half, last, bytes, rank);
  graph.send(rank(first + half), rank(first), bytes);
  graph.take(rank(first), rank(first + half));
}

void binomial_down(MessageGraph& graph, int first, int last, std::int64_t bytes, const std::function<int(int)>& rank) {
  if (last - first == 1) return;
  int half = 1;
  while (2 * half < last - first) half *= 2;
  graph.send(rank(first), rank(first + half), bytes);
  graph.take(rank(first + half), rank(first));
  binomial_down(graph, first, first + half, bytes, rank);
  binomial_down(graph, first + half, last, bytes, rank);
}

// `members` in the order of the chain.
void chain(MessageGraph& graph, const std::vector<int>& members, const Sizes& sizes) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t k = 0; k <= sizes.size(); ++k) {
      // Segment k comes while segment k-1 goes.
      const bool takes = i > 0 && k < sizes.size();
      const bool sends = i + 1 < members.size() && k > 0;
      if (takes && sends) {
        graph.exchange(members[i], members[i + 1], sizes[k - 1], members[i - 1]);
      } else if (takes) {
        graph.take(members[i], members[i - 1]);
      } else if (sends) {
        graph.send(members[i], members[i + 1], sizes[k - 1]);
      }
    }
  }
}

// Everyone sends in lane 1 and takes in lane 0.
void direct(MessageGraph& graph, int ranks, const std::function<std::int64_t(int, int)>& bytes, bool also_empty) {
  for (int rank = 0; rank < ranks; ++rank) {
    for (int k = 1; k < ranks; ++k) {
      const int to = (rank + k) % ranks;
      const int from = (rank + ranks - k) % ranks;
      if (also_empty || bytes(rank, to) > 0) graph.send(rank, to, bytes(rank, to), 0, 1);
      if (also_empty || bytes(from, rank) > 0) graph.take(rank, from);
    }
  }
}

int range_root(int first, int last) {
  int best = first;
  for (int v = first; v < last; ++v) {
    if ((v & -v) > (best & -best)) best = v;
  }
  return best;
}

int hang_range(BinaryTree& tree, int first, int last, int parent) {
  if (first >= last) return -1;
  const int v = range_root(first, last);
  BinaryTree::Node& node = tree.nodes[static_cast<std::size_t>(v)];
  node.parent = parent;
  node.lower = hang_range(tree, first, v, v);
  node.higher = hang_range(tree, v + 1, last, v);
  return v;
}

void one_tree(MessageGraph& graph, const BinaryTree& tree, const Sizes& sizes, int lane) {
  const auto rank = [&tree](int v) { return tree.nodes[static_cast<std::size_t>(v)].rank; };
  for (const BinaryTree::Node& node : tree.nodes) {
    for (const std::int64_t bytes : sizes) {
      if (node.lower >= 0) graph.take(node.rank, rank(node.lower), lane, lane);
      if (node.higher >= 0) graph.take(node.rank, rank(node.higher), lane, lane);
      if (node.parent >= 0) graph.send(node.rank, rank(node.parent), bytes, lane, lane);
    }
    for (const std::int64_t bytes : sizes) {
      if (node.parent >= 0) graph.take(node.rank, rank(node.parent), lane, lane);
      if (node.lower >= 0) graph.send(node.rank, rank(node.lower), bytes, lane, lane);
      if (node.higher >= 0) graph.send(node.rank, rank(node.higher), bytes, lane, lane);
    }
  }
}

void hierarchical(MessageGraph& graph, int ranks, std::int64_t count, std::int64_t element, int per_host) {
  const int hosts = ranks / per_host;
  const Sizes inside = chunks(count, per_host, element);
  for (const bool gathers : {false, true}) {
    for (int host = 0; host < hosts; ++host) {
      std::vector<int> members = iota(per_host);
      for (int& rank : members) rank += host * per_host;
      ring(graph, members, inside, gathers ? 0 : 1, per_host - 1);
    }
    for (int place = 0; place < per_host && !gathers; ++place) {
      std::vector<int> members = iota(hosts);
      for (int& rank : members) rank = rank * per_host + place;
      const std::int64_t elements = elements_of(place, count, per_host);
      if (elements > 0) ring(graph, members, chunks(elements, hosts, element), 1, 2 * (hosts - 1));
    }
  }
}

}  // namespace

BinaryTree tree_of(int ranks, int tree) {
  BinaryTree all;
  all.nodes.resize(static_cast<std::size_t>(ranks));
  for (int v = 0; v < ranks; ++v) {
    int rank = v;
    if (tree == 1) rank = ranks % 2 == 0 ? ranks - 1 - v : (v + 1) % ranks;
    all.nodes[static_cast<std::size_t>(v)].rank = rank;
  }
  all.nodes[0].higher = hang_range(all, 1, ranks, 0);
  return all;
}

MessageGraph schedule_of(AllReduceAlgorithm algorithm, int ranks, std::int64_t count, std::int64_t element,
                         const AlgorithmOptions& options) {
  MessageGraph graph(ranks);
  if (ranks == 1 || count == 0) return graph;
  const std::int64_t all = count * element;
  const std::vector<int> slots = slots_of(ranks);
  const int power = static_cast<int>(slots.size());
  const auto whole = [all](int) { return all; };
  const auto itself = [](int v) { return v; };
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      ring(graph, iota(ranks), chunks(count, ranks, element), 1, 2 * (ranks - 1));
      break;
    case AllReduceAlgorithm::kHalvingDoubling: {
      in_pairs(graph, ranks, whole, true);
      const Sizes pieces = chunks(count, power, element);
      halve(graph, slots, pieces, 0, power);
      collect(graph, slots, pieces, 0, power);
      in_pairs(graph, ranks, whole, false);
      break;
    }
    case AllReduceAlgorithm::kRecursiveDoubling:
      in_pairs(graph, ranks, whole, true);
      exchange_all(graph, slots, all, 0, power);
      in_pairs(graph, ranks, whole, false);
      break;
    case AllReduceAlgorithm::kBinomialTree:
      binomial_up(graph, 0, ranks, all, itself);
      binomial_down(graph, 0, ranks, all, itself);
      break;
    case AllReduceAlgorithm::kDoubleBinaryTree: {
      const std::int64_t second = count / 2;
      one_tree(graph, tree_of(ranks, 0), segments(count - second, element, options.segment), 0);
      if (second > 0) one_tree(graph, tree_of(ranks, 1), segments(second, element, options.segment), 1);
      break;
    }
    case AllReduceAlgorithm::kHierarchical:
      hierarchical(graph, ranks, count, element, options.ranks_per_host);
      break;
  }
  return graph;
}

MessageGraph schedule_of(ReduceScatterAlgorithm algorithm, int ranks, std::int64_t count, std::int64_t element) {
  MessageGraph graph(ranks);
  if (ranks == 1 || count == 0) return graph;
  const Sizes of_rank = chunks(count, ranks, element);
  if (algorithm == ReduceScatterAlgorithm::kRing) {
    ring(graph, iota(ranks), of_rank, 1, ranks - 1);
  } else if (algorithm == ReduceScatterAlgorithm::kDirect) {
    direct(
        graph, ranks, [&](int, int to) { return of_rank[static_cast<std::size_t>(to)]; }, true);
  } else {
    const std::vector<int> slots = slots_of(ranks);
    Sizes of_slot;
    for (std::size_t v = 0; v < slots.size(); ++v) {
      const int end = v + 1 < slots.size() ? slots[v + 1] : ranks;
      of_slot.push_back(sum(of_rank, slots[v], end));
    }
    in_pairs(
        graph, ranks, [&](int) { return count * element; }, true);
    halve(graph, slots, of_slot, 0, static_cast<int>(slots.size()));
    in_pairs(
        graph, ranks, [&](int odd) { return of_rank[static_cast<std::size_t>(odd)]; }, false);
  }
  return graph;
}

MessageGraph schedule_of(AllGatherAlgorithm algorithm, int ranks, std::int64_t count, std::int64_t element) {
  MessageGraph graph(ranks);
  if (ranks == 1 || count == 0) return graph;
  const Sizes of_rank = chunks(count, ranks, element);
  if (algorithm == AllGatherAlgorithm::kRing) {
    ring(graph, iota(ranks), of_rank, 0, ranks - 1);
  } else if (algorithm == AllGatherAlgorithm::kDirect) {
    direct(
        graph, ranks, [&](int from, int) { return of_rank[static_cast<std::size_t>(from)]; }, true);
  } else {
    const std::vector<int> slots = slots_of(ranks);
    Sizes of_slot;
    for (std::size_t v = 0; v < slots.size(); ++v) {
      const int end = v + 1 < slots.size() ? slots[v + 1] : ranks;
      of_slot.push_back(sum(of_rank, slots[v], end));
    }
    in_pairs(
        graph, ranks, [&](int odd) { return of_rank[static_cast<std::size_t>(odd)]; }, true);
    collect(graph, slots, of_slot, 0, static_cast<int>(slots.size()));
    in_pairs(
        graph, ranks, [&](int) { return count * element; }, false);
  }
  return graph;
}

MessageGraph schedule_of(BroadcastAlgorithm algorithm, int ranks, int root, std::int64_t count, std::int64_t element,
                         const AlgorithmOptions& options) {
  MessageGraph graph(ranks);
  if (ranks == 1 || count == 0) return graph;
  if (algorithm == BroadcastAlgorithm::kBinomial) {
    binomial_down(graph, 0, ranks, count * element, [&](int v) { return (v + root) % ranks; });
  } else {
    std::vector<int> members = iota(ranks);
    std::rotate(members.begin(), members.begin() + root, members.end());
    chain(graph, members, segments(count, element, options.segment));
  }
  return graph;
}

MessageGraph schedule_of(ReduceAlgorithm algorithm, int ranks, int root, std::int64_t count, std::int64_t element,
                         const AlgorithmOptions& options) {
  MessageGraph graph(ranks);
  if (ranks == 1 || count == 0) return graph;
  if (algorithm == ReduceAlgorithm::kBinomial) {
    binomial_up(graph, 0, ranks, count * element, [&](int v) { return (v + root) % ranks; });
  } else {
    std::vector<int> members = iota(ranks);
    std::rotate(members.begin(), members.begin() + root, members.end());
    std::reverse(members.begin(), members.end());
    chain(graph, members, segments(count, element, options.segment));
  }
  return graph;
}

MessageGraph schedule_of(AllToAllAlgorithm algorithm, int ranks, const std::function<std::int64_t(int, int)>& bytes) {
  MessageGraph graph(ranks);
  if (algorithm == AllToAllAlgorithm::kDirect) {
    direct(graph, ranks, bytes, false);
    return graph;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    for (int k = 1; k < ranks; ++k) {
      const int to = (rank + k) % ranks;
      const int from = (rank + ranks - k) % ranks;
      const bool sends = bytes(rank, to) > 0;
      const bool takes = bytes(from, rank) > 0;
      if (sends && takes) {
        graph.exchange(rank, to, bytes(rank, to), from);
      } else if (sends) {
        graph.send(rank, to, bytes(rank, to));
      } else if (takes) {
        graph.take(rank, from);
      }
    }
  }
  return graph;
}

}  // namespace rehearse
