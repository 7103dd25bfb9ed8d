#include "core/comm/algorithms.h"

#include "core/base/check.h"

namespace rehearse {

bool can_do(AllReduceAlgorithm algorithm, int size, const AlgorithmOptions& options) {
  CHECK_GE(size, 1);
  if (algorithm != AllReduceAlgorithm::kHierarchical) return true;
  return options.ranks_per_host >= 1 && size % options.ranks_per_host == 0;
}

const char* name_of(AllReduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return "ring";
    case AllReduceAlgorithm::kHalvingDoubling:
      return "halving_doubling";
    case AllReduceAlgorithm::kRecursiveDoubling:
      return "recursive_doubling";
    case AllReduceAlgorithm::kBinomialTree:
      return "binomial_tree";
    case AllReduceAlgorithm::kDoubleBinaryTree:
      return "double_binary_tree";
    case AllReduceAlgorithm::kHierarchical:
      return "hierarchical";
  }
  check_failed(__FILE__, __LINE__, "unknown all_reduce algorithm");
}

const char* name_of(ReduceScatterAlgorithm algorithm) {
  switch (algorithm) {
    case ReduceScatterAlgorithm::kRing:
      return "ring";
    case ReduceScatterAlgorithm::kRecursiveHalving:
      return "recursive_halving";
    case ReduceScatterAlgorithm::kDirect:
      return "direct";
  }
  check_failed(__FILE__, __LINE__, "unknown reduce_scatter algorithm");
}

const char* name_of(AllGatherAlgorithm algorithm) {
  switch (algorithm) {
    case AllGatherAlgorithm::kRing:
      return "ring";
    case AllGatherAlgorithm::kRecursiveDoubling:
      return "recursive_doubling";
    case AllGatherAlgorithm::kDirect:
      return "direct";
  }
  check_failed(__FILE__, __LINE__, "unknown all_gather algorithm");
}

const char* name_of(BroadcastAlgorithm algorithm) {
  switch (algorithm) {
    case BroadcastAlgorithm::kBinomial:
      return "binomial";
    case BroadcastAlgorithm::kChain:
      return "chain";
  }
  check_failed(__FILE__, __LINE__, "unknown broadcast algorithm");
}

const char* name_of(ReduceAlgorithm algorithm) {
  switch (algorithm) {
    case ReduceAlgorithm::kBinomial:
      return "binomial";
    case ReduceAlgorithm::kChain:
      return "chain";
  }
  check_failed(__FILE__, __LINE__, "unknown reduce algorithm");
}

const char* name_of(AllToAllAlgorithm algorithm) {
  switch (algorithm) {
    case AllToAllAlgorithm::kPairwise:
      return "pairwise";
    case AllToAllAlgorithm::kDirect:
      return "direct";
  }
  check_failed(__FILE__, __LINE__, "unknown all_to_all algorithm");
}

}  // namespace rehearse
