#include "sim/cost/bench_world.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "sim/config/scenario.h"
#include "sim/net/topology.h"

namespace rehearse {
namespace {

Task<> timed(Duration& finished, RankContext& context, Task<> program) {
  co_await std::move(program);
  finished = std::max(finished, context.clock().now().since_start());
}

void consider(LinkUse& best, const LinkUse& link) {
  if (link.messages > 0 && (best.messages == 0 || link.busy > best.busy)) best = link;
}

// The ports of a switch, which its fabric does not count: from what the ranks sent and received.
LinkUse busiest_port(const World& world, const std::vector<TrafficCounters>& traffic, Bandwidth bandwidth) {
  LinkUse best;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    const TrafficCounters& own = traffic[static_cast<std::size_t>(rank)];
    const std::string name = "rank " + std::to_string(rank);
    consider(best,
             LinkUse{name + " -> switch", own.messages_sent, own.bytes_sent, transfer_time(own.bytes_sent, bandwidth)});
    consider(best, LinkUse{"switch -> " + name, own.messages_received, own.bytes_received,
                           transfer_time(own.bytes_received, bandwidth)});
  }
  return best;
}

LinkUse busiest_link(const Topology& topology, std::span<const LinkLoad> loads) {
  LinkUse best;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const Duration busy = transfer_time(loads[i].bytes, topology.link(static_cast<int>(i)).bandwidth);
    if (loads[i].messages == 0 || (best.messages > 0 && busy <= best.busy)) continue;
    best = LinkUse{topology.link_name(static_cast<int>(i)), loads[i].messages, loads[i].bytes, busy};
  }
  return best;
}

std::vector<TrafficCounters> traffic_of_ranks(const World& world, const Network& network) {
  std::vector<TrafficCounters> traffic(static_cast<std::size_t>(world.ranks()));
  for (int rank = 0; rank < world.ranks(); ++rank) {
    TrafficCounters& sum = traffic[static_cast<std::size_t>(rank)];
    for (int k = 0; k < kOperations; ++k) {
      const TrafficCounters& one = network.counters(rank, static_cast<Operation>(k));
      sum.messages_sent += one.messages_sent;
      sum.messages_received += one.messages_received;
      sum.bytes_sent += one.bytes_sent;
      sum.bytes_received += one.bytes_received;
    }
  }
  return traffic;
}

std::int64_t share_ppb(Duration part, Duration whole) {
  if (whole == Duration()) return 0;
  return static_cast<std::int64_t>(static_cast<__int128>(part.ps()) * 1'000'000'000 / whole.ps());
}

}  // namespace

BenchCluster bench_cluster(const Scenario& scenario) {
  BenchCluster cluster;
  cluster.ranks = scenario.ranks;
  cluster.network = scenario.network;
  cluster.seed = scenario.seed;
  return cluster;
}

BenchRun run_bench(const BenchCluster& cluster, const std::function<Task<>(RankContext&)>& program) {
  WorldConfig config;
  config.ranks = cluster.ranks;
  config.seed = cluster.seed;
  config.network = cluster.network;
  config.storing = Storing::kShapeOnly;
  World world(config);
  BenchRun run;
  world.start_all([&run, &program](RankContext& context) { return timed(run.time, context, program(context)); });
  const RunEnd end = world.run();
  for (int rank = 0; rank < world.ranks(); ++rank) {
    if (world.error(rank) != nullptr) std::rethrow_exception(world.error(rank));
  }
  if (end != RunEnd::kDone) {
    check_failed(__FILE__, __LINE__, "a collective hangs:\n" + describe_waiting(world.kernel().waiting()));
  }
  const Network& network = world.network();
  run.messages = network.messages();
  run.bytes = network.bytes_on_wire();
  const std::vector<TrafficCounters> traffic = traffic_of_ranks(world, network);
  for (const TrafficCounters& own : traffic) run.bytes_of_a_rank = std::max(run.bytes_of_a_rank, own.bytes_sent);
  if (cluster.network.topology != nullptr) {
    run.bottleneck = busiest_link(*cluster.network.topology, network.fabric().link_loads());
  } else if (cluster.network.fabric != FabricKind::kIdeal) {
    run.bottleneck = busiest_port(world, traffic, cluster.network.bandwidth);
  }
  run.bottleneck.utilisation_ppb = share_ppb(run.bottleneck.busy, run.time);
  return run;
}

}  // namespace rehearse
