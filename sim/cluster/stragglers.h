#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/train/observer.h"
#include "sim/cluster/world.h"
#include "sim/config/scenario.h"
#include "sim/fault/failure_domains.h"

namespace rehearse {

struct JobRecord;
struct TrainingRecord;

// A rank that computes longer than others.
struct SlowRank {
  int rank = 0;
  Duration compute;   // of its device, a step, on average
  double factor = 1;  // over the median of all ranks
};

// A link over which messages take longer than they should.
struct SlowLink {
  int source = 0;
  int destination = 0;
  double factor = 1;  // all times on the link together, over those on a whole one
};

// What a run showed of who held it up; nothing of what the plan says. The slowest first.
struct Stragglers {
  std::vector<SlowRank> ranks;
  std::vector<SlowLink> links;
  bool empty() const { return ranks.empty() && links.empty(); }
};

// From this factor on a rank or a link counts as slow.
inline constexpr double kSlowFactor = 1.05;

// Adds up how long each rank's device computes in the steps that the rank finishes.
class ComputeTimes : public TrainObserver {
 public:
  explicit ComputeTimes(int most_ranks) : ranks_(static_cast<std::size_t>(most_ranks)) {}

  // Before the ranks start; `world` outlives this or the last call of it.
  void watch(const World* world) { world_ = world; }
  // The ranks are others from now on: the job was cut anew.
  void forget();

  void on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128 optimizer_state) override;
  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece> pieces) override;

  std::vector<SlowRank> slow_ranks() const;

 private:
  struct Rank {
    Duration since;  // the device's time when the step began
    Duration sum;
    std::int64_t steps = 0;
  };
  const World* world_ = nullptr;
  std::vector<Rank> ranks_;
};

std::vector<SlowLink> slow_links(const World& world);

// A node that the plan has fail more often than others, and that did fail.
struct StruckLemon {
  std::string name;  // "host 1 (ranks 2, 3)"
  RankRange ranks;
  std::int64_t failures = 0;  // of the node
  std::int64_t of = 0;        // of all
  double factor = 1;          // of its rate, by the plan
};

// Of each failure that struck: the ranks.
std::vector<RankRange> failures_of(const TrainingRecord& record);
std::vector<RankRange> failures_of(const JobRecord& record);

// `failures`: failures_of the run.
std::vector<StruckLemon> struck_lemons(const Scenario& scenario, const std::vector<RankRange>& failures);

}  // namespace rehearse
