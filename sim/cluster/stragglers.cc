#include "sim/cluster/stragglers.h"

#include <algorithm>

#include "sim/cluster/job_model.h"
#include "sim/cluster/training_run.h"

namespace rehearse {
namespace {

// One message that comes late does not make a link slow.
constexpr std::int64_t kFewestMessages = 10;

template <class Slow>
void slowest_first(std::vector<Slow>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Slow& a, const Slow& b) { return a.factor > b.factor; });
}

}  // namespace

void ComputeTimes::forget() { std::fill(ranks_.begin(), ranks_.end(), Rank()); }

void ComputeTimes::on_start(int rank, std::int64_t, const TensorsView&, Digest128) {
  ranks_[static_cast<std::size_t>(rank)].since = world_->computed(rank);
}

void ComputeTimes::on_step(int rank, const StepReport&, const TensorsView&, std::span<const ConstShardPiece>) {
  Rank& one = ranks_[static_cast<std::size_t>(rank)];
  const Duration now = world_->computed(rank);
  one.sum = one.sum + (now - one.since);
  one.since = now;
  ++one.steps;
}

std::vector<SlowRank> ComputeTimes::slow_ranks() const {
  std::vector<SlowRank> all;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].steps == 0) continue;
    SlowRank one;
    one.rank = static_cast<int>(rank);
    one.compute = Duration::picoseconds(ranks_[rank].sum.ps() / ranks_[rank].steps);
    all.push_back(one);
  }
  if (all.empty()) return all;
  std::vector<SlowRank> sorted = all;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.compute < b.compute; });
  // The lower one of two in the middle: where one of two ranks is slow, it is the other that is as it should be.
  const Duration median = sorted[(sorted.size() - 1) / 2].compute;
  if (median == Duration()) return {};
  for (SlowRank& one : all) one.factor = static_cast<double>(one.compute.ps()) / static_cast<double>(median.ps());
  std::erase_if(all, [](const SlowRank& one) { return one.factor <= kSlowFactor; });
  slowest_first(all);
  return all;
}

std::vector<SlowLink> slow_links(const World& world) {
  std::vector<SlowLink> all;
  for (const auto& [link, times] : world.link_times()) {
    if (times.slow_messages < kFewestMessages || times.seconds_on_whole_link == 0) continue;
    SlowLink one;
    one.source = link.first;
    one.destination = link.second;
    one.factor = times.seconds / times.seconds_on_whole_link;
    if (one.factor > kSlowFactor) all.push_back(one);
  }
  slowest_first(all);
  return all;
}

std::vector<RankRange> failures_of(const TrainingRecord& record) {
  std::vector<RankRange> all;
  for (const FaultRecord& fault : record.faults) {
    if (fault.failed.has_value()) all.push_back(*fault.failed);
  }
  return all;
}

std::vector<RankRange> failures_of(const JobRecord& record) {
  std::vector<RankRange> all;
  for (const RankFailure& failure : record.failures) all.push_back(failure.ranks);
  return all;
}

std::vector<StruckLemon> struck_lemons(const Scenario& scenario, const std::vector<RankRange>& failures) {
  std::vector<StruckLemon> lemons;
  for (const FailureRate& rate : scenario.faults.rates) {
    HostLayout nodes;
    nodes.ranks_per_host = rate.ranks_per_node;
    const char* what = rate.ranks_per_node == scenario.hosts.ranks_per_host ? "host " : "node ";
    for (const LemonNode& lemon : rate.lemons) {
      StruckLemon one;
      one.ranks = nodes.ranks_of_host(lemon.node, scenario.known_ranks());
      one.name = what + std::to_string(lemon.node) + " (" + words_of(one.ranks) + ")";
      one.of = std::ssize(failures);
      one.factor = lemon.factor;
      for (const RankRange& struck : failures) {
        one.failures += struck.first < one.ranks.end() && struck.end() > one.ranks.first ? 1 : 0;
      }
      if (lemon.factor > 1 && one.failures > 0) lemons.push_back(one);
    }
  }
  return lemons;
}

}  // namespace rehearse
