// Fair sharing, against times worked out by hand. A byte takes 1 ps on a link of 8 Tbit/s.

#include "sim/net/max_min_fabric.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.h"
#include "sim/net/make_topology.h"
#include "tests/sim/net/fabric_bench.h"

namespace rehearse {
namespace {

using Times = std::vector<std::int64_t>;

constexpr std::int64_t kByteAPicosecond = 8'000'000'000'000;

NetworkConfig a_network() {
  NetworkConfig config;
  config.latency = Duration::picoseconds(1000);
  config.bandwidth = Bandwidth::bits_per_second(kByteAPicosecond);
  return config;
}

PortNetwork one_switch() {
  PortNetwork network;
  network.port = LinkSpec(a_network().latency, a_network().bandwidth);
  return network;
}

// Leaves of `ports` ranks below one spine that they share a single uplink of `factor` times a port's bandwidth to; 100
// ps a way.
PortNetwork one_spine(int ports, std::int64_t factor) {
  PortNetwork network = one_switch();
  network.ports_per_leaf = ports;
  network.spines = 1;
  network.uplink = LinkSpec(Duration::picoseconds(100), Bandwidth::bits_per_second(factor * kByteAPicosecond));
  return network;
}

FabricBench bench(const Topology& topology, std::vector<Transfer> transfers,
                  const NetworkConfig& config = a_network()) {
  return FabricBench(
      [&](Kernel& kernel, FabricListener& listener) {
        return std::make_unique<MaxMinFabric>(kernel, listener, config, std::make_shared<const Topology>(topology),
                                              RandomStream(1));
      },
      std::move(transfers));
}

FabricBench on_switch(int ranks, std::vector<Transfer> transfers) {
  return bench(make_ports(ranks, one_switch()), std::move(transfers));
}

TEST(MaxMinFabric, AnIdleNetworkTakesAlphaPlusTransfer) {
  const FabricBench run = on_switch(2, {{0, 0, 1, 500}, {5000, 1, 0, 0}});
  EXPECT_EQ(run.left, (Times{500, 5000}));
  EXPECT_EQ(run.there, (Times{1500, 6000}));
}

TEST(MaxMinFabric, IncastOfKSendersTakesAlphaPlusKTransfersForAllOfThem) {
  for (const int k : {2, 3, 7, 8, 13, 100}) {
    std::vector<Transfer> transfers;
    for (int sender = 1; sender <= k; ++sender) transfers.push_back({0, sender, 0, 500});
    const FabricBench run = on_switch(k + 1, transfers);
    EXPECT_EQ(run.there, Times(static_cast<std::size_t>(k), 1000 + 500 * k)) << k;
  }
}

TEST(MaxMinFabric, ARingOnASwitchIsNotSlowed) {
  std::vector<Transfer> transfers;
  for (int rank = 0; rank < 5; ++rank) transfers.push_back({0, rank, (rank + 1) % 5, 500});
  EXPECT_EQ(on_switch(5, transfers).there, Times(5, 1500));
}

TEST(MaxMinFabric, MessagesOfOnePairGoOneAfterTheOther) {
  const FabricBench run = on_switch(2, {{0, 0, 1, 500}, {0, 0, 1, 0}, {0, 0, 1, 200}, {100, 0, 1, 50}});
  EXPECT_EQ(run.left, (Times{500, 500, 700, 750}));
  EXPECT_EQ(run.there, (Times{1500, 1500, 1700, 1750}));
  EXPECT_EQ(run.order, (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

// Alone until 300, both at half the rate until the short one is gone at 700, alone again.
TEST(MaxMinFabric, AFlowJoinsAndLeavesMidway) {
  const FabricBench run = on_switch(3, {{0, 1, 0, 1000}, {300, 2, 0, 200}});
  EXPECT_EQ(run.left, (Times{1200, 700}));
  EXPECT_EQ(run.there, (Times{2200, 1700}));
}

// Thirds: from 100 on there are three. The first has 800 left then and would take until 2,500; the others end at 700,
// after 200 each; the first has 600 left.
TEST(MaxMinFabric, ThirdsAreExact) {
  const FabricBench run = on_switch(4, {{0, 1, 0, 900}, {100, 2, 0, 200}, {100, 3, 0, 200}});
  EXPECT_EQ(run.left, (Times{1300, 700, 700}));
}

// 1 takes half of 0's port and half of 2's; what it leaves of 2's is another's.
TEST(MaxMinFabric, WhatAnotherCannotUseIsUsed) {
  // 0 -> 3 and 0 -> 4 share the port of 0: a half each. 1 -> 4 gets the other half of 4's.
  EXPECT_EQ(on_switch(5, {{0, 0, 3, 500}, {0, 0, 4, 500}, {0, 1, 4, 500}}).left, (Times{1000, 1000, 1000}));
  // Three on the port of 0: a third each; 1 -> 4 has two thirds of 4's until it is done at 750, of 500.
  EXPECT_EQ(on_switch(6, {{0, 0, 3, 500}, {0, 0, 4, 500}, {0, 0, 5, 500}, {0, 1, 4, 500}}).left,
            (Times{1500, 1500, 1500, 750}));
}

// Four ranks on each of two leaves, uplinks of one port: 4 x 4 flows of 300 cross each uplink, 4,800 in all. Those
// inside a leaf, three at each port, have what 4 flows of 1/16 leave: 3/4 over 3, a quarter: done at 1,200. Then the
// uplink is still the narrowest.
TEST(MaxMinFabric, AllToAllOnAnOversubscribedTree) {
  std::vector<Transfer> transfers;
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (from != to) transfers.push_back({0, from, to, 300});
    }
  }
  const FabricBench run = bench(make_ports(8, one_spine(4, 1)), transfers);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const bool inside = transfers[i].source / 4 == transfers[i].destination / 4;
    EXPECT_EQ(run.left[i], inside ? 1200 : 4800);
    EXPECT_EQ(run.there[i], inside ? 1200 + 1000 : 4800 + 1200);
  }
}

// Each of two jobs sends two messages over the spine: one job alone has half of the uplink for each, from 400 on there
// are four. Job A has 600 of each 800 left at 400, which take 2,400 as all four go on: until 2,800, when B has 200 left
// of each, at a half: until 3,200.
TEST(MaxMinFabric, TwoJobsShareASpine) {
  const FabricBench run =
      bench(make_ports(8, one_spine(4, 1)), {{0, 0, 4, 800}, {0, 1, 5, 800}, {400, 2, 6, 800}, {400, 3, 7, 800}});
  EXPECT_EQ(run.left, (Times{2800, 2800, 3200, 3200}));
}

TEST(MaxMinFabric, CountsWhatLinksCarry) {
  const FabricBench run = on_switch(3, {{0, 1, 0, 1000}, {300, 2, 0, 200}, {5000, 1, 0, 100}});
  const std::span<const LinkLoad> loads = run.fabric().link_loads();
  // Links of rank r: 2 r up, 2 r + 1 down.
  EXPECT_EQ(loads[1].messages, 3);
  EXPECT_EQ(loads[1].bytes, Bytes(1300));
  EXPECT_EQ(loads[1].busy, Duration::picoseconds(1200 + 100));
  EXPECT_EQ(loads[2].busy, Duration::picoseconds(1200 + 100));
  EXPECT_EQ(loads[4].busy, Duration::picoseconds(400));
  EXPECT_EQ(loads[0].messages, 0);
}

// Any traffic, worked out in doubles in the plainest way.
std::vector<double> plain_times(const Topology& topology, const std::vector<Transfer>& transfers) {
  struct Active {
    std::size_t index;
    double left;
    double rate = 0;
  };
  std::vector<double> ends(transfers.size());
  std::vector<Active> active;
  Routes routes(topology, RandomStream(1).fork("routes"));
  std::vector<std::vector<int>> ways(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    routes.find(transfers[i].source, transfers[i].destination, 0, ways[i]);
  }
  double now = 0;
  std::size_t next = 0;
  while (next < transfers.size() || !active.empty()) {
    // Fill.
    std::vector<double> room(static_cast<std::size_t>(topology.links()));
    for (int i = 0; i < topology.links(); ++i) {
      room[static_cast<std::size_t>(i)] = static_cast<double>(topology.link(i).bandwidth.bits_per_second()) / 8e12;
    }
    for (Active& one : active) one.rate = -1;
    for (std::size_t filled = 0; filled < active.size();) {
      double least = 1e300;
      int narrowest = -1;
      for (int link = 0; link < topology.links(); ++link) {
        int count = 0;
        for (const Active& one : active) {
          count += one.rate < 0 && std::count(ways[one.index].begin(), ways[one.index].end(), link) > 0 ? 1 : 0;
        }
        if (count > 0 && room[static_cast<std::size_t>(link)] / count < least) {
          least = room[static_cast<std::size_t>(link)] / count;
          narrowest = link;
        }
      }
      for (Active& one : active) {
        const std::vector<int>& way = ways[one.index];
        if (one.rate >= 0 || std::count(way.begin(), way.end(), narrowest) == 0) continue;
        one.rate = least;
        ++filled;
        for (const int link : way) room[static_cast<std::size_t>(link)] -= least;
      }
    }
    double until = next < transfers.size() ? static_cast<double>(transfers[next].at) : 1e300;
    for (const Active& one : active) until = std::min(until, now + one.left / one.rate);
    for (Active& one : active) one.left -= one.rate * (until - now);
    now = until;
    for (const Active& one : active) {
      if (one.left < 1e-6) ends[one.index] = now;
    }
    std::erase_if(active, [](const Active& one) { return one.left < 1e-6; });
    while (next < transfers.size() && static_cast<double>(transfers[next].at) <= now) {
      active.push_back({next, static_cast<double>(transfers[next].bytes)});
      ++next;
    }
  }
  return ends;
}

TEST(MaxMinFabric, RandomTrafficEqualsPlainSharing) {
  RandomStream random(3);
  for (int round = 0; round < 12; ++round) {
    const Topology topology = round % 2 == 0 ? make_ports(8, one_spine(2, 1)) : make_torus({3, 3}, one_switch().port);
    // Each pair once: the pairs have their messages one after the other, which plain sharing knows nothing of.
    std::vector<Transfer> transfers;
    for (int from = 0; from < 8; ++from) {
      for (int to = 0; to < 8; ++to) {
        if (from == to || random.below(2) == 0) continue;
        transfers.push_back({static_cast<std::int64_t>(random.below(20'000)), from, to,
                             static_cast<std::int64_t>(1 + random.below(9'000))});
      }
    }
    std::stable_sort(transfers.begin(), transfers.end(), [](auto& a, auto& b) { return a.at < b.at; });
    const FabricBench run = bench(topology, transfers);
    const std::vector<double> expected = plain_times(topology, transfers);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      // Times are rounded up one by one; who ends later frees its links later.
      ASSERT_NEAR(static_cast<double>(run.left[i]), expected[i], 3) << "round " << round << ", message " << i;
    }
  }
}

TEST(MaxMinFabric, EndsOfOneMomentAreInTheOrderInWhichTheyBegan) {
  std::vector<Transfer> transfers;
  for (int from = 7; from >= 0; --from) {
    for (int to = 0; to < 8; ++to) {
      if (from != to) transfers.push_back({0, from, to, 100});
    }
  }
  const FabricBench run = on_switch(8, transfers);
  for (std::uint64_t i = 0; i < run.order.size(); ++i) EXPECT_EQ(run.order[i], i);
}

// What begins or ends at one moment is solved at once: two solutions, and three events of the fabric's own.
TEST(MaxMinFabric, AMomentIsSolvedOnce) {
  std::vector<Transfer> transfers;
  for (int from = 0; from < 20; ++from) {
    for (int to = 0; to < 20; ++to) {
      if (from != to) transfers.push_back({0, from, to, 100});
    }
  }
  const FabricBench run = on_switch(20, transfers);
  EXPECT_EQ(dynamic_cast<const MaxMinFabric&>(run.fabric()).solutions(), 2);
  EXPECT_EQ(run.events(), 2 * transfers.size() + 3);
}

TEST(MaxMinFabric, JitterKeepsTheOrderOfAPair) {
  NetworkConfig config = a_network();
  config.jitter = Duration::picoseconds(700);
  std::vector<Transfer> transfers;
  for (int i = 0; i < 200; ++i) transfers.push_back({i, 0, 1, 1});
  const FabricBench run = bench(make_ports(2, one_switch()), transfers, config);
  std::int64_t most = 0;
  for (std::size_t i = 1; i < 200; ++i) {
    EXPECT_GE(run.there[i], run.there[i - 1]);
    most = std::max(most, run.there[i] - run.left[i] - 1000);
  }
  EXPECT_GT(most, 600);
  EXPECT_LE(most, 700);
  EXPECT_EQ(run.there, bench(make_ports(2, one_switch()), transfers, config).there);
}

// A message of 4 EiB over 1 bit/s would take longer than 106 days: an error, not another time.
TEST(MaxMinFabric, TimesBeyond64BitsAreAnError) {
  PortNetwork slow = one_switch();
  slow.port.bandwidth = Bandwidth::bits_per_second(1);
  const Topology topology = make_ports(2, slow);
  EXPECT_THROW(bench(topology, {{0, 0, 1, std::int64_t{1} << 62}}), std::exception);
}

}  // namespace
}  // namespace rehearse
