#include <cstddef>
#include <string>

#include "core/comm/algorithms.h"
#include "core/parallel/collective_choice.h"
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
    origins_.fail(path_, found_ + "; allowed: " + allowed);
  }

  void only_with_stage(std::int64_t stage, std::int64_t zero_stage) const {
    if (stage == zero_stage) return;
    origins_.fail(path_, found_ + " with train.zero_stage " + std::to_string(zero_stage) +
                             ", which has no such collective; allowed: only with zero_stage " + std::to_string(stage));
  }

  void fail(const std::string& why) const { origins_.fail(path_, found_ + why); }

 private:
  const Origins& origins_;
  std::string path_;
  std::string found_;
  Collectives::Algorithm algorithm_;
};

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

}  // namespace

void convert_collectives(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  const Collectives& collectives = message.train().collectives();
  const std::int64_t stage = message.train().zero_stage();
  CollectiveChoice& out = scenario.train.collectives;
  if (collectives.has_all_reduce()) {
    const Choice choice(origins, "all_reduce", collectives.all_reduce());
    out.all_reduce = choice.one_of(kAllReduce);
    choice.only_with_stage(0, stage);
    if (out.all_reduce == AllReduceAlgorithm::kHierarchical) {
      check_hosts(message, choice, scenario.ranks);
      out.options.ranks_per_host = static_cast<int>(message.cluster().ranks_per_host());
    }
  }
  if (collectives.has_reduce_scatter()) {
    const Choice choice(origins, "reduce_scatter", collectives.reduce_scatter());
    out.reduce_scatter = choice.one_of(kReduceScatter);
    choice.only_with_stage(1, stage);
  }
  if (collectives.has_all_gather()) {
    const Choice choice(origins, "all_gather", collectives.all_gather());
    out.all_gather = choice.one_of(kAllGather);
    choice.only_with_stage(1, stage);
  }
  if (collectives.has_segment()) {
    if (out.all_reduce != AllReduceAlgorithm::kDoubleBinaryTree) {
      origins.fail("train.collectives.segment", "found \"" + collectives.segment() +
                                                    "\" without a pipeline; allowed: only with all_reduce "
                                                    "DOUBLE_BINARY_TREE");
    }
    out.options.segment = parse_size(collectives.segment());
  }
}

}  // namespace rehearse
