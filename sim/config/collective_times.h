#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/comm/algorithms.h"
#include "sim/net/config.h"
#include "sim/net/round_cost.h"

namespace rehearse {

// How long collectives of all ranks of a job take on its network, by formula, from numbers known before a run; nothing
// here looks at a simulation. The forms are those of core/comm/cost_formulas.h, which has their sources, with each
// round's own latency and bandwidth: a round's messages start at once, and one link has to take as many of them as go
// over it (RoundCosts). So on a plain switch the times are those of cost_formulas.h, and there exact where they say so;
// on other networks they leave out how messages of one round meet those of the next, and are near.
//
// A ring whose cables differ takes the longer of two: as many messages as it has steps over its slowest link one after
// the other, or the slowest way of a part of the buffer from rank to rank.
//
// Sizes are of what the algorithms' headers call S: the whole buffer of a rank.
class CollectiveTimes {
 public:
  // DIRECT takes N (N - 1) messages at once, whose ways are all looked at: up to so many ranks.
  static constexpr int kMostRanksForDirect = 512;

  // The network outlives it. `seed` is the run's, which decides ways.
  CollectiveTimes(const NetworkConfig& network, int ranks, std::uint64_t seed);

  int ranks() const { return ranks_; }
  // Requires can_do(algorithm, ranks, options).
  Duration all_reduce(AllReduceAlgorithm algorithm, Bytes size, const AlgorithmOptions& options);
  // kDirect requires ranks() <= kMostRanksForDirect.
  Duration reduce_scatter(ReduceScatterAlgorithm algorithm, Bytes size);
  Duration all_gather(AllGatherAlgorithm algorithm, Bytes size);
  // From rank 0.
  Duration broadcast(BroadcastAlgorithm algorithm, Bytes size, const AlgorithmOptions& options = AlgorithmOptions());
  Duration barrier();

 private:
  using Messages = std::vector<std::pair<int, int>>;

  // Rings of equal length that all run at once: the messages of a step, ring by ring, in their order.
  struct Rings {
    std::vector<RoundCost> steps;
    std::size_t length = 0;
    Duration time(std::int64_t steps, Bytes part) const;
  };

  // A round that is asked for again and again is counted once.
  const Rings& ring();
  const RoundCost& all_pairs();
  // Of slots whose numbers differ by `distance` (folded_ranks.h); 0: the odd rank of each pair to the even one.
  const RoundCost& slots_at(int distance);
  // Down the binomial tree: from v to v + distance.
  const RoundCost& tree_level(int distance);
  const RoundCost& both_trees();
  const Rings& inside_hosts(int ranks_per_host);
  const Rings& across_hosts(int ranks_per_host);
  template <class Make>
  const Rings& counted_rings(int kind, int number, int length, Make make);
  template <class Make>
  const RoundCost& counted(int kind, int number, Make make);

  Duration one_way(ReduceScatterAlgorithm algorithm, Bytes size);
  Duration double_tree(Bytes size, Bytes segment);

  int ranks_;
  RoundCosts costs_;
  std::map<std::pair<int, int>, RoundCost> known_;
  std::map<std::pair<int, int>, Rings> known_rings_;
};

}  // namespace rehearse
