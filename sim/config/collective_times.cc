#include "sim/config/collective_times.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/comm/double_tree.h"
#include "core/comm/even_parts.h"
#include "core/comm/folded_ranks.h"

namespace rehearse {
namespace {

enum Kind { kRing, kAllPairs, kSlots, kTreeLevel, kBothTrees, kInsideHosts, kAcrossHosts };

}  // namespace

CollectiveTimes::CollectiveTimes(const NetworkConfig& network, int ranks, std::uint64_t seed)
    : ranks_(ranks), costs_(network, ranks, RandomStream(seed).fork("network")) {
  CHECK_GE(ranks, 1);
}

template <class Make>
const RoundCost& CollectiveTimes::counted(int kind, int number, Make make) {
  const auto [entry, is_new] = known_.try_emplace({kind, number});
  if (is_new) {
    Messages messages;
    make(messages);
    entry->second = costs_.of(messages);
  }
  return entry->second;
}

template <class Make>
const CollectiveTimes::Rings& CollectiveTimes::counted_rings(int kind, int number, int length, Make make) {
  const auto [entry, is_new] = known_rings_.try_emplace({kind, number});
  if (is_new) {
    Messages messages;
    if (length > 1) make(messages);
    entry->second.steps = costs_.of_each(messages);
    entry->second.length = static_cast<std::size_t>(length);
  }
  return entry->second;
}

Duration CollectiveTimes::Rings::time(std::int64_t count, Bytes part) const {
  Duration longest;
  if (count == 0) return longest;
  std::vector<Duration> sums;  // of the steps of a ring before each
  for (std::size_t begin = 0; begin < steps.size(); begin += length) {
    sums.assign(1, Duration());
    for (std::size_t i = 0; i < length; ++i) {
      const RoundCost& step = steps[begin + i];
      sums.push_back(sums.back() + step.time(part));
      longest = std::max(longest, step.latency + count * step.busy(part));
    }
    // Whole rounds, and the slowest rest.
    const auto rest = static_cast<std::size_t>(count) % length;
    const Duration whole = (count / static_cast<std::int64_t>(length)) * sums.back();
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t end = i + rest;
      const Duration around = end <= length ? sums[end] - sums[i] : sums.back() - sums[i] + sums[end - length];
      longest = std::max(longest, whole + around);
    }
  }
  return longest;
}

const CollectiveTimes::Rings& CollectiveTimes::ring() {
  return counted_rings(kRing, 0, ranks_, [&](Messages& messages) {
    for (int r = 0; r < ranks_; ++r) messages.emplace_back(r, (r + 1) % ranks_);
  });
}

const RoundCost& CollectiveTimes::all_pairs() {
  CHECK_LE(ranks_, kMostRanksForDirect);
  return counted(kAllPairs, 0, [&](Messages& messages) {
    for (int a = 0; a < ranks_; ++a) {
      for (int b = 0; b < ranks_; ++b) {
        if (a != b) messages.emplace_back(a, b);
      }
    }
  });
}

const RoundCost& CollectiveTimes::slots_at(int distance) {
  return counted(kSlots, distance, [&](Messages& messages) {
    const FoldedRanks folded(ranks_);
    if (distance == 0) {
      for (int pair = 0; pair < folded.pairs(); ++pair) messages.emplace_back(2 * pair + 1, 2 * pair);
      return;
    }
    for (int slot = 0; slot < folded.slots(); ++slot) {
      messages.emplace_back(folded.rank_of(slot), folded.rank_of(slot ^ distance));
    }
  });
}

const RoundCost& CollectiveTimes::tree_level(int distance) {
  return counted(kTreeLevel, distance, [&](Messages& messages) {
    for (int v = 0; v + distance < ranks_; v += 2 * distance) messages.emplace_back(v, v + distance);
  });
}

const RoundCost& CollectiveTimes::both_trees() {
  return counted(kBothTrees, 0, [&](Messages& messages) {
    for (const int tree : {0, 1}) {
      for (int rank = 0; rank < ranks_; ++rank) {
        const TreePlace place = double_tree_place(rank, ranks_, tree);
        if (place.parent.has_value()) messages.emplace_back(rank, *place.parent);
      }
    }
  });
}

const CollectiveTimes::Rings& CollectiveTimes::inside_hosts(int ranks_per_host) {
  return counted_rings(kInsideHosts, ranks_per_host, ranks_per_host, [&](Messages& messages) {
    for (int r = 0; r < ranks_; ++r) {
      const int place = r % ranks_per_host;
      messages.emplace_back(r, r - place + (place + 1) % ranks_per_host);
    }
  });
}

const CollectiveTimes::Rings& CollectiveTimes::across_hosts(int ranks_per_host) {
  return counted_rings(kAcrossHosts, ranks_per_host, ranks_ / ranks_per_host, [&](Messages& messages) {
    for (int place = 0; place < ranks_per_host; ++place) {
      for (int r = place; r < ranks_; r += ranks_per_host) messages.emplace_back(r, (r + ranks_per_host) % ranks_);
    }
  });
}

Duration CollectiveTimes::double_tree(Bytes size, Bytes segment) {
  const EvenSegments segments(part_of(size, 2), segment);
  std::int64_t levels = 0;
  while ((std::int64_t{1} << levels) < ranks_) ++levels;
  const RoundCost& edges = both_trees();
  const Duration alone = edges.alone(segments.size) - edges.latency;
  return 2 * (levels * edges.latency + (2 * levels - 1) * alone + (segments.count - 1) * edges.busy(segments.size));
}

Duration CollectiveTimes::all_reduce(AllReduceAlgorithm algorithm, Bytes size, const AlgorithmOptions& options) {
  CHECK(can_do(algorithm, ranks_, options));
  Duration time;
  if (ranks_ == 1 || size.count() == 0) return time;
  const FoldedRanks folded(ranks_);
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return ring().time(2 * (ranks_ - 1), part_of(size, ranks_));
    case AllReduceAlgorithm::kHalvingDoubling:
      if (folded.pairs() > 0) time = 2 * slots_at(0).time(size);
      for (int parts = 2; parts <= folded.slots(); parts *= 2) {
        time = time + 2 * slots_at(folded.slots() / parts).time(part_of(size, parts));
      }
      return time;
    case AllReduceAlgorithm::kRecursiveDoubling:
      if (folded.pairs() > 0) time = 2 * slots_at(0).time(size);
      for (int distance = 1; distance < folded.slots(); distance *= 2) time = time + slots_at(distance).time(size);
      return time;
    case AllReduceAlgorithm::kBinomialTree:
      for (int distance = 1; distance < ranks_; distance *= 2) time = time + tree_level(distance).time(size);
      return time + broadcast(BroadcastAlgorithm::kBinomial, size, options);
    case AllReduceAlgorithm::kDoubleBinaryTree:
      return double_tree(size, options.segment);
    case AllReduceAlgorithm::kHierarchical: {
      const int inside = options.ranks_per_host;
      return inside_hosts(inside).time(2 * (inside - 1), part_of(size, inside)) +
             across_hosts(inside).time(2 * (ranks_ / inside - 1), part_of(size, ranks_));
    }
  }
  check_failed(__FILE__, __LINE__, "unknown all_reduce algorithm");
}

// An all_gather takes the way back.
Duration CollectiveTimes::one_way(ReduceScatterAlgorithm algorithm, Bytes size) {
  Duration time;
  if (ranks_ == 1 || size.count() == 0) return time;
  const FoldedRanks folded(ranks_);
  const Bytes part = part_of(size, ranks_);
  switch (algorithm) {
    case ReduceScatterAlgorithm::kRing:
      return ring().time(ranks_ - 1, part);
    case ReduceScatterAlgorithm::kRecursiveHalving:
      for (int distance = folded.slots() / 2; distance > 0; distance /= 2) {
        const std::int64_t chunks = distance + std::min(distance, folded.pairs());
        time = time + slots_at(distance).time(Bytes(chunks * part.count()));
      }
      if (folded.pairs() > 0) time = time + slots_at(0).time(size) + slots_at(0).time(part);
      return time;
    case ReduceScatterAlgorithm::kDirect:
      return all_pairs().time(part);
  }
  check_failed(__FILE__, __LINE__, "unknown reduce_scatter algorithm");
}

Duration CollectiveTimes::reduce_scatter(ReduceScatterAlgorithm algorithm, Bytes size) {
  return one_way(algorithm, size);
}

Duration CollectiveTimes::all_gather(AllGatherAlgorithm algorithm, Bytes size) {
  switch (algorithm) {
    case AllGatherAlgorithm::kRing:
      return one_way(ReduceScatterAlgorithm::kRing, size);
    case AllGatherAlgorithm::kRecursiveDoubling:
      return one_way(ReduceScatterAlgorithm::kRecursiveHalving, size);
    case AllGatherAlgorithm::kDirect:
      return one_way(ReduceScatterAlgorithm::kDirect, size);
  }
  check_failed(__FILE__, __LINE__, "unknown all_gather algorithm");
}

Duration CollectiveTimes::broadcast(BroadcastAlgorithm algorithm, Bytes size, const AlgorithmOptions& options) {
  Duration time;
  if (ranks_ == 1 || size.count() == 0) return time;
  switch (algorithm) {
    case BroadcastAlgorithm::kBinomial: {
      // The root's messages leave one after the other, and the last ones go farthest: latencies of whoever sends on.
      int distance = 1;
      while (2 * distance < ranks_) distance *= 2;
      const bool is_power = 2 * distance == ranks_;
      for (bool first = true; distance > 0; distance /= 2, first = false) {
        const RoundCost& level = tree_level(distance);
        time = time + level.time(size);
        if (first && !is_power) time = time - level.latency;
      }
      return time;
    }
    case BroadcastAlgorithm::kChain: {
      const EvenSegments segments(size, options.segment);
      Duration slowest;
      for (const RoundCost& step : ring().steps) slowest = std::max(slowest, step.busy(segments.size));
      return ring().time(ranks_ - 1, segments.size) + (segments.count - 1) * slowest;
    }
  }
  check_failed(__FILE__, __LINE__, "unknown broadcast algorithm");
}

Duration CollectiveTimes::barrier() {
  Duration time;
  for (int distance = 1; distance < ranks_; distance *= 2) {
    Messages messages;
    for (int r = 0; r < ranks_; ++r) messages.emplace_back(r, (r + distance) % ranks_);
    time = time + costs_.of(messages).latency;
  }
  return time;
}

}  // namespace rehearse
