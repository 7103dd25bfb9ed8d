#pragma once

#include "core/comm/algorithms.h"

namespace rehearse {

// By which algorithms gradients are summed and parameters gathered; the same on all ranks of a job.
struct CollectiveChoice {
  AllReduceAlgorithm all_reduce = AllReduceAlgorithm::kRing;              // of gradients, zero_stage 0
  ReduceScatterAlgorithm reduce_scatter = ReduceScatterAlgorithm::kRing;  // of gradients, zero_stage 1
  AllGatherAlgorithm all_gather = AllGatherAlgorithm::kRing;              // of parameters, zero_stage 1
  AlgorithmOptions options;
};

}  // namespace rehearse
