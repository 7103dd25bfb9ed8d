// Graphs of sums, exact where they are simple, and the networks and plans that are made of them.

#include "sim/cost/reduction_flow.h"

#include <gtest/gtest.h>

#include "core/comm/cost_formulas.h"
#include "sim/cost/collective_bench.h"
#include "sim/cost/gpu_stack.h"
#include "sim/cost/rail_rings.h"
#include "sim/cost/stack_network.h"

namespace rehearse {
namespace {

const Duration kHop = Duration::microseconds(3);
const Bandwidth kFast = Bandwidth::bits_per_second(800'000'000'000);  // 10 ps a byte
const Bandwidth kSlow = Bandwidth::bits_per_second(80'000'000'000);   // 100 ps a byte

StackSite hosts_of(int hosts, int gpus_per_host) {
  StackSite site;
  site.hosts = hosts;
  site.gpus_per_host = gpus_per_host;
  site.nic = Bandwidth::bits_per_second(400'000'000'000);
  return site;
}

StackLinks fast_and_slow() {
  StackLinks links;
  links.inside = LinkSpec(kHop, kFast);
  links.outside = LinkSpec(kHop, kSlow);
  return links;
}

BenchRun run(const BenchCluster& cluster, const ReductionFlow& flow, int segments) {
  return run_bench(cluster, [&](RankContext& context) { return flow.run(context, segments); });
}

// Up two edges and back: 4 (alpha + t(c)).
TEST(ReductionFlow, AChainOfThreeGoesUpAndComesBack) {
  ReductionFlow flow;
  const int root = flow.add(0, Bytes());
  const int middle = flow.add(1, Bytes(1000));
  flow.join(middle, root);
  flow.join(flow.add(2, Bytes(1000)), middle);
  const BenchRun found = run(hosts_cluster(hosts_of(1, 3), fast_and_slow()), flow, 1);
  EXPECT_EQ(found.time, 4 * (kHop + Duration::nanoseconds(10)));
  EXPECT_EQ(found.messages, 4);
}

// Shares to the adder, sums to their owners and back, all sums to all: 4 alpha + 2 t(S) + 2 t(S/n), and S + S/n bytes
// of each GPU.
TEST(InSwitch, OneSegmentIsExact) {
  const StackSite site = hosts_of(1, 8);
  const Bytes size(8000);
  const BenchRun found = run(adders_cluster(site, fast_and_slow()), in_switch_flow(site, size), 1);
  EXPECT_EQ(found.time, 4 * kHop + 2 * Duration::nanoseconds(80) + 2 * Duration::nanoseconds(10));
  EXPECT_EQ(found.messages, 4 * 8);
  EXPECT_EQ(found.bytes, Bytes(16 * (8000 + 1000)));
}

// When the pipeline is full a segment takes what its c + c/n bytes take on a GPU's link.
TEST(InSwitch, FurtherSegmentsTakeTheirBytes) {
  const StackSite site = hosts_of(1, 8);
  const ReductionFlow flow = in_switch_flow(site, Bytes(800'000));
  const BenchCluster cluster = adders_cluster(site, fast_and_slow());
  EXPECT_EQ(run(cluster, flow, 32).time - run(cluster, flow, 16).time, 16 * Duration::microseconds(9));
}

// The network's adder takes one message of each owner and sends one back: 6 hops where hosts alone have 4.
TEST(InSwitch, TheNetworkAddsToo) {
  StackSite site = hosts_of(3, 2);
  site.network_adds = true;
  const BenchRun found = run(adders_cluster(site, fast_and_slow()), in_switch_flow(site, Bytes(2000)), 1);
  EXPECT_EQ(found.time,
            6 * kHop + 2 * (Duration::nanoseconds(20) + Duration::nanoseconds(10)) + 2 * Duration::nanoseconds(100));
}

TEST(RailRings, OneRailOnOneHostIsTheRing) {
  const BenchCluster cluster = hosts_cluster(hosts_of(1, 8), fast_and_slow());
  RailRings rings;
  rings.ranks_per_host = 8;
  const BenchRun found = run_bench(
      cluster, [&](RankContext& context) { return run_rail_rings(context, rings, Operation::kAllReduce, 80'000); });
  EXPECT_EQ(found.time, all_reduce_time(AllReduceAlgorithm::kRing, 8, Bytes(320'000), LinkCost(kHop, kFast)));
}

// Every port to the outside carries its ring's part: 2 (N-1)/N of S/rails, which bounds the time from below, and in
// turn with a latency each from above.
TEST(RailRings, EveryPortCarriesOneRing) {
  RailRings rings;
  rings.ranks_per_host = 4;
  rings.rails = 4;
  const BenchRun found = run_bench(hosts_cluster(hosts_of(2, 4), fast_and_slow()), [&](RankContext& context) {
    return run_rail_rings(context, rings, Operation::kAllReduce, 320'000);
  });
  const Duration part = transfer_time(Bytes(1'280'000 / 4 / 8), kSlow);
  EXPECT_EQ(found.bottleneck.bytes, Bytes(14 * 40'000));
  EXPECT_EQ(found.bottleneck.busy, 14 * part);
  EXPECT_GE(found.time, 14 * part);
  EXPECT_LE(found.time, 14 * (part + kHop));
}

// A pipeline of 100 segments, of which 32 are simulated, against all 100.
TEST(GpuStack, LongPipelinesAreContinuedAsTheyGoOn) {
  StackConstants constants = stack_presets();
  const Bytes chunk(16 << 20);
  constants.chunk[static_cast<std::size_t>(Protocol::kSimple)] = chunk;
  constants.copies_ppm = 0;
  constants.meeting = Duration();
  const StackSite site = hosts_of(2, 8);
  const GenerationConstants& h100 = constants.generations[static_cast<std::size_t>(GpuGeneration::kHopper)];
  StackPlan plan;
  plan.algorithm = StackAlgorithm::kInSwitch;
  const Duration continued = simulate_plan(constants, site, plan, Operation::kAllReduce, Bytes(100 * chunk.count()));

  StackLinks links;
  links.inside = LinkSpec(h100.in_switch_hop,
                          Bandwidth::bits_per_second(static_cast<std::int64_t>(
                              static_cast<__int128>(h100.inside.bits_per_second()) * h100.in_switch_ppm / 1'000'000)));
  links.outside = LinkSpec(constants.tree_net[2], Bandwidth::bits_per_second(384'000'000'000));
  const Duration whole =
      run(adders_cluster(site, links), in_switch_flow(site, chunk), 100).time + h100.launch + constants.tree_base[2];
  EXPECT_LE(1000 * (continued - whole), 2 * whole);
  EXPECT_LE(1000 * (whole - continued), 2 * whole);
}

// Latencies of the library's own model, which it calls 'base + 2 ((n/k - 1) intra + log2(k) inter)' for trees.
TEST(GpuStack, TheSmallestTreeTakesTheLibrarysLatencies) {
  StackConstants constants = stack_presets();
  const StackSite site = hosts_of(2, 8);
  StackPlan plan;
  plan.algorithm = StackAlgorithm::kTree;
  plan.protocol = Protocol::kLL;
  const Duration found = simulate_plan(constants, site, plan, Operation::kAllReduce, Bytes(64));
  const Duration latencies = Duration::nanoseconds(6800 + 2 * (7 * 600 + 5000)) +
                             constants.generations[static_cast<std::size_t>(GpuGeneration::kHopper)].launch;
  EXPECT_GE(found, latencies);
  EXPECT_LE(found, latencies + Duration::nanoseconds(100));
}

TEST(GpuStack, LargeCallsGoThroughTheSwitchAndSmallOnesDoNot) {
  const StackSite site = hosts_of(1, 8);
  EXPECT_EQ(predict_stack(stack_presets(), site, Operation::kAllReduce, Bytes(1024)).plan.algorithm,
            StackAlgorithm::kRing);
  EXPECT_EQ(predict_stack(stack_presets(), site, Operation::kAllReduce, Bytes(1 << 30)).plan.algorithm,
            StackAlgorithm::kInSwitch);
}

}  // namespace
}  // namespace rehearse
