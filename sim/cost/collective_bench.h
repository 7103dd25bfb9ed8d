#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/comm/algorithms.h"
#include "core/runtime/communicator.h"
#include "sim/cost/bench_world.h"

namespace rehearse {

// One collective and one of its algorithms; `index` is the algorithm's value in its enum (algorithms.h), 0 where a
// collective has one algorithm alone (gather, scatter, barrier).
struct BenchedAlgorithm {
  BenchedAlgorithm(Operation its_operation, int its_index) : operation(its_operation), index(its_index) {}
  bool operator==(const BenchedAlgorithm&) const = default;
  Operation operation;
  int index;
};
// "ring", "direct", ...
std::string name_of(const BenchedAlgorithm& algorithm);

// The collectives there are, in the order of core/comm/README.md.
const std::vector<Operation>& benched_operations();
// Those of one collective, in their enum's order; empty for what is none.
std::vector<BenchedAlgorithm> algorithms_of(Operation operation);
// Whether it can do so many ranks.
bool can_do(const BenchedAlgorithm& algorithm, int ranks, const AlgorithmOptions& options);

// Bus bandwidth over algorithm bandwidth, as nccl-tests define it (doc/PERFORMANCE.md there): what a link would have to
// carry if the collective were optimal. all_reduce 2(n-1)/n; reduce_scatter, all_gather, all_to_all, gather and scatter
// (n-1)/n; broadcast and reduce 1; a barrier, which has no bytes, 0.
struct BusFactor {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
};
BusFactor bus_factor(Operation operation, int ranks);

// `size` over `time`; 0 where there is no time.
Bandwidth algorithm_bandwidth(Bytes size, Duration time);
Bandwidth bus_bandwidth(Operation operation, int ranks, Bytes size, Duration time);

// What one collective took.
struct CollectiveTiming {
  BenchedAlgorithm algorithm = BenchedAlgorithm(Operation::kAllReduce, 0);
  Bytes size;
  BenchRun run;
  Bandwidth algbw;
  Bandwidth busbw;
  // What cost_formulas.h says, where the network is one for which it says something: a switch with a port a rank that
  // serves messages in turn, without jitter and without overheads. Where it is exact is said there.
  std::optional<Duration> closed_form;
};

// Times one collective of `size` bytes, all ranks starting at once, without payload. `size` is what nccl-tests call so:
// a rank's whole buffer, all ranks' parts of it together; of gather and scatter that of the root; a barrier has none.
// Roots are rank 0. Requires whole float32 elements and can_do().
CollectiveTiming time_collective(const BenchCluster& cluster, const BenchedAlgorithm& algorithm, Bytes size,
                                 const AlgorithmOptions& options = AlgorithmOptions());

}  // namespace rehearse
