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

LinkUse busiest_link(const World& world) {
  LinkUse best;
  const std::shared_ptr<const Topology> links = world.network_links();
  const std::vector<LinkLoad> loads = world.link_loads();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const int index = static_cast<int>(i);
    const Duration busy = transfer_time(loads[i].bytes, links->link(index).bandwidth);
    if (loads[i].messages == 0 || (best.messages > 0 && busy <= best.busy)) continue;
    best = LinkUse{links->link_name(index), loads[i].messages, loads[i].bytes, busy};
  }
  return best;
}

Bytes sent_by(const Network& network, int rank) {
  Bytes sent;
  for (int k = 0; k < kOperations; ++k) sent += network.counters(rank, static_cast<Operation>(k)).bytes_sent;
  return sent;
}

std::int64_t share_ppb(Duration part, Duration whole) {
  if (whole == Duration()) return 0;
  return static_cast<std::int64_t>(static_cast<__int128>(part.ps()) * 1'000'000'000 / whole.ps());
}

}  // namespace

BenchCluster bench_cluster(const Scenario& scenario) {
  BenchCluster cluster;
  cluster.ranks = scenario.ranks;
  cluster.most_ranks = scenario.known_ranks();
  cluster.network = scenario.network;
  cluster.seed = scenario.seed;
  return cluster;
}

BenchRun run_bench(const BenchCluster& cluster, const std::function<Task<>(RankContext&)>& program) {
  WorldConfig config;
  config.ranks = cluster.ranks;
  config.most_ranks = cluster.most_ranks;
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
  for (int rank = 0; rank < world.ranks(); ++rank) {
    run.bytes_of_a_rank = std::max(run.bytes_of_a_rank, sent_by(network, rank));
  }
  if (cluster.network.fabric != FabricKind::kIdeal) run.bottleneck = busiest_link(world);
  run.bottleneck.utilisation_ppb = share_ppb(run.bottleneck.busy, run.time);
  return run;
}

}  // namespace rehearse
