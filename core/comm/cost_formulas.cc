#include "core/comm/cost_formulas.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/comm/even_parts.h"
#include "core/comm/folded_ranks.h"

namespace rehearse {
namespace {

Duration t(Bytes bytes, const LinkCost& link) { return transfer_time(bytes, link.bandwidth); }
Duration step(Bytes bytes, const LinkCost& link) { return link.latency + t(bytes, link); }

std::int64_t floor_log2(int n) {
  std::int64_t log = 0;
  for (; n > 1; n /= 2) ++log;
  return log;
}
std::int64_t ceil_log2(int n) { return n == 1 ? 0 : floor_log2(n - 1) + 1; }

bool nothing(int ranks, Bytes size) {
  CHECK_GE(ranks, 1);
  CHECK_GE(size.count(), 0);
  return ranks == 1 || size.count() == 0;
}

// Rounds of halving or doubling over the slots of `ranks`, slots of a pair having two of N chunks: in the round of
// distance d the first d slots' chunks are as large as any.
Duration rounds_over_slots(int ranks, Bytes size, const LinkCost& link) {
  const FoldedRanks folded(ranks);
  Duration time;
  for (int distance = folded.slots() / 2; distance > 0; distance /= 2) {
    const std::int64_t chunks = distance + std::min(distance, folded.pairs());
    time = time + step(Bytes(chunks * part_of(size, ranks).count()), link);
  }
  if (folded.pairs() > 0) time = time + step(size, link) + step(part_of(size, ranks), link);
  return time;
}

// Every pair's whole buffer before and after.
Duration folding(const FoldedRanks& folded, Bytes size, const LinkCost& link) {
  return folded.pairs() == 0 ? Duration() : 2 * step(size, link);
}

Duration chain_time(int ranks, Bytes size, const LinkCost& link, const AlgorithmOptions& options) {
  const EvenSegments segments(size, options.segment);
  return (ranks - 1) * step(segments.size, link) + (segments.count - 1) * t(segments.size, link);
}

Duration double_tree_time(int ranks, Bytes size, const LinkCost& link, const AlgorithmOptions& options) {
  const EvenSegments segments(part_of(size, 2), options.segment);
  const std::int64_t levels = ceil_log2(ranks);
  const std::int64_t width = ranks == 2 ? 1 : 2;
  const std::int64_t transfers = 2 * levels - 1 + width * (segments.count - 1);
  return 2 * (levels * link.latency + transfers * t(segments.size, link));
}

}  // namespace

Duration hierarchical_all_reduce_time(int ranks, Bytes size, int ranks_per_host, const LinkCost& inside,
                                      const LinkCost& across) {
  CHECK_GE(ranks_per_host, 1);
  CHECK_EQ(ranks % ranks_per_host, 0);
  if (nothing(ranks, size)) return Duration();
  return 2 * (ranks_per_host - 1) * step(part_of(size, ranks_per_host), inside) +
         2 * (ranks / ranks_per_host - 1) * step(part_of(size, ranks), across);
}

Duration all_reduce_time(AllReduceAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link,
                         const AlgorithmOptions& options) {
  CHECK(can_do(algorithm, ranks, options));
  if (nothing(ranks, size)) return Duration();
  const FoldedRanks folded(ranks);
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return 2 * (ranks - 1) * step(part_of(size, ranks), link);
    case AllReduceAlgorithm::kHalvingDoubling: {
      Duration time = folding(folded, size, link);
      for (int parts = 2; parts <= folded.slots(); parts *= 2) time = time + 2 * step(part_of(size, parts), link);
      return time;
    }
    case AllReduceAlgorithm::kRecursiveDoubling:
      return folding(folded, size, link) + floor_log2(folded.slots()) * step(size, link);
    case AllReduceAlgorithm::kBinomialTree:
      return reduce_time(ReduceAlgorithm::kBinomial, ranks, size, link) +
             broadcast_time(BroadcastAlgorithm::kBinomial, ranks, size, link);
    case AllReduceAlgorithm::kDoubleBinaryTree:
      return double_tree_time(ranks, size, link, options);
    case AllReduceAlgorithm::kHierarchical:
      return hierarchical_all_reduce_time(ranks, size, options.ranks_per_host, link, link);
  }
  check_failed(__FILE__, __LINE__, "unknown all_reduce algorithm");
}

Duration reduce_scatter_time(ReduceScatterAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link) {
  if (nothing(ranks, size)) return Duration();
  switch (algorithm) {
    case ReduceScatterAlgorithm::kRing:
      return (ranks - 1) * step(part_of(size, ranks), link);
    case ReduceScatterAlgorithm::kRecursiveHalving:
      return rounds_over_slots(ranks, size, link);
    case ReduceScatterAlgorithm::kDirect:
      return link.latency + (ranks - 1) * t(part_of(size, ranks), link);
  }
  check_failed(__FILE__, __LINE__, "unknown reduce_scatter algorithm");
}

Duration all_gather_time(AllGatherAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link) {
  if (nothing(ranks, size)) return Duration();
  switch (algorithm) {
    case AllGatherAlgorithm::kRing:
      return (ranks - 1) * step(part_of(size, ranks), link);
    case AllGatherAlgorithm::kRecursiveDoubling:
      return rounds_over_slots(ranks, size, link);
    case AllGatherAlgorithm::kDirect:
      return link.latency + (ranks - 1) * t(part_of(size, ranks), link);
  }
  check_failed(__FILE__, __LINE__, "unknown all_gather algorithm");
}

Duration broadcast_time(BroadcastAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link,
                        const AlgorithmOptions& options) {
  if (nothing(ranks, size)) return Duration();
  switch (algorithm) {
    case BroadcastAlgorithm::kBinomial:
      return floor_log2(ranks) * link.latency + ceil_log2(ranks) * t(size, link);
    case BroadcastAlgorithm::kChain:
      return chain_time(ranks, size, link, options);
  }
  check_failed(__FILE__, __LINE__, "unknown broadcast algorithm");
}

Duration reduce_time(ReduceAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link,
                     const AlgorithmOptions& options) {
  if (nothing(ranks, size)) return Duration();
  switch (algorithm) {
    case ReduceAlgorithm::kBinomial:
      return ceil_log2(ranks) * step(size, link);
    case ReduceAlgorithm::kChain:
      return chain_time(ranks, size, link, options);
  }
  check_failed(__FILE__, __LINE__, "unknown reduce algorithm");
}

Duration all_to_all_time(AllToAllAlgorithm algorithm, int ranks, Bytes part, const LinkCost& link) {
  if (nothing(ranks, part)) return Duration();
  switch (algorithm) {
    case AllToAllAlgorithm::kPairwise:
      return (ranks - 1) * step(part, link);
    case AllToAllAlgorithm::kDirect:
      return link.latency + (ranks - 1) * t(part, link);
  }
  check_failed(__FILE__, __LINE__, "unknown all_to_all algorithm");
}

Duration gather_time(int ranks, Bytes part, const LinkCost& link) {
  if (nothing(ranks, part)) return Duration();
  return link.latency + (ranks - 1) * t(part, link);
}

Duration scatter_time(int ranks, Bytes part, const LinkCost& link) { return gather_time(ranks, part, link); }

Duration barrier_time(int ranks, const LinkCost& link) {
  CHECK_GE(ranks, 1);
  return ceil_log2(ranks) * link.latency;
}

}  // namespace rehearse
