#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "sim/net/make_topology.h"
#include "sim/net/routes.h"

namespace rehearse {
namespace {

LinkSpec spec(std::int64_t latency_ps = 1000, std::int64_t bits = 1'000'000'000) {
  return LinkSpec(Duration::picoseconds(latency_ps), Bandwidth::bits_per_second(bits));
}

PortNetwork one_switch() {
  PortNetwork network;
  network.port = spec();
  return network;
}

PortNetwork leaf_spine(int ports_per_leaf, int spines, int rails = 1) {
  PortNetwork network = one_switch();
  network.ports_per_leaf = ports_per_leaf;
  network.spines = spines;
  network.rails = rails;
  network.uplink = spec(10);
  return network;
}

// "rank 0 -> switch -> rank 1".
std::string way(const Topology& topology, Routes& routes, int source, int destination, std::uint64_t label = 0) {
  std::vector<int> links;
  routes.find(source, destination, label, links);
  std::string text = topology.node_name(source);
  int at = source;
  for (const int link : links) {
    EXPECT_EQ(topology.link(link).from, at);
    at = topology.link(link).to;
    text += " -> " + topology.node_name(at);
  }
  EXPECT_EQ(at, destination);
  return text;
}

TEST(Topology, ASwitchIsTwoLinksAwayAndItsLatencyCountsOnce) {
  const Topology topology = make_ports(4, one_switch());
  Routes routes(topology, RandomStream(1));
  EXPECT_EQ(way(topology, routes, 3, 1), "rank 3 -> switch -> rank 1");
  std::vector<int> links;
  routes.find(3, 1, 0, links);
  EXPECT_EQ(topology.link(links[0]).latency + topology.link(links[1]).latency, Duration::picoseconds(1000));
  EXPECT_EQ(topology.link_name(links[1]), "switch -> rank 1");
}

TEST(Topology, AFullMeshHasALinkForEachPair) {
  const Topology topology = make_full_mesh(5, spec());
  EXPECT_EQ(topology.links(), 20);
  Routes routes(topology, RandomStream(1));
  std::set<int> used;
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b) {
      if (a == b) continue;
      std::vector<int> links;
      routes.find(a, b, 0, links);
      ASSERT_EQ(links.size(), 1U);
      EXPECT_EQ(topology.link(links[0]).from, a);
      EXPECT_EQ(topology.link(links[0]).to, b);
      used.insert(links[0]);
    }
  }
  EXPECT_EQ(used.size(), 20U);
}

TEST(Topology, ARingGoesTheShorterWay) {
  const Topology topology = make_torus({5}, spec());
  EXPECT_EQ(topology.links(), 10);
  Routes routes(topology, RandomStream(1));
  EXPECT_EQ(way(topology, routes, 0, 2), "rank 0 -> rank 1 -> rank 2");
  EXPECT_EQ(way(topology, routes, 0, 3), "rank 0 -> rank 4 -> rank 3");
}

TEST(Topology, HalfwayAroundAnEvenRingBothWaysAreTaken) {
  const Topology topology = make_torus({8}, spec());
  Routes routes(topology, RandomStream(1));
  std::set<std::string> ways;
  for (std::uint64_t label = 0; label < 40; ++label) ways.insert(way(topology, routes, 0, 4, label));
  EXPECT_EQ(ways.size(), 2U);
}

TEST(Topology, ATorusIsCrossedDimensionByDimensionInTheFewestHops) {
  const std::vector<int> sizes = {4, 3, 2};
  const Topology topology = make_torus(sizes, spec());
  // Dimension sizes 4 and 3 give every rank two cables, size 2 one.
  EXPECT_EQ(topology.links(), 24 * (2 + 2 + 1));
  Routes routes(topology, RandomStream(1));
  for (int a = 0; a < 24; ++a) {
    for (int b = 0; b < 24; ++b) {
      if (a == b) continue;
      std::size_t hops = 0;
      int stride = 1;
      for (const int size : sizes) {
        const int apart = std::abs(a / stride % size - b / stride % size);
        hops += static_cast<std::size_t>(std::min(apart, size - apart));
        stride *= size;
      }
      std::vector<int> links;
      routes.find(a, b, 0, links);
      EXPECT_EQ(links.size(), hops);
      way(topology, routes, a, b);
    }
  }
  EXPECT_EQ(way(topology, routes, 0, 23), "rank 0 -> rank 3 -> rank 11 -> rank 23");
}

TEST(Topology, RanksOfAHostStayInside) {
  HostNetwork hosts;
  hosts.ranks_per_host = 2;
  hosts.inside = spec(100);
  for (const bool shared : {false, true}) {
    hosts.shared_nic = shared;
    const Topology topology = make_hosts(5, hosts, one_switch());
    Routes routes(topology, RandomStream(1));
    EXPECT_EQ(way(topology, routes, 0, 1), "rank 0 -> host 0 -> rank 1");
    EXPECT_EQ(way(topology, routes, 0, 3),
              shared ? "rank 0 -> host 0 -> switch -> host 1 -> rank 3" : "rank 0 -> switch -> rank 3");
    EXPECT_EQ(way(topology, routes, 4, 0),
              shared ? "rank 4 -> host 2 -> switch -> host 0 -> rank 0" : "rank 4 -> switch -> rank 0");
  }
}

TEST(Topology, LeavesAreJoinedBySpines) {
  const Topology topology = make_ports(8, leaf_spine(4, 2));
  Routes routes(topology, RandomStream(1));
  EXPECT_EQ(way(topology, routes, 0, 3), "rank 0 -> leaf 0 -> rank 3");
  std::set<std::string> ways;
  for (std::uint64_t label = 0; label < 40; ++label) ways.insert(way(topology, routes, 0, 4, label));
  EXPECT_EQ(ways, (std::set<std::string>{"rank 0 -> leaf 0 -> spine 0 -> leaf 1 -> rank 4",
                                         "rank 0 -> leaf 0 -> spine 1 -> leaf 1 -> rank 4"}));
}

TEST(Topology, ARailJoinsTheRanksOfOnePlaceInTheirHosts) {
  HostNetwork hosts;
  hosts.ranks_per_host = 2;
  hosts.inside = spec(100);
  const Topology topology = make_hosts(8, hosts, leaf_spine(4, 1, 2));
  Routes routes(topology, RandomStream(1));
  EXPECT_EQ(way(topology, routes, 0, 6), "rank 0 -> leaf 0 of rail 0 -> rank 6");
  EXPECT_EQ(way(topology, routes, 1, 7), "rank 1 -> leaf 1 of rail 1 -> rank 7");
  EXPECT_EQ(way(topology, routes, 0, 1), "rank 0 -> host 0 -> rank 1");
  EXPECT_EQ(way(topology, routes, 0, 7), "rank 0 -> leaf 0 of rail 0 -> spine 0 -> leaf 1 of rail 1 -> rank 7");
}

TEST(Routes, ArePureFunctionsOfStreamRanksAndLabel) {
  const Topology topology = make_ports(16, leaf_spine(4, 8));
  Routes asked(topology, RandomStream(7));
  for (int r = 1; r < 16; ++r) way(topology, asked, 0, r);  // whatever was asked before
  Routes fresh(topology, RandomStream(7));
  Routes other(topology, RandomStream(8));
  std::map<std::string, int> taken;
  int differ = 0;
  for (int a = 0; a < 4; ++a) {
    for (int b = 4; b < 16; ++b) {
      const std::string one = way(topology, asked, a, b);
      EXPECT_EQ(one, way(topology, fresh, a, b));
      differ += one == way(topology, other, a, b) ? 0 : 1;
      ++taken[one.substr(one.find("spine"), 7)];
    }
  }
  EXPECT_GT(differ, 20);
  // 48 ways over 8 spines: no spine is left out, none has a quarter.
  EXPECT_EQ(taken.size(), 8U);
  for (const auto& [spine, ways] : taken) EXPECT_LT(ways, 13) << spine;
}

// A graph with one way that is longer but cheaper.
TEST(Routes, TakeTheLeastCost) {
  Topology topology(2);
  const int a = topology.add_switch("a");
  const int b = topology.add_switch("b");
  topology.connect(0, a, spec());
  topology.connect(a, 1, spec(), 3);
  topology.connect(a, b, spec());
  topology.connect(b, 1, spec());
  Routes routes(topology, RandomStream(1));
  EXPECT_EQ(way(topology, routes, 0, 1), "rank 0 -> a -> b -> rank 1");
  EXPECT_EQ(way(topology, routes, 1, 0), "rank 1 -> b -> a -> rank 0");
}

TEST(Routes, RanksPassNothingOnUnlessTheyAreJoinedDirectly) {
  Topology chain(3);
  chain.connect(0, 1, spec());
  chain.connect(1, 2, spec());
  Routes routes(chain, RandomStream(1));
  EXPECT_TRUE(routes.exists(0, 1));
  EXPECT_FALSE(routes.exists(0, 2));
  chain.set_ranks_forward();
  Routes forwarding(chain, RandomStream(1));
  EXPECT_TRUE(forwarding.exists(0, 2));
  EXPECT_EQ(way(chain, forwarding, 0, 2), "rank 0 -> rank 1 -> rank 2");
}

TEST(Routes, OneWayLinksAreOneWay) {
  Topology topology(2);
  const int a = topology.add_switch("a");
  topology.connect(0, a, spec());
  topology.add_link(a, 1, spec());
  Routes routes(topology, RandomStream(1));
  EXPECT_TRUE(routes.exists(0, 1));
  EXPECT_FALSE(routes.exists(1, 0));
}

// 16,384 ranks below 512 leaves and 16 spines: ways in memory would be 268 million.
TEST(Routes, OfManyRanksTakeLittleMemory) {
  const Topology topology = make_ports(16'384, leaf_spine(32, 16));
  Routes routes(topology, RandomStream(1));
  std::vector<int> links;
  for (int rank = 0; rank < 16'384; ++rank) {
    routes.find(rank, (rank + 8'191) % 16'384, 0, links);
    ASSERT_EQ(links.size(), 4U);
  }
  EXPECT_LT(routes.table_bytes(), std::size_t{64} << 20);
}

}  // namespace
}  // namespace rehearse
