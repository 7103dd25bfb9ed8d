#include "sim/cost/cost_report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/comm/traffic_formulas.h"
#include "core/model/cost.h"
#include "core/model/layout.h"
#include "core/train/batch_share.h"
#include "sim/config/collective_times.h"
#include "sim/cost/collective_bench.h"

namespace rehearse {
namespace {

constexpr std::uint64_t kEventsPerSlice = 4096;

Duration divided(Duration sum, std::int64_t count) { return Duration::picoseconds(sum.ps() / count); }

// What a network has carried at a moment.
struct Snapshot {
  std::vector<LinkLoad> links;
  std::array<TrafficCounters, kOperations> traffic;
};

Snapshot snapshot_of(const TrainingSession& session) {
  Snapshot one;
  one.links = session.link_loads();
  for (int o = 0; o < kOperations; ++o) {
    one.traffic[static_cast<std::size_t>(o)] = session.traffic(static_cast<Operation>(o));
  }
  return one;
}

// The formulas of one kind of call.
void add_formulas(const CallRow& row, const Scenario& scenario, int ranks, CollectiveTimes& times,
                  CollectiveCost& cost) {
  if (row.elements < 0) return;
  const CollectiveChoice& choice = scenario.train.collectives;
  const auto set = [&](const char* algorithm, const CollectiveTraffic& traffic, std::optional<Duration> formula) {
    cost.algorithm = algorithm;
    cost.messages = traffic.messages;
    cost.bytes = traffic.bytes;
    cost.formula = formula;
  };
  const bool can_be_direct = ranks <= CollectiveTimes::kMostRanksForDirect;
  switch (row.operation) {
    case Operation::kAllReduce: {
      const auto algorithm = row.of_model ? choice.all_reduce : AllReduceAlgorithm::kRing;
      if (!can_do(algorithm, ranks, choice.options)) return;
      return set(name_of(algorithm), all_reduce_traffic(algorithm, ranks, row.elements, row.dtype, choice.options),
                 times.all_reduce(algorithm, row.size, choice.options));
    }
    case Operation::kReduceScatter: {
      const auto algorithm = row.of_model ? choice.reduce_scatter : ReduceScatterAlgorithm::kRing;
      std::optional<Duration> time;
      if (algorithm != ReduceScatterAlgorithm::kDirect || can_be_direct) {
        time = times.reduce_scatter(algorithm, row.size);
      }
      return set(name_of(algorithm), reduce_scatter_traffic(algorithm, ranks, row.elements, row.dtype), time);
    }
    case Operation::kAllGather: {
      const auto algorithm = row.of_model ? choice.all_gather : AllGatherAlgorithm::kRing;
      std::optional<Duration> time;
      if (algorithm != AllGatherAlgorithm::kDirect || can_be_direct) time = times.all_gather(algorithm, row.size);
      return set(name_of(algorithm), all_gather_traffic(algorithm, ranks, row.elements, row.dtype), time);
    }
    case Operation::kBroadcast:
      return set(name_of(BroadcastAlgorithm::kBinomial),
                 broadcast_traffic(BroadcastAlgorithm::kBinomial, ranks, row.elements, row.dtype),
                 times.broadcast(BroadcastAlgorithm::kBinomial, row.size));
    default:
      return;
  }
}

// What the run shows that can make a collective take longer or shorter than its formula.
std::string difference_of(const CollectiveCost& cost, const Scenario& scenario, const TrainingRecord& record) {
  if (!cost.formula.has_value() || (cost.shortest == *cost.formula && cost.longest == *cost.formula)) return "";
  std::string why;
  const auto add = [&why](const std::string& cause) { why += (why.empty() ? "" : ", ") + cause; };
  if (cost.time < *cost.formula) {
    if (cost.late > Duration()) add("ranks that came early had sent already");
    if (scenario.network.topology != nullptr) add("the formula has all messages of a round share links at once");
    if (why.empty()) add("parts of unequal size, or rounds that overlap");
    return why;
  }
  if (record.transport.has_value() && record.transport->retransmitted > 0) add("packets sent again");
  if (!record.stragglers.links.empty()) add("slow links");
  if (!record.recoveries.empty()) add("restarts");
  if (scenario.network.jitter > Duration()) add("jitter");
  if (cost.late > Duration()) add("ranks that came late one after the other");
  add("messages that wait for each other on links");
  return why;
}

// `step`: how long one is on average.
std::vector<StepLink> links_between(const Snapshot& first, const Snapshot& last, std::int64_t steps, Duration step,
                                    const Topology& topology) {
  std::vector<StepLink> uses;
  for (int i = 0; i < topology.links(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    StepLink use;
    use.name = topology.link_name(i);
    use.bandwidth = topology.link(i).bandwidth;
    use.bytes =
        static_cast<double>((last.links[index].bytes - first.links[index].bytes).count()) / static_cast<double>(steps);
    const double bytes_per_second = static_cast<double>(use.bandwidth.bits_per_second()) / 8;
    if (step > Duration()) use.utilisation = use.bytes / (bytes_per_second * step.to_seconds());
    uses.push_back(std::move(use));
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const StepLink& a, const StepLink& b) { return a.utilisation > b.utilisation; });
  return uses;
}

double flops_of_step(const Scenario& scenario, int ranks) {
  const TrainConfig& train = scenario.train;
  const BatchShare share = share_of_batch(train, ranks);
  const int stages = ParameterLayout(train.model).stages();
  double flops = 0;
  for (int stage = 0; stage < stages; ++stage) {
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      flops += static_cast<double>(
          stage_cost(train.model, share.per_microbatch(), stage, direction, train.dtype).flops.count());
    }
  }
  return flops * static_cast<double>(share.microbatches);
}

void add_prices(const Scenario& scenario, CostReport& report) {
  const double ranks = report.ranks;
  report.rank_hours_per_step = ranks * report.step.to_seconds() / 3600;
  // An ELASTIC job is paid for as it was begun.
  report.rank_hours = scenario.ranks * report.record.simulated.since_start().to_seconds() / 3600;
  if (!scenario.price_per_rank_hour.has_value()) return;
  report.price_per_step = report.rank_hours_per_step * *scenario.price_per_rank_hour;
  report.price = report.rank_hours * *scenario.price_per_rank_hour;
}

}  // namespace

CostReport cost_of(const Scenario& scenario, const std::function<bool()>& interrupted,
                   const std::function<void(std::int64_t step)>& on_step) {
  Scenario without_numbers = scenario;
  without_numbers.cost_only = true;
  StepCosts costs(scenario.ranks);
  TrainingHooks hooks;
  hooks.log_events = false;
  hooks.activities = &costs;
  TrainingSession session(without_numbers, std::nullopt, hooks);
  Snapshot first;
  Snapshot last;
  costs.set_begin_listener([&] { first = snapshot_of(session); });
  costs.set_step_listener([&](std::int64_t step) {
    last = snapshot_of(session);
    if (on_step) on_step(step);
  });
  while (session.advance(kEventsPerSlice)) {
    if (interrupted && interrupted()) break;
  }
  const std::shared_ptr<const Topology> topology = session.network_links();

  CostReport report;
  report.record = session.finish();
  report.ranks = scenario.ranks;
  for (const RecoveryRecord& recovery : report.record.recoveries) {
    if (!recovery.gone.empty()) report.ranks = recovery.ranks;
  }
  report.steps = costs.steps();
  if (report.steps == 0) {
    add_prices(scenario, report);
    return report;
  }
  const std::int64_t count = costs.rank_steps();
  const TimeSplit& sum = costs.split();
  report.step = divided(sum.whole(), count);
  report.split.computing = divided(sum.computing, count);
  report.split.overlapped = divided(sum.overlapped, count);
  report.split.exposed = divided(sum.exposed, count);
  report.split.waiting = divided(sum.waiting, count);
  report.split.other = divided(sum.other, count);
  report.shortest_step = costs.shortest_step();
  report.longest_step = costs.longest_step();
  report.path = costs.critical_path();
  report.path_step = costs.path_step();

  const bool whole_job = report.ranks == scenario.ranks;
  CollectiveTimes times(scenario.network, scenario.ranks, scenario.seed);
  const double steps = static_cast<double>(report.steps);
  for (const CallRow& row : costs.rows()) {
    if (row.calls == 0) continue;
    CollectiveCost cost;
    cost.operation = row.operation;
    cost.phase = row.phase;
    cost.of_model = row.of_model;
    cost.calls = static_cast<double>(row.calls) / steps;
    cost.size = row.size;
    cost.time = divided(row.time, row.calls);
    cost.shortest = row.shortest;
    cost.longest = row.longest;
    cost.late = divided(row.late, row.calls);
    // The formulas are of the whole job.
    if (whole_job) add_formulas(row, scenario, scenario.ranks, times, cost);
    cost.difference = difference_of(cost, scenario, report.record);
    if (cost.time > Duration()) {
      cost.algorithm_bandwidth = static_cast<double>(cost.size.count()) / cost.time.to_seconds();
      const BusFactor factor = bus_factor(cost.operation, report.ranks);
      cost.bus_bandwidth =
          cost.algorithm_bandwidth * static_cast<double>(factor.numerator) / static_cast<double>(factor.denominator);
    }
    const double whole = sum.whole().to_seconds() / static_cast<double>(count);
    if (whole > 0) cost.share = cost.calls * cost.time.to_seconds() / whole;
    report.collectives.push_back(std::move(cost));
  }

  // From the first rank's first step to the last one's last.
  for (int o = 0; o < kOperations; ++o) {
    const auto index = static_cast<std::size_t>(o);
    OperationCount counted;
    counted.operation = static_cast<Operation>(o);
    counted.messages =
        static_cast<double>(last.traffic[index].messages_sent - first.traffic[index].messages_sent) / steps;
    counted.bytes =
        static_cast<double>((last.traffic[index].bytes_sent - first.traffic[index].bytes_sent).count()) / steps;
    if (counted.messages > 0) report.counted.push_back(counted);
  }
  report.links = links_between(first, last, report.steps, report.step, *topology);

  const double seconds = report.step.to_seconds();
  if (seconds > 0) {
    const BatchShare share = share_of_batch(scenario.train, report.ranks);
    const double tokens =
        static_cast<double>(share.sequences) * report.ranks * static_cast<double>(scenario.train.model.context);
    report.tokens_per_second = tokens / seconds;
    report.flops_per_second = flops_of_step(scenario, report.ranks) / seconds;
  }
  add_prices(scenario, report);
  return report;
}

}  // namespace rehearse
