// Ranks over a reliable transport: what they see when it gives up, and when nothing fails.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/cluster/world.h"
#include "tests/sim/net/scripted_links.h"

namespace rehearse {
namespace {

using Log = std::vector<std::string>;

// 5 us one way, 80 ps a byte; a message is sent again after 20 us, then 40, then given up.
WorldConfig world_over(ScriptedLinks& links) {
  WorldConfig config;
  config.ranks = 2;
  config.network.latency = Duration::microseconds(5);
  config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
  config.device.rate = FlopRate::per_second(1'000'000'000'000);
  config.transport.emplace();
  config.transport->retransmission_timeout = Duration::microseconds(20);
  config.transport->max_retries = 2;
  config.links = &links;
  return config;
}

std::string at(RankContext& context) { return " at " + std::to_string(context.clock().now().ps()); }

// Rank 0 sends to rank 1, which waits; both then try the other way.
Task<> sends_and_asks(RankContext& context, Log& log) {
  const Group group(1, context.generation(), std::vector<int>{0, 1}, context.rank());
  const std::string who = std::to_string(context.rank());
  const Call first(group, 0, Operation::kPointToPoint);
  const Call second(group, 1, Operation::kPointToPoint);
  Payload payload = context.comm().pool().copy_of("hello");
  const int other = 1 - context.rank();
  for (const bool forth : {true, false}) {
    const Call& call = forth ? first : second;
    const bool sends = forth == (context.rank() == 0);
    try {
      if (sends) {
        Payload copy = payload;
        co_await context.comm().send(call, other, copy);
        log.push_back(who + " has sent" + at(context));
      } else {
        const Payload got = co_await context.comm().recv(call, other);
        log.push_back(who + " has " + std::string(got.text()) + at(context));
      }
    } catch (const CommError& error) {
      log.push_back(who + ": " + name_of(error.kind()) + at(context));
    }
  }
}

TEST(TransportOfRanks, DeliversWhatItIsGiven) {
  Log log;
  ScriptedLinks links([](const LinkPacket& packet, int index, TimePoint, PacketFate& fate) {
    fate.path.lost = !packet.is_ack && packet.source == 0 && index == 1;
  });
  World world(world_over(links));
  world.start_all([&log](RankContext& context) { return sends_and_asks(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  // 5 bytes take 400 ps: sent again at 20,000,400, there 5,000,400 later.
  EXPECT_EQ(log,
            (Log{"0 has sent at 400", "1 has hello at 25000800", "1 has sent at 25001200", "0 has hello at 30001200"}));
}

TEST(TransportOfRanks, ABrokenConnectionIsALostPeerForBoth) {
  Log log;
  ScriptedLinks links(
      [](const LinkPacket& packet, int, TimePoint, PacketFate& fate) { fate.path.lost = packet.source == 0; });
  World world(world_over(links));
  world.start_all([&log](RankContext& context) { return sends_and_asks(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  // 20 us after 400 ps, 40 us after another 400, and 80 us after another: who waits is told then, and who asks later at
  // once.
  const std::string lost = ": the connection to the peer is lost at 140001200";
  EXPECT_EQ(log, (Log{"0 has sent at 400", "0" + lost, "1" + lost, "1" + lost}));
  EXPECT_EQ(world.transport()->counters().broken, 1);
}

TEST(TransportOfRanks, ANewGenerationReachesItsPeerAgain) {
  Log log;
  bool down = true;
  ScriptedLinks links([&down](const LinkPacket& packet, int, TimePoint, PacketFate& fate) {
    fate.path.lost = down && packet.source == 0;
  });
  World world(world_over(links));
  world.start_all([&log](RankContext& context) { return sends_and_asks(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  down = false;
  log.clear();
  for (int rank = 0; rank < 2; ++rank) {
    world.start(
        rank, [&log](RankContext& context) { return sends_and_asks(context, log); }, 1);
  }
  EXPECT_EQ(world.run(), RunEnd::kDone);
  ASSERT_EQ(log.size(), 4U);
  EXPECT_EQ(log[1].substr(0, 11), "1 has hello");
  EXPECT_EQ(log[3].substr(0, 11), "0 has hello");
}

TEST(TransportOfRanks, AWrongBitThatNobodyFindsIsRead) {
  for (const std::int32_t unit : {-1, 0}) {
    std::string got;
    ScriptedLinks links([](const LinkPacket& packet, int index, TimePoint, PacketFate& fate) {
      fate.corrupted = !packet.is_ack && packet.source == 0 && index == 1;
      fate.bit = 8;  // the lowest of the second byte
    });
    WorldConfig config = world_over(links);
    config.transport->checksums = false;
    World world(config);
    world.start_all([&got, unit](RankContext& context) -> Task<> {
      const Group group(1, 0, std::vector<int>{0, 1}, context.rank());
      Call call(group, 0, Operation::kPointToPoint);
      call.unit = unit;
      Payload payload = context.comm().pool().copy_of("hello");
      if (context.rank() == 0) {
        co_await context.comm().send(call, 1, payload);
        co_return;
      }
      const Payload received = co_await context.comm().recv(call, 0);
      got = std::string(received.text());
    });
    EXPECT_EQ(world.run(), RunEnd::kDone);
    // Of what is no unit of the model's state the transport always finds it.
    EXPECT_EQ(got, unit < 0 ? "hello" : "hdllo");
  }
}

// Timers and acknowledgements do not keep a job going that waits for nothing that could come.
TEST(TransportOfRanks, ADeadlockIsStillFound) {
  ScriptedLinks links([](const LinkPacket&, int, TimePoint, PacketFate&) {});
  World world(world_over(links));
  world.start_all([](RankContext& context) -> Task<> {
    const Group group(1, 0, std::vector<int>{0, 1}, context.rank());
    const Call call(group, 0, Operation::kPointToPoint);
    const Call never(group, 9, Operation::kPointToPoint);
    Payload payload = context.comm().pool().copy_of("hello");
    co_await context.comm().send(call, 1 - context.rank(), payload);
    const Payload none = co_await context.comm().recv(never, 1 - context.rank());
  });
  EXPECT_EQ(world.run(), RunEnd::kDeadlock);
  EXPECT_EQ(world.kernel().waiting().size(), 2U);
}

}  // namespace
}  // namespace rehearse
