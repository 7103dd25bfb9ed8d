// The bench against other simulators' job, the definitions of nccl-tests, and loads that are counted by hand.

#include "sim/cost/collective_bench.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "sim/net/make_topology.h"

namespace rehearse {
namespace {

const Bandwidth kHundredGigabit = Bandwidth::bits_per_second(100'000'000'000);  // 12.5e9 B/s: 80 ps a byte

BenchCluster a_switch(int ranks) {
  BenchCluster cluster;
  cluster.ranks = ranks;
  cluster.network.latency = Duration::microseconds(5);
  cluster.network.bandwidth = kHundredGigabit;
  return cluster;
}

BenchedAlgorithm ring() { return BenchedAlgorithm(Operation::kAllReduce, static_cast<int>(AllReduceAlgorithm::kRing)); }

// 64 MiB a rank, 5 us, 12.5e9 B/s: the job that other simulators were measured with; 2(N-1)(alpha + S/(N beta)).
TEST(CollectiveBench, TheRingThatOtherSimulatorsWereMeasuredWith) {
  const std::vector<std::pair<int, std::int64_t>> picoseconds = {
      {4, 8'083'063'680}, {8, 9'465'240'960}, {64, 11'199'646'080}, {256, 13'245'475'200}, {1024, 20'956'932'480}};
  for (const auto& [ranks, expected] : picoseconds) {
    const CollectiveTiming timing = time_collective(a_switch(ranks), ring(), Bytes(64 << 20));
    EXPECT_EQ(timing.run.time, Duration::picoseconds(expected)) << ranks << " ranks";
    EXPECT_EQ(timing.closed_form, timing.run.time) << ranks << " ranks";
    EXPECT_EQ(timing.run.messages, std::int64_t{2} * ranks * (ranks - 1));
    EXPECT_EQ(timing.run.bytes_of_a_rank, Bytes((std::int64_t{128} << 20) / ranks * (ranks - 1)));
  }
}

TEST(CollectiveBench, EveryAlgorithmRunsOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 5, 8, 13}) {
    for (const Operation operation : benched_operations()) {
      for (const BenchedAlgorithm& algorithm : algorithms_of(operation)) {
        const CollectiveTiming timing = time_collective(a_switch(ranks), algorithm, Bytes(4000));
        ASSERT_TRUE(timing.closed_form.has_value());
        EXPECT_EQ(timing.run.time == Duration(), ranks == 1) << name_of(operation) << " " << name_of(algorithm);
        EXPECT_EQ(timing.run.messages == 0, ranks == 1) << name_of(operation) << " " << name_of(algorithm);
        // Some closed forms are bounds for other numbers than powers of two.
        EXPECT_LE(timing.run.time, 2 * *timing.closed_form) << name_of(operation) << " " << name_of(algorithm);
        EXPECT_GE(2 * timing.run.time, *timing.closed_form) << name_of(operation) << " " << name_of(algorithm);
      }
    }
  }
}

// nccl-tests, doc/PERFORMANCE.md, for 8 ranks, 1 MB in 1 ms: algbw 1 GB/s = 8 Gbps.
TEST(CollectiveBench, BusBandwidthIsThatOfNcclTests) {
  const auto gbps = [](Operation operation) {
    return bus_bandwidth(operation, 8, Bytes(1'000'000), Duration::milliseconds(1)).bits_per_second() / 1'000'000;
  };
  EXPECT_EQ(algorithm_bandwidth(Bytes(1'000'000), Duration::milliseconds(1)),
            Bandwidth::bits_per_second(8'000'000'000));
  EXPECT_EQ(gbps(Operation::kAllReduce), 14'000);
  EXPECT_EQ(gbps(Operation::kReduceScatter), 7'000);
  EXPECT_EQ(gbps(Operation::kAllGather), 7'000);
  EXPECT_EQ(gbps(Operation::kAllToAll), 7'000);
  EXPECT_EQ(gbps(Operation::kGather), 7'000);
  EXPECT_EQ(gbps(Operation::kScatter), 7'000);
  EXPECT_EQ(gbps(Operation::kBroadcast), 8'000);
  EXPECT_EQ(gbps(Operation::kReduce), 8'000);
  EXPECT_EQ(gbps(Operation::kBarrier), 0);
}

// A ring of 4 that sends 2 * 3 messages of 250,000 bytes (20 us each) through each port takes 6 (5 + 20) us, of which
// its ports are busy for 120: 80 %.
TEST(CollectiveBench, PortsOfASwitchAreTheBottleneck) {
  const CollectiveTiming timing = time_collective(a_switch(4), ring(), Bytes(1'000'000));
  EXPECT_EQ(timing.run.time, Duration::microseconds(150));
  EXPECT_EQ(timing.run.bottleneck.name, "rank 0 -> switch");
  EXPECT_EQ(timing.run.bottleneck.messages, 6);
  EXPECT_EQ(timing.run.bottleneck.bytes, Bytes(1'500'000));
  EXPECT_EQ(timing.run.bottleneck.busy, Duration::microseconds(120));
  EXPECT_EQ(timing.run.bottleneck.utilisation_ppb, 800'000'000);
}

// Two hosts of two with links inside that are 8 times as fast: the ring crosses over the ports of ranks 1 and 3.
TEST(CollectiveBench, TheBottleneckOfHostsIsBetweenThem) {
  BenchCluster cluster = a_switch(4);
  HostNetwork hosts;
  hosts.ranks_per_host = 2;
  hosts.inside = LinkSpec(Duration::microseconds(1), Bandwidth::bits_per_second(800'000'000'000));
  PortNetwork outside;
  outside.port = LinkSpec(Duration::microseconds(5), kHundredGigabit);
  cluster.network.topology = std::make_shared<const Topology>(make_hosts(4, hosts, outside));
  const CollectiveTiming timing = time_collective(cluster, ring(), Bytes(1'000'000));
  // Both ends of a crossing are busy as long; the first is the one that ends at rank 0.
  EXPECT_EQ(timing.run.bottleneck.name, "switch -> rank 0");
  EXPECT_EQ(timing.run.bottleneck.busy, Duration::microseconds(120));
  EXPECT_FALSE(timing.closed_form.has_value());
}

TEST(CollectiveBench, AnIdealNetworkHasNoTimeNoRateAndNoBottleneck) {
  BenchCluster cluster = a_switch(4);
  cluster.network.fabric = FabricKind::kIdeal;
  const CollectiveTiming timing = time_collective(cluster, ring(), Bytes(1'000'000));
  EXPECT_EQ(timing.run.time, Duration());
  EXPECT_EQ(timing.busbw, Bandwidth());
  EXPECT_EQ(timing.run.bottleneck.name, "");
  EXPECT_EQ(timing.run.messages, 24);
}

}  // namespace
}  // namespace rehearse
