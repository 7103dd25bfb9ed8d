#include "core/comm/traffic_formulas.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/comm/chunks.h"
#include "core/comm/folded_ranks.h"
#include "core/comm/segments.h"

namespace rehearse {
namespace {

std::int64_t checked(__int128 value) {
  if (value > std::numeric_limits<std::int64_t>::max()) {
    throw InputError("a collective sends 2^63 messages or bytes, or more; take fewer ranks or a smaller model");
  }
  return static_cast<std::int64_t>(value);
}

CollectiveTraffic traffic(__int128 messages, __int128 bytes) {
  CollectiveTraffic result;
  result.messages = checked(messages);
  result.bytes = Bytes(checked(bytes));
  return result;
}

int log2_of(int power) {
  int log = 0;
  for (; power > 1; power /= 2) ++log;
  return log;
}

int segments_of_half(std::int64_t elements, DType dtype, Bytes segment) {
  BufferView half;
  half.count = elements;
  half.dtype = dtype;
  return segments_of(half, segment);
}

// Halving a buffer over the slots, or doubling it back, with what pairs give each other.
CollectiveTraffic over_slots(int ranks, std::int64_t elements, DType dtype) {
  const FoldedRanks folded(ranks);
  const __int128 size = static_cast<__int128>(elements) * size_of(dtype);
  __int128 chunks = 0;
  for (int pair = 0; pair < folded.pairs(); ++pair) chunks += chunk_range(elements, ranks, 2 * pair + 1).count;
  return traffic(static_cast<__int128>(folded.slots()) * log2_of(folded.slots()) + 2 * folded.pairs(),
                 (folded.slots() - 1 + folded.pairs()) * size + chunks * size_of(dtype));
}

}  // namespace

CollectiveTraffic all_reduce_traffic(AllReduceAlgorithm algorithm, int ranks, std::int64_t elements, DType dtype,
                                     const AlgorithmOptions& options) {
  CHECK(can_do(algorithm, ranks, options));
  CHECK_GE(elements, 0);
  if (ranks == 1 || elements == 0) return {};
  const __int128 n = ranks;
  const __int128 size = static_cast<__int128>(elements) * size_of(dtype);
  const FoldedRanks folded(ranks);
  const __int128 rounds = static_cast<__int128>(folded.slots()) * log2_of(folded.slots());
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return traffic(2 * n * (n - 1), 2 * (n - 1) * size);
    case AllReduceAlgorithm::kHalvingDoubling:
      return traffic(2 * rounds + 2 * folded.pairs(), 2 * (folded.slots() - 1 + folded.pairs()) * size);
    case AllReduceAlgorithm::kRecursiveDoubling:
      return traffic(rounds + 2 * folded.pairs(), (rounds + 2 * folded.pairs()) * size);
    case AllReduceAlgorithm::kBinomialTree:
      return traffic(2 * (n - 1), 2 * (n - 1) * size);
    case AllReduceAlgorithm::kDoubleBinaryTree: {
      __int128 segments = segments_of_half((elements + 1) / 2, dtype, options.segment);
      if (elements > 1) segments += segments_of_half(elements / 2, dtype, options.segment);
      return traffic(2 * (n - 1) * segments, 2 * (n - 1) * size);
    }
    case AllReduceAlgorithm::kHierarchical: {
      const __int128 inside = options.ranks_per_host;
      const __int128 hosts = n / inside;
      // A ring across hosts that has none of fewer elements than places does not run.
      const __int128 rings = std::min<__int128>(inside, elements);
      return traffic(2 * n * (inside - 1) + 2 * rings * hosts * (hosts - 1),
                     (2 * hosts * (inside - 1) + 2 * (hosts - 1)) * size);
    }
  }
  check_failed(__FILE__, __LINE__, "unknown all_reduce algorithm");
}

CollectiveTraffic reduce_scatter_traffic(ReduceScatterAlgorithm algorithm, int ranks, std::int64_t elements,
                                         DType dtype) {
  CHECK_GE(elements, 0);
  if (ranks == 1 || elements == 0) return {};
  if (algorithm == ReduceScatterAlgorithm::kRecursiveHalving) return over_slots(ranks, elements, dtype);
  const __int128 n = ranks;
  return traffic(n * (n - 1), (n - 1) * elements * size_of(dtype));
}

CollectiveTraffic all_gather_traffic(AllGatherAlgorithm algorithm, int ranks, std::int64_t elements, DType dtype) {
  CHECK_GE(elements, 0);
  if (ranks == 1 || elements == 0) return {};
  if (algorithm == AllGatherAlgorithm::kRecursiveDoubling) return over_slots(ranks, elements, dtype);
  const __int128 n = ranks;
  return traffic(n * (n - 1), (n - 1) * elements * size_of(dtype));
}

CollectiveTraffic broadcast_traffic(BroadcastAlgorithm algorithm, int ranks, std::int64_t elements, DType dtype,
                                    const AlgorithmOptions& options) {
  CHECK_GE(elements, 0);
  if (ranks == 1 || elements == 0) return {};
  const __int128 n = ranks;
  const int segments = algorithm == BroadcastAlgorithm::kChain ? segments_of_half(elements, dtype, options.segment) : 1;
  return traffic((n - 1) * segments, (n - 1) * elements * size_of(dtype));
}

}  // namespace rehearse
