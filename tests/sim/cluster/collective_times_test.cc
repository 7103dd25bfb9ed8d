// The formulas over a network's links: those of the literature on a plain switch, and near the simulated times where
// messages of a round share a link.

#include "sim/config/collective_times.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "core/comm/collectives.h"
#include "core/comm/cost_formulas.h"
#include "sim/cluster/world.h"
#include "sim/net/make_topology.h"

namespace rehearse {
namespace {

constexpr std::uint64_t kSeed = 1;
const LinkSpec kPort(Duration::microseconds(5), Bandwidth::bits_per_second(100'000'000'000));

NetworkConfig plain() {
  NetworkConfig network;
  network.latency = kPort.latency;
  network.bandwidth = kPort.bandwidth;
  return network;
}

NetworkConfig over(Topology topology) {
  NetworkConfig network = plain();
  network.topology = std::make_shared<const Topology>(std::move(topology));
  return network;
}

// Hosts of four with one NIC each.
NetworkConfig shared_nics(int ranks) {
  HostNetwork hosts;
  hosts.ranks_per_host = 4;
  hosts.inside = LinkSpec(Duration::microseconds(1), Bandwidth::bits_per_second(800'000'000'000));
  hosts.shared_nic = true;
  PortNetwork ports;
  ports.port = kPort;
  return over(make_hosts(ranks, hosts, ports));
}

// Leaves of four ports with uplinks of a quarter of their bandwidth.
NetworkConfig oversubscribed(int ranks) {
  PortNetwork ports;
  ports.port = kPort;
  ports.ports_per_leaf = 4;
  ports.spines = 1;
  ports.uplink = LinkSpec(Duration::microseconds(1), kPort.bandwidth);
  return over(make_ports(ranks, ports));
}

using Collective = std::function<Task<>(ProcessGroup&, BufferView)>;

Task<> on_shape(RankContext& context, const Collective& collective, BufferView shape) {
  ProcessGroup group = ProcessGroup::world(context);
  co_await collective(group, shape);
}

Duration simulated(const Collective& collective, int ranks, Bytes size, const NetworkConfig& network) {
  WorldConfig config;
  config.ranks = ranks;
  config.seed = kSeed;
  config.network = network;
  config.storing = Storing::kShapeOnly;
  World world(config);
  BufferView shape;
  shape.dtype = DType::kFloat32;
  shape.count = size.count() / 4;
  world.start_all([&](RankContext& context) { return on_shape(context, collective, shape); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  return world.now().since_start();
}

constexpr AllReduceAlgorithm kAllReduces[] = {
    AllReduceAlgorithm::kRing,         AllReduceAlgorithm::kHalvingDoubling,  AllReduceAlgorithm::kRecursiveDoubling,
    AllReduceAlgorithm::kBinomialTree, AllReduceAlgorithm::kDoubleBinaryTree, AllReduceAlgorithm::kHierarchical};
constexpr ReduceScatterAlgorithm kReduceScatters[] = {
    ReduceScatterAlgorithm::kRing, ReduceScatterAlgorithm::kRecursiveHalving, ReduceScatterAlgorithm::kDirect};
constexpr AllGatherAlgorithm kAllGathers[] = {AllGatherAlgorithm::kRing, AllGatherAlgorithm::kRecursiveDoubling,
                                              AllGatherAlgorithm::kDirect};

TEST(CollectiveTimes, AreThoseOfTheLiteratureOnASwitch) {
  const NetworkConfig network = plain();
  const LinkCost link(network.latency, network.bandwidth);
  for (const int ranks : {1, 2, 3, 4, 6, 8, 16, 17, 64}) {
    CollectiveTimes times(network, ranks, kSeed);
    const Bytes size(std::int64_t{64} * 1024 * ranks);
    for (const AllReduceAlgorithm algorithm : kAllReduces) {
      for (const int host : {1, 2, ranks}) {
        const AlgorithmOptions options(Bytes(16 * 1024), host);
        if (!can_do(algorithm, ranks, options)) continue;
        EXPECT_EQ(times.all_reduce(algorithm, size, options), all_reduce_time(algorithm, ranks, size, link, options))
            << name_of(algorithm) << " on " << ranks;
      }
    }
    for (const ReduceScatterAlgorithm algorithm : kReduceScatters) {
      EXPECT_EQ(times.reduce_scatter(algorithm, size), reduce_scatter_time(algorithm, ranks, size, link))
          << name_of(algorithm) << " on " << ranks;
    }
    for (const AllGatherAlgorithm algorithm : kAllGathers) {
      EXPECT_EQ(times.all_gather(algorithm, size), all_gather_time(algorithm, ranks, size, link))
          << name_of(algorithm) << " on " << ranks;
    }
    for (const BroadcastAlgorithm algorithm : {BroadcastAlgorithm::kBinomial, BroadcastAlgorithm::kChain}) {
      EXPECT_EQ(times.broadcast(algorithm, size), broadcast_time(algorithm, ranks, size, link))
          << name_of(algorithm) << " on " << ranks;
    }
    EXPECT_EQ(times.barrier(), barrier_time(ranks, link));
  }
}

// A ring crosses each NIC and each uplink once in each direction: nothing is in its way. Long messages wait for the
// slowest link, short ones for the slowest way around; the formula is exact for both.
TEST(CollectiveTimes, OfARingAreExactWhereLinksAreNotShared) {
  for (const NetworkConfig& network : {shared_nics(16), oversubscribed(16)}) {
    CollectiveTimes times(network, 16, kSeed);
    const auto ring = [](ProcessGroup& group, BufferView buffer) { return all_reduce(group, buffer); };
    for (const Bytes size : {Bytes(1 << 10), Bytes(16 << 20)}) {
      EXPECT_EQ(times.all_reduce(AllReduceAlgorithm::kRing, size, AlgorithmOptions()).ps(),
                simulated(ring, 16, size, network).ps())
          << size.count();
    }
  }
}

// Recursions over one NIC for four ranks, or one uplink for four ports: four messages wait for each other in some
// rounds, and not in others.
TEST(CollectiveTimes, AreNearTheSimulatedOnesWhereMessagesShareLinks) {
  const Bytes size(16 << 20);
  for (const NetworkConfig& network : {shared_nics(16), oversubscribed(16)}) {
    CollectiveTimes times(network, 16, kSeed);
    for (const AllReduceAlgorithm algorithm : kAllReduces) {
      const AlgorithmOptions options(Bytes(128 * 1024), 4);
      const auto one = [&](ProcessGroup& group, BufferView buffer) {
        return all_reduce(group, buffer, algorithm, options);
      };
      const double found = simulated(one, 16, size, network).to_seconds();
      const double formula = times.all_reduce(algorithm, size, options).to_seconds();
      RecordProperty(std::string(name_of(algorithm)) + "_formula_over_simulated", std::to_string(formula / found));
      EXPECT_GT(formula / found, 0.9) << name_of(algorithm);
      EXPECT_LT(formula / found, 1.05) << name_of(algorithm);
    }
  }
}

TEST(CollectiveTimes, ShareNothingWhereTheFabricDoesNot) {
  NetworkConfig network = shared_nics(16);
  network.fabric = FabricKind::kAlphaBeta;
  const Bytes size(16 << 20);
  CollectiveTimes times(network, 16, kSeed);
  const AlgorithmOptions options(Bytes(), 4);
  for (const AllReduceAlgorithm algorithm :
       {AllReduceAlgorithm::kRing, AllReduceAlgorithm::kHalvingDoubling, AllReduceAlgorithm::kRecursiveDoubling}) {
    const auto one = [&](ProcessGroup& group, BufferView buffer) {
      return all_reduce(group, buffer, algorithm, options);
    };
    EXPECT_EQ(times.all_reduce(algorithm, size, options).ps(), simulated(one, 16, size, network).ps())
        << name_of(algorithm);
  }
  network.fabric = FabricKind::kIdeal;
  CollectiveTimes ideal(network, 16, kSeed);
  EXPECT_EQ(ideal.all_reduce(AllReduceAlgorithm::kRing, size, options), Duration());
}

}  // namespace
}  // namespace rehearse
