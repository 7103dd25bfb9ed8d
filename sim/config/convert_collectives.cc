#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/comm/algorithms.h"
#include "core/model/layout.h"
#include "core/parallel/collective_choice.h"
#include "core/parallel/units.h"
#include "sim/config/collective_times.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

using config::Collectives;

template <class Algorithm>
struct Name {
  Collectives::Algorithm written;
  Algorithm algorithm;
};

constexpr Name<AllReduceAlgorithm> kAllReduce[] = {
    {Collectives::RING, AllReduceAlgorithm::kRing},
    {Collectives::HALVING_DOUBLING, AllReduceAlgorithm::kHalvingDoubling},
    {Collectives::RECURSIVE_DOUBLING, AllReduceAlgorithm::kRecursiveDoubling},
    {Collectives::BINOMIAL_TREE, AllReduceAlgorithm::kBinomialTree},
    {Collectives::DOUBLE_BINARY_TREE, AllReduceAlgorithm::kDoubleBinaryTree},
    {Collectives::HIERARCHICAL, AllReduceAlgorithm::kHierarchical},
};

constexpr Name<ReduceScatterAlgorithm> kReduceScatter[] = {
    {Collectives::RING, ReduceScatterAlgorithm::kRing},
    {Collectives::RECURSIVE_HALVING, ReduceScatterAlgorithm::kRecursiveHalving},
    {Collectives::DIRECT, ReduceScatterAlgorithm::kDirect},
};

constexpr Name<AllGatherAlgorithm> kAllGather[] = {
    {Collectives::RING, AllGatherAlgorithm::kRing},
    {Collectives::RECURSIVE_DOUBLING, AllGatherAlgorithm::kRecursiveDoubling},
    {Collectives::DIRECT, AllGatherAlgorithm::kDirect},
};

// Where one collective's algorithm is written, what is written there, and with which stage it has a use.
class Choice {
 public:
  Choice(const Origins& origins, const char* collective, Collectives::Algorithm algorithm)
      : origins_(origins),
        path_(std::string("train.collectives.") + collective),
        found_("found " + Collectives::Algorithm_Name(algorithm)),
        algorithm_(algorithm) {}

  template <class Algorithm, std::size_t count>
  Algorithm one_of(const Name<Algorithm> (&names)[count]) const {
    std::string allowed;
    for (const Name<Algorithm>& name : names) {
      if (name.written == algorithm_) return name.algorithm;
      allowed += (allowed.empty() ? "" : ", ") + Collectives::Algorithm_Name(name.written);
    }
    origins_.fail(path_, found_ + "; allowed: " + allowed + ", AUTO");
  }

  bool is_auto() const { return algorithm_ == Collectives::AUTO; }

  // all_reduce is of zero_stage 0, the others are of all above.
  void only_with_stage(std::int64_t stage, std::int64_t zero_stage) const {
    if (stage == 0 ? zero_stage == 0 : zero_stage > 0) return;
    origins_.fail(path_, found_ + " with train.zero_stage " + std::to_string(zero_stage) +
                             ", which has no such collective; allowed: only with zero_stage " +
                             (stage == 0 ? "0" : "1 and above"));
  }

  void fail(const std::string& why) const { origins_.fail(path_, found_ + why); }

 private:
  const Origins& origins_;
  std::string path_;
  std::string found_;
  Collectives::Algorithm algorithm_;
};

bool has_equal_hosts(const config::Scenario& message) {
  const std::int64_t inside = message.cluster().ranks_per_host();
  return inside >= 2 && message.cluster().ranks() % inside == 0;
}

void check_hosts(const config::Scenario& message, const Choice& choice, std::int64_t ranks) {
  const std::int64_t inside = message.cluster().ranks_per_host();
  if (inside < 2) choice.fail(" without hosts; allowed: only with cluster.ranks_per_host of 2 or more");
  if (ranks % inside != 0) {
    choice.fail(" with " + std::to_string(ranks) + " ranks in hosts of " + std::to_string(inside) +
                "; allowed: only where cluster.ranks is a multiple of cluster.ranks_per_host");
  }
  if (message.recovery().mode() == config::Recovery::ELASTIC) {
    choice.fail(" with recovery.mode ELASTIC, where hosts may be left with fewer ranks; allowed: any other algorithm");
  }
}

// Picks algorithms for the units of a step.
class Picking {
 public:
  Picking(const config::Scenario& message, Scenario& scenario)
      : message_(message), scenario_(scenario), times_(scenario.network, scenario.ranks, scenario.seed) {
    const StateTypes types = scenario.train.state_types();
    const ParameterLayout layout(scenario.train.model);
    const UnitPlan plan(layout, scenario.train.bucket_elements(), scenario.ranks);
    for (const Unit& unit : plan.units()) {
      gradients_.emplace_back(unit.padded_numel * size_of(types.gradients));
      parameters_.emplace_back(unit.padded_numel * size_of(types.parameters));
    }
  }

  AllReduceAlgorithm all_reduce(const AlgorithmOptions& options) {
    return pick("all_reduce", gradients_, kAllReduce,
                [&](AllReduceAlgorithm algorithm, Bytes size) -> std::optional<Duration> {
                  AlgorithmOptions all = options;
                  if (algorithm == AllReduceAlgorithm::kHierarchical) {
                    if (!has_equal_hosts(message_) || message_.recovery().mode() == config::Recovery::ELASTIC)
                      return std::nullopt;
                    all.ranks_per_host = static_cast<int>(message_.cluster().ranks_per_host());
                  }
                  return times_.all_reduce(algorithm, size, all);
                });
  }

  ReduceScatterAlgorithm reduce_scatter() {
    return pick("reduce_scatter", gradients_, kReduceScatter,
                [&](ReduceScatterAlgorithm algorithm, Bytes size) -> std::optional<Duration> {
                  if (algorithm == ReduceScatterAlgorithm::kDirect && !may_be_direct()) return std::nullopt;
                  return times_.reduce_scatter(algorithm, size);
                });
  }

  AllGatherAlgorithm all_gather() {
    return pick("all_gather", parameters_, kAllGather,
                [&](AllGatherAlgorithm algorithm, Bytes size) -> std::optional<Duration> {
                  if (algorithm == AllGatherAlgorithm::kDirect && !may_be_direct()) return std::nullopt;
                  return times_.all_gather(algorithm, size);
                });
  }

 private:
  bool may_be_direct() const { return scenario_.ranks <= CollectiveTimes::kMostRanksForDirect; }

  template <class Algorithm, std::size_t count, class TimeOf>
  Algorithm pick(const char* collective, const std::vector<Bytes>& sizes, const Name<Algorithm> (&names)[count],
                 TimeOf time_of) {
    PickedAlgorithm record;
    record.collective = collective;
    Algorithm best = names[0].algorithm;
    for (const Name<Algorithm>& name : names) {
      PickedAlgorithm::Candidate candidate;
      candidate.algorithm = name_of(name.algorithm);
      bool can = true;
      for (const Bytes size : sizes) {
        const std::optional<Duration> time = time_of(name.algorithm, size);
        can = can && time.has_value();
        if (can) candidate.time = candidate.time + *time;
      }
      if (!can) continue;
      record.candidates.push_back(candidate);
      if (candidate.time < record.candidates[record.picked].time) {
        record.picked = record.candidates.size() - 1;
        best = name.algorithm;
      }
    }
    scenario_.picked.push_back(record);
    return best;
  }

  const config::Scenario& message_;
  Scenario& scenario_;
  CollectiveTimes times_;
  std::vector<Bytes> gradients_;  // by unit
  std::vector<Bytes> parameters_;
};

template <class Algorithm, std::size_t count>
Collectives::Algorithm written_as(const Name<Algorithm> (&names)[count], Algorithm algorithm) {
  for (const Name<Algorithm>& name : names) {
    if (name.algorithm == algorithm) return name.written;
  }
  check_failed(__FILE__, __LINE__, "an algorithm without a name in scenarios");
}

}  // namespace

void convert_collectives(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  const Collectives& collectives = message.train().collectives();
  const std::int64_t stage = message.train().zero_stage();
  CollectiveChoice& out = scenario.train.collectives;
  if (collectives.has_segment()) out.options.segment = parse_size(collectives.segment());
  if (collectives.has_all_reduce()) {
    const Choice choice(origins, "all_reduce", collectives.all_reduce());
    choice.only_with_stage(0, stage);
    out.all_reduce = choice.is_auto() ? Picking(message, scenario).all_reduce(out.options) : choice.one_of(kAllReduce);
    if (out.all_reduce == AllReduceAlgorithm::kHierarchical) {
      check_hosts(message, choice, scenario.ranks);
      out.options.ranks_per_host = static_cast<int>(message.cluster().ranks_per_host());
    }
  }
  if (collectives.has_reduce_scatter()) {
    const Choice choice(origins, "reduce_scatter", collectives.reduce_scatter());
    choice.only_with_stage(1, stage);
    out.reduce_scatter = choice.is_auto() ? Picking(message, scenario).reduce_scatter() : choice.one_of(kReduceScatter);
  }
  if (collectives.has_all_gather()) {
    const Choice choice(origins, "all_gather", collectives.all_gather());
    choice.only_with_stage(1, stage);
    out.all_gather = choice.is_auto() ? Picking(message, scenario).all_gather() : choice.one_of(kAllGather);
  }
  if (!collectives.has_segment() || collectives.all_reduce() == Collectives::AUTO) return;
  if (out.all_reduce != AllReduceAlgorithm::kDoubleBinaryTree) {
    origins.fail("train.collectives.segment", "found \"" + collectives.segment() +
                                                  "\" without a pipeline; allowed: only with all_reduce "
                                                  "DOUBLE_BINARY_TREE or AUTO");
  }
}

void write_picked(const Scenario& scenario, config::Scenario& message) {
  const CollectiveChoice& choice = scenario.train.collectives;
  Collectives& collectives = *message.mutable_train()->mutable_collectives();
  for (const PickedAlgorithm& picked : scenario.picked) {
    if (picked.collective == "all_reduce") collectives.set_all_reduce(written_as(kAllReduce, choice.all_reduce));
    if (picked.collective == "reduce_scatter") {
      collectives.set_reduce_scatter(written_as(kReduceScatter, choice.reduce_scatter));
    }
    if (picked.collective == "all_gather") collectives.set_all_gather(written_as(kAllGather, choice.all_gather));
  }
  // Only a pipeline has segments.
  if (choice.all_reduce != AllReduceAlgorithm::kDoubleBinaryTree) collectives.clear_segment();
}

}  // namespace rehearse
