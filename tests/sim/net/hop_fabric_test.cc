// Ports at every link, and fabrics without any contention.

#include "sim/net/hop_fabric.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "sim/net/alpha_beta_fabric.h"
#include "sim/net/make_fabric.h"
#include "sim/net/make_topology.h"
#include "sim/net/port_fabric.h"
#include "tests/sim/net/fabric_bench.h"

namespace rehearse {
namespace {

using Times = std::vector<std::int64_t>;

// alpha = 1,000 ps; a byte takes 1 ps.
NetworkConfig a_network() {
  NetworkConfig config;
  config.latency = Duration::picoseconds(1000);
  config.bandwidth = Bandwidth::bits_per_second(8'000'000'000'000);
  return config;
}

LinkSpec link(std::int64_t latency_ps, std::int64_t bytes_per_100_ps) {
  return LinkSpec(Duration::picoseconds(latency_ps), Bandwidth::bits_per_second(bytes_per_100_ps * 80'000'000'000));
}

Topology a_switch(int ranks) {
  PortNetwork network;
  network.port = link(1000, 100);
  return make_ports(ranks, network);
}

template <class Made>
FabricBench run(const Topology& topology, std::vector<Transfer> transfers, const NetworkConfig& config = a_network()) {
  return FabricBench(
      [&](Kernel& kernel, FabricListener& listener) {
        return std::make_unique<Made>(kernel, listener, config, std::make_shared<const Topology>(topology),
                                      RandomStream(5));
      },
      std::move(transfers));
}

// rank 0 - a - b - rank 1, and rank 2 at b too; latencies 10, 20, 30, 40 ps, bandwidths 1, 2 and a half, 1.
Topology chain() {
  Topology topology(3);
  const int a = topology.add_switch("a");
  const int b = topology.add_switch("b");
  topology.connect(0, a, link(10, 100));
  topology.connect(a, b, link(20, 200));
  topology.connect(b, 1, link(30, 50));
  topology.connect(b, 2, link(40, 100));
  return topology;
}

TEST(HopFabric, AnIdleNetworkTakesAlphaPlusTheTransferOfTheNarrowestLink) {
  const FabricBench one = run<HopFabric>(chain(), {{0, 0, 1, 500}});
  EXPECT_EQ(one.left, (Times{500}));
  EXPECT_EQ(one.there, (Times{10 + 20 + 30 + 1000}));
  // The way back begins on the narrowest link: the next ones cannot be done before it.
  EXPECT_EQ(run<HopFabric>(chain(), {{0, 1, 0, 500}}).there, (Times{30 + 20 + 10 + 1000}));
}

TEST(HopFabric, StoreAndForwardTakesTheTransfersOfAllLinks) {
  Topology topology = chain();
  topology.set_store_and_forward();
  const FabricBench one = run<HopFabric>(topology, {{0, 0, 1, 500}});
  EXPECT_EQ(one.there, (Times{500 + 10 + 250 + 20 + 1000 + 30}));
}

// The second waits for the first at the link that both use last, and holds nobody up before.
TEST(HopFabric, EachLinkServesInTheOrderOfFirstBytes) {
  // 2's first byte is at b at 40, 0's at 30: 0 first, 1 ps per half byte, until 1030; then 2's.
  const FabricBench two = run<HopFabric>(chain(), {{0, 0, 1, 500}, {0, 2, 1, 100}});
  EXPECT_EQ(two.there, (Times{1060, 1030 + 200 + 30}));
}

TEST(HopFabric, ASlowFirstLinkHoldsFasterOnesUntilItsLastByte) {
  // From 1 to 0: the link b -> a is held from 30 to 1,030 although it could take the message in 250, so that what 2
  // sends at 300 over it waits until then.
  const FabricBench two = run<HopFabric>(chain(), {{0, 1, 0, 500}, {300, 2, 0, 100}});
  EXPECT_EQ(two.there[0], 1060);
  EXPECT_EQ(two.there[1], 1030 + 20 + 10 + 100);
}

TEST(HopFabric, OnASwitchEqualsThePortFabric) {
  RandomStream random(9);
  for (const std::int64_t jitter : {0, 700}) {
    NetworkConfig config = a_network();
    config.jitter = Duration::picoseconds(jitter);
    for (int round = 0; round < 60; ++round) {
      std::vector<Transfer> transfers;
      const std::uint64_t span = std::uint64_t{1} << random.below(14);
      for (int i = 0; i < 60; ++i) {
        Transfer t;
        t.at = static_cast<std::int64_t>(random.below(span));
        t.source = static_cast<int>(random.below(4));
        t.destination = (t.source + 1 + static_cast<int>(random.below(3))) % 4;
        t.bytes = static_cast<std::int64_t>(random.below(700));
        transfers.push_back(t);
      }
      std::stable_sort(transfers.begin(), transfers.end(), [](auto& a, auto& b) { return a.at < b.at; });
      const FabricBench hops = run<HopFabric>(a_switch(4), transfers, config);
      const FabricBench ports(
          [&](Kernel& kernel, FabricListener& listener) {
            return std::make_unique<PortFabric>(kernel, listener, config, 4, RandomStream(5).fork("jitter"));
          },
          transfers);
      ASSERT_EQ(hops.there, ports.there) << "round " << round << ", jitter " << jitter;
      ASSERT_EQ(hops.left, ports.left);
    }
  }
}

TEST(HopFabric, CountsWhatLinksCarry) {
  const FabricBench two = run<HopFabric>(chain(), {{0, 0, 1, 500}, {0, 2, 1, 100}});
  // Cables in the order of chain(), each there and back: b -> rank 1 is the fifth.
  const LinkLoad& last = two.fabric().link_loads()[4];
  EXPECT_EQ(last.messages, 2);
  EXPECT_EQ(last.bytes, Bytes(600));
  EXPECT_EQ(last.busy, Duration::picoseconds(1200));
  EXPECT_EQ(two.fabric().link_loads()[2].bytes, Bytes(500));
}

TEST(HopFabric, JitterKeepsTheOrderOfAPairOnADirectLink) {
  NetworkConfig config = a_network();
  config.jitter = Duration::picoseconds(700);
  std::vector<Transfer> transfers;
  for (int i = 0; i < 200; ++i) transfers.push_back({i, 0, 1, i % 2 == 0 ? 100 : 0});
  const FabricBench all = run<HopFabric>(make_full_mesh(2, link(1000, 100)), transfers, config);
  for (std::size_t i = 1; i < 200; ++i) EXPECT_GE(all.there[i], all.there[i - 1]);
}

// On a ring of links the ring's messages never meet; on a full mesh nobody's do but a pair's.
TEST(HopFabric, DirectLinksAreNotShared) {
  std::vector<Transfer> ring;
  for (int rank = 0; rank < 5; ++rank) ring.push_back({0, rank, (rank + 1) % 5, 500});
  EXPECT_EQ(run<HopFabric>(make_torus({5}, link(1000, 100)), ring).there, Times(5, 1500));
  std::vector<Transfer> all;
  for (int from = 0; from < 5; ++from) {
    for (int to = 0; to < 5; ++to) {
      if (from != to) all.push_back({0, from, to, 500});
    }
  }
  EXPECT_EQ(run<HopFabric>(make_full_mesh(5, link(1000, 100)), all).there, Times(20, 1500));
}

TEST(AlphaBetaFabric, NothingIsInTheWay) {
  const FabricBench all =
      run<AlphaBetaFabric>(a_switch(4), {{0, 1, 0, 500}, {0, 2, 0, 500}, {0, 3, 0, 400}, {0, 3, 1, 700}});
  EXPECT_EQ(all.left, (Times{500, 500, 400, 700}));
  EXPECT_EQ(all.there, (Times{1500, 1500, 1400, 1700}));
  EXPECT_EQ(run<AlphaBetaFabric>(chain(), {{0, 0, 1, 500}}).there, (Times{1060}));
}

TEST(AlphaBetaFabric, APairKeepsItsOrder) {
  const FabricBench all = run<AlphaBetaFabric>(a_switch(2), {{0, 0, 1, 500}, {100, 0, 1, 10}, {700, 0, 1, 10}});
  EXPECT_EQ(all.there, (Times{1500, 1500, 1710}));
  EXPECT_EQ(all.order, (std::vector<std::uint64_t>{0, 1, 2}));
}

// o = 50, g = 80; alpha = 1,000. Rank 1 begins at 0, 80 and 160 to send, 50 later each leaves. Rank 0 has the first at
// 1,060 and is done with it at 1,110; the others come 80 apart, as do 2's to it in between: each waits its turn.
TEST(OverheadFabric, RanksWorkOnOneMessageAfterTheOther) {
  NetworkConfig config = a_network();
  config.overhead = Duration::picoseconds(50);
  config.gap = Duration::picoseconds(80);
  const FabricBench all(
      [&](Kernel& kernel, FabricListener& listener) {
        return make_fabric(kernel, listener, config, 3, RandomStream(5));
      },
      {{0, 1, 0, 10}, {0, 1, 0, 10}, {0, 1, 2, 10}, {10, 2, 0, 10}});
  EXPECT_EQ(all.left, (Times{60, 140, 220, 70}));
  EXPECT_EQ(all.there, (Times{1110, 1270, 1270, 1190}));
}

TEST(IdealFabric, TakesNoTimeAndKeepsTheOrder) {
  const FabricBench all(
      [](Kernel& kernel, FabricListener& listener) { return std::make_unique<IdealFabric>(kernel, listener); },
      {{7, 0, 1, 500}, {7, 0, 1, 0}, {9, 1, 0, 1 << 30}});
  EXPECT_EQ(all.left, (Times{7, 7, 9}));
  EXPECT_EQ(all.there, (Times{7, 7, 9}));
  EXPECT_EQ(all.order, (std::vector<std::uint64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace rehearse
