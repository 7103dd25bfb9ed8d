// The same ranks over every fabric: messages, times, and what is left when ranks fail.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/net/make_topology.h"
#include "tests/core/comm/ranks.h"

namespace rehearse {
namespace {

using Log = std::vector<std::string>;

constexpr FabricKind kContended[] = {FabricKind::kPorts, FabricKind::kMaxMin};
constexpr FabricKind kAll[] = {FabricKind::kPorts, FabricKind::kMaxMin, FabricKind::kAlphaBeta, FabricKind::kIdeal};

// 5 us one way, 80 ps a byte.
NetworkConfig network_of(FabricKind fabric) {
  NetworkConfig network = a_switch(Duration::microseconds(5), Bandwidth::bits_per_second(100'000'000'000));
  network.fabric = fabric;
  return network;
}

// The same, with leaves of two ranks below two spines; 500 ns a hop more.
NetworkConfig tree_of(FabricKind fabric, int ranks) {
  NetworkConfig network = network_of(fabric);
  PortNetwork ports;
  ports.port = LinkSpec(network.latency, network.bandwidth);
  ports.ports_per_leaf = 2;
  ports.spines = 2;
  ports.uplink = LinkSpec(Duration::nanoseconds(500), network.bandwidth);
  network.topology = std::make_shared<const Topology>(make_ports(ranks, ports));
  return network;
}

Duration elapsed(int size, std::int64_t count, const NetworkConfig& network) {
  Ranks ranks(size, network, Storing::kShapeOnly);
  ranks.run([count](RankContext& context) { return on_world(context, all_reduce, shape_of(DType::kFloat32, count)); });
  return ranks.elapsed();
}

// 64 MiB on N ranks: 2 (N - 1) (alpha + S / (N beta)).
TEST(Fabrics, ARingOnASwitchTakesTheFormulaWhoeverSharesLinks) {
  for (const FabricKind fabric : {FabricKind::kPorts, FabricKind::kMaxMin, FabricKind::kAlphaBeta}) {
    EXPECT_EQ(elapsed(4, 16 << 20, network_of(fabric)).ps(), 8'083'063'680);
    EXPECT_EQ(elapsed(8, 16 << 20, network_of(fabric)).ps(), 9'465'240'960);
    EXPECT_EQ(elapsed(64, 16 << 20, network_of(fabric)).ps(), 11'199'646'080);
  }
  EXPECT_EQ(elapsed(8, 16 << 20, network_of(FabricKind::kIdeal)), Duration());
}

// On a ring of cables and on a torus whose rows a ring of ranks runs along, neighbours are joined directly.
TEST(Fabrics, ARingOfCablesTakesTheFormulaOfASwitch) {
  for (const FabricKind fabric : kContended) {
    NetworkConfig network = network_of(fabric);
    network.topology = std::make_shared<const Topology>(make_torus({8}, LinkSpec(network.latency, network.bandwidth)));
    EXPECT_EQ(elapsed(8, 16 << 20, network).ps(), 9'465'240'960);
  }
}

// Every other hop of the ring crosses a spine, 1 us longer: a chunk takes 5 us and 6 us in turn.
TEST(Fabrics, ARingOnATreeIsAsLongAsItsLongestWay) {
  for (const FabricKind fabric : {FabricKind::kPorts, FabricKind::kMaxMin, FabricKind::kAlphaBeta}) {
    const Duration transfer = Duration::picoseconds((16 << 20) / 4 * 4 * 80);
    EXPECT_EQ(elapsed(4, 16 << 20, tree_of(fabric, 4)), Duration::microseconds(3 * (5 + 6)) + 6 * transfer);
  }
}

TEST(Fabrics, SumsHaveTheSameBitsOverAll) {
  const PerRank<float> values = uneven_values<float>(3, 7, 97);
  for (const FabricKind fabric : kAll) {
    for (const bool tree : {false, true}) {
      if (tree && fabric == FabricKind::kIdeal) continue;
      PerRank<float> mine = values;
      Ranks ranks(7, tree ? tree_of(fabric, 7) : network_of(fabric));
      ranks.run([&mine](RankContext& context) { return on_world(context, all_reduce, view_of(mine, context.rank())); });
      for (const auto& sums : mine) EXPECT_TRUE(same_bits(sums, ring_sum(values)));
    }
  }
}

// Each rank sends and receives 2 (N - 1) / N of 64 MiB, in 2 (N - 1) messages.
TEST(Fabrics, LinksCountWhatACollectiveSends) {
  for (const FabricKind fabric : {FabricKind::kMaxMin, FabricKind::kAlphaBeta}) {
    Ranks ranks(4, network_of(fabric), Storing::kShapeOnly);
    ranks.run([](RankContext& context) {
      return on_world(context, all_reduce, shape_of(DType::kFloat32, std::int64_t{16} << 20));
    });
    const std::span<const LinkLoad> loads = ranks.world().network().fabric().link_loads();
    ASSERT_EQ(loads.size(), 8U);
    for (const LinkLoad& load : loads) {
      EXPECT_EQ(load.messages, 6);
      EXPECT_EQ(load.bytes, Bytes((64 << 20) / 4 * 6));
      EXPECT_EQ(load.busy, transfer_time(load.bytes, Bandwidth::bits_per_second(100'000'000'000)));
    }
  }
}

// 2 (N - 1) (o + alpha + t(S/N) + o), as long as the gap is no longer than that.
TEST(Fabrics, OverheadIsPaidAtBothEndsOfEachMessage) {
  for (const FabricKind fabric : {FabricKind::kPorts, FabricKind::kMaxMin, FabricKind::kAlphaBeta}) {
    NetworkConfig network = network_of(fabric);
    network.overhead = Duration::nanoseconds(700);
    network.gap = Duration::nanoseconds(900);
    EXPECT_EQ(elapsed(4, 16 << 20, network).ps(), 8'083'063'680 + 6 * 2 * 700'000);
  }
}

WorldConfig world_of(const NetworkConfig& network, int ranks) {
  WorldConfig config;
  config.ranks = ranks;
  config.network = network;
  config.device.rate = FlopRate::per_second(1'000'000'000'000);
  return config;
}

std::string at(RankContext& context) { return " at " + std::to_string(context.clock().now().ps()); }

Group everyone(RankContext& context) { return Group(1, 0, std::vector<int>{0, 1, 2}, context.rank()); }

// Ranks 1 and 2 send 1,000 bytes to rank 0 together; then rank 1 exchanges a long message for a short one.
Task<> sends_and_exchanges(RankContext& context, Log& log) {
  const Group group = everyone(context);
  const Call first(group, 0, Operation::kPointToPoint);
  const Call second(group, 1, Operation::kPointToPoint);
  Payload thousand = Payload::shape_only(Bytes(1000));
  Payload short_one = Payload::shape_only(Bytes(10));
  if (context.rank() == 0) {
    const Payload one = co_await context.comm().recv(first, 1);
    const Payload two = co_await context.comm().recv(first, 2);
    log.push_back("both" + at(context));
    const Payload long_one = co_await context.comm().exchange(second, 1, short_one, 1);
    co_return;
  }
  co_await context.comm().send(first, 0, thousand);
  log.push_back("left " + std::to_string(context.rank()) + at(context));
  if (context.rank() == 2) co_return;
  Payload long_one = Payload::shape_only(Bytes(1'000'000));
  const Payload back = co_await context.comm().exchange(second, 0, long_one, 0);
  log.push_back("exchanged " + std::to_string(back.size().count()) + at(context));
}

// 2,000 bytes share the port of rank 0: both have left after 160 ns and are there 5 us later. The exchange begins then,
// takes 80 us to leave, and ends when it has left, as the other half was there long before.
TEST(Fabrics, SendsAndExchangesWaitUntilTheirMessageHasLeftUnderFairSharing) {
  Log log;
  World world(world_of(network_of(FabricKind::kMaxMin), 3));
  world.start_all([&log](RankContext& context) { return sends_and_exchanges(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(log, (Log{"left 1 at 160000", "left 2 at 160000", "both at 5160000", "exchanged 10 at 80160000"}));
}

Task<> slow_sender(RankContext& context, Log& log, const char* kind) {
  const Group group(1, 0, std::vector<int>{0, 1}, context.rank());
  const Call call(group, 0, Operation::kPointToPoint, Duration::microseconds(100));
  Payload payload = Payload::shape_only(Bytes(12'500'000));
  const Call patient(group, 0, Operation::kPointToPoint);
  if (context.rank() == 1) {
    Payload small = context.comm().pool().copy_of("hello");
    co_await context.comm().send(patient, 0, small);
    const Payload big = co_await context.comm().recv(patient, 0);
    log.push_back("big of " + std::to_string(big.size().count()) + at(context));
    co_return;
  }
  bool timed_out = false;
  try {
    if (std::string_view(kind) == "send") {
      co_await context.comm().send(call, 1, payload);
    } else {
      const Payload none = co_await context.comm().exchange(call, 1, payload, 1);
    }
  } catch (const CommError& error) {
    timed_out = error.kind() == CommError::Kind::kTimeout;
  }
  log.push_back((timed_out ? "timeout" : "done") + at(context));
  const Payload hello = co_await context.comm().recv(patient, 1);
  log.push_back(std::string(hello.text()) + at(context));
}

TEST(Fabrics, DeadlinesHoldWhereNobodyKnowsWhenAMessageLeaves) {
  for (const FabricKind fabric : kContended) {
    for (const char* kind : {"send", "exchange"}) {
      Log log;
      World world(world_of(network_of(fabric), 2));
      world.start_all([&log, kind](RankContext& context) { return slow_sender(context, log, kind); });
      EXPECT_EQ(world.run(), RunEnd::kDone) << kind;
      EXPECT_EQ(log, (Log{"timeout at 100000000", "hello at 100000000", "big of 12500000 at 1005000000"})) << kind;
    }
  }
}

Task<> exchanges_forever(RankContext& context, Log& log) {
  const Group group(1, 0, std::vector<int>{0, 1}, context.rank());
  for (std::uint64_t i = 0;; ++i) {
    const Call call(group, i, Operation::kPointToPoint);
    Payload thousand = Payload::shape_only(Bytes(1000));
    const int peer = 1 - context.rank();
    try {
      const Payload back = co_await context.comm().exchange(call, peer, thousand, peer);
    } catch (const CommError& error) {
      log.push_back(std::string(name_of(error.kind())) + at(context));
      co_return;
    }
  }
}

// Whenever a rank dies, its peer hears of it, and nothing is left waiting.
TEST(Fabrics, ACrashAtAnyEventEndsWithThePeersKnowing) {
  for (const FabricKind fabric : kAll) {
    if (fabric == FabricKind::kIdeal) continue;  // an exchange takes no time: it would go on for ever at once
    for (std::uint64_t events = 2; events < 40; ++events) {
      Log log;
      World world(world_of(network_of(fabric), 2));
      world.start_all([&log](RankContext& context) { return exchanges_forever(context, log); });
      world.run(events);
      world.crash(1);
      EXPECT_EQ(world.run(), RunEnd::kDone) << events;
      ASSERT_EQ(log.size(), 1U) << events;
      EXPECT_TRUE(log[0].starts_with("the connection to the peer is lost")) << log[0];
    }
  }
}

Task<> aborts(RankContext& context, Log& log) {
  const Group group(1, 0, std::vector<int>{0, 1}, context.rank());
  const Call call(group, 0, Operation::kPointToPoint);
  if (context.rank() == 1) {
    co_await context.clock().sleep_for(Duration::milliseconds(1));
    co_return;
  }
  auto child = context.spawn("sends", exchanges_forever(context, log));
  co_await context.clock().sleep_for(Duration::nanoseconds(10));
  context.comm().abort(0);
  co_await child.join();
  log.push_back("over" + at(context));
}

TEST(Fabrics, AnAbortEndsWhatHasNotLeft) {
  Log log;
  World world(world_of(network_of(FabricKind::kMaxMin), 2));
  world.start_all([&log](RankContext& context) { return aborts(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(log, (Log{"the generation was aborted at 10000", "over at 10000"}));
}

}  // namespace
}  // namespace rehearse
