#include "sim/net/network.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/cluster/world.h"

namespace rehearse {
namespace {

using Log = std::vector<std::string>;

// 5 us one way, 80 ps a byte.
WorldConfig small_world(int ranks) {
  WorldConfig config;
  config.ranks = ranks;
  config.network.latency = Duration::microseconds(5);
  config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
  config.device.rate = FlopRate::per_second(1'000'000'000'000);
  return config;
}

std::string at(RankContext& context) { return " at " + std::to_string(context.clock().now().ps()); }

Group pair_of(RankContext& context, std::uint32_t generation = 0) {
  return Group(1, generation, std::vector<int>{0, 1}, context.rank());
}

Task<> sends_in_order(RankContext& context, Log& log) {
  const Group group = pair_of(context);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Call call(group, i % 2, Operation::kPointToPoint);
    if (context.rank() == 0) {
      Payload payload = context.comm().pool().copy_of(std::to_string(i));
      co_await context.comm().send(call, 1, payload);
    }
  }
  if (context.rank() == 0) co_return;
  // The other sequence first: messages of one source and sequence keep their order, whatever comes between.
  for (std::uint64_t sequence : {1, 0}) {
    for (int i = 0; i < 3; ++i) {
      const Call call(group, sequence, Operation::kPointToPoint);
      const Payload payload = co_await context.comm().recv(call, 0);
      log.emplace_back(payload.text());
    }
  }
}

TEST(Network, KeepsTheOrderOfEachSourceAndSequence) {
  Log log;
  World world(small_world(2));
  world.start_all([&log](RankContext& context) { return sends_in_order(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(log, (Log{"1", "3", "5", "0", "2", "4"}));
}

Task<> sends_to_itself(RankContext& context, Log& log) {
  const Group group(1, 0, std::vector<int>{0}, 0);
  const Call call(group, 0, Operation::kPointToPoint);
  Payload payload = context.comm().pool().copy_of("me");
  const Payload back = co_await context.comm().exchange(call, 0, payload, 0);
  log.push_back(std::string(back.text()) + at(context));
}

TEST(Network, ASelfSendTakesNoTime) {
  Log log;
  World world(small_world(1));
  world.start_all([&log](RankContext& context) { return sends_to_itself(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(log, (Log{"me at 0"}));
}

// 12,500,000 bytes hold the port for 1 ms.
Task<> slow_sender(RankContext& context, Log& log, const char* kind) {
  const Group group = pair_of(context);
  const Call call(group, 0, Operation::kPointToPoint, Duration::microseconds(100));
  Payload payload = Payload::shape_only(Bytes(12'500'000));
  if (context.rank() == 1) {
    const Call patient(group, 0, Operation::kPointToPoint);
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
  const Call again(group, 0, Operation::kPointToPoint);
  const Payload hello = co_await context.comm().recv(again, 1);
  log.push_back(std::string(hello.text()) + at(context));
}

TEST(Network, DeadlinesHoldForSendsAndExchangesAndLoseNothing) {
  for (const char* kind : {"send", "exchange"}) {
    Log log;
    World world(small_world(2));
    world.start_all([&log, kind](RankContext& context) { return slow_sender(context, log, kind); });
    EXPECT_EQ(world.run(), RunEnd::kDone) << kind;
    EXPECT_EQ(log, (Log{"timeout at 100000000", "hello at 100000000", "big of 12500000 at 1005000000"})) << kind;
  }
}

Task<> polls(RankContext& context, Log& log) {
  const Group group = pair_of(context);
  if (context.rank() == 1) {
    co_await context.clock().sleep_for(Duration::milliseconds(1));
    const Call call(group, 0, Operation::kPointToPoint);
    Payload payload = context.comm().pool().copy_of("at last");
    co_await context.comm().send(call, 0, payload);
    co_return;
  }
  int timeouts = 0;
  for (;;) {
    const Call call(group, 0, Operation::kPointToPoint, Duration::microseconds(1));
    Payload payload;
    try {
      payload = co_await context.comm().recv(call, 1);
    } catch (const CommError&) {
      ++timeouts;
    }
    if (payload.size().count() == 0) continue;
    log.push_back(std::string(payload.text()) + " after " + std::to_string(timeouts));
    co_return;
  }
}

TEST(Network, PollingGetsTheMessageOnce) {
  Log log;
  World world(small_world(2));
  world.start_all([&log](RankContext& context) { return polls(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  // 1 ms + 5 us + 7 bytes: inside the 1006th receive.
  EXPECT_EQ(log, (Log{"at last after 1005"}));
}

Task<> meets_then_waits(RankContext& context, int& met) {
  const Group group = pair_of(context);
  if (context.rank() == 1) {
    co_await context.clock().sleep_for(Duration::microseconds(1));
    const Call call(group, 0, Operation::kPointToPoint);
    Payload payload = context.comm().pool().copy_of("x");
    co_await context.comm().send(call, 0, payload);
    const Call never(group, 9, Operation::kPointToPoint);
    const Payload none = co_await context.comm().recv(never, 0);
  }
  const Call call(group, 0, Operation::kPointToPoint, Duration::seconds(10));
  const Payload payload = co_await context.comm().recv(call, 1);
  ++met;
  const Call never(group, 7, Operation::kPointToPoint);
  const Payload none = co_await context.comm().recv(never, 1);
}

// The deadline that was met must leave nothing behind: neither the clock of the deadlock, nor an order that a
// supervisor which goes on from there would trip over.
TEST(Network, AMetDeadlineLeavesADeadlockThatCanBeResolved) {
  int met = 0;
  World world(small_world(2));
  world.start_all([&met](RankContext& context) { return meets_then_waits(context, met); });
  EXPECT_EQ(world.run(), RunEnd::kDeadlock);
  EXPECT_EQ(met, 1);
  EXPECT_EQ(world.now().ps(), 6'000'080);
  world.crash(1);
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(world.state(0), World::RankState::kFailed);
  EXPECT_EQ(world.now().ps(), 11'000'080);
}

Task<> asks_late(RankContext& context, Log& log) {
  const Group old_group = pair_of(context);
  co_await context.clock().sleep_for(Duration::microseconds(50));
  const Call call(old_group, 0, Operation::kPointToPoint);
  try {
    const Payload none = co_await context.comm().recv(call, 1);
  } catch (const CommError& error) {
    log.push_back(std::string(name_of(error.kind())) + at(context));
  }
}

Task<> idle(RankContext& context) { co_await context.clock().sleep_for(Duration::milliseconds(1)); }

TEST(Network, APeerRestartedAtOnceIsLostToItsOldGenerationForGood) {
  Log log;
  World world(small_world(2));
  world.start(0, [&log](RankContext& context) { return asks_late(context, log); });
  world.start(1, idle);
  world.run(2);  // both have started
  world.crash(1);
  world.start(1, idle, 1);
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(log, (Log{"the connection to the peer is lost at 50000000"}));
}

Task<> sends_new_generation(RankContext& context) {
  const Group group = pair_of(context, 1);
  const Call call(group, 0, Operation::kPointToPoint);
  Payload payload = context.comm().pool().copy_of("early");
  co_await context.comm().send(call, 1, payload);
  co_await context.clock().sleep_for(Duration::milliseconds(1));
}

Task<> receives_new_generation(RankContext& context, Log& log) {
  const Group group = pair_of(context, 1);
  const Call call(group, 0, Operation::kPointToPoint);
  const Payload payload = co_await context.comm().recv(call, 0);
  log.emplace_back(payload.text());
}

// Survivors restart one after the other: what the first says waits for the last, dead or still of the old generation.
TEST(Network, AMessageOfANewGenerationWaitsForItsReceiverToComeUp) {
  for (const bool dead_meanwhile : {false, true}) {
    Log log;
    World world(small_world(2));
    world.start(1, idle);
    world.run(2);
    if (dead_meanwhile) world.crash(1);
    world.start(0, sends_new_generation, 1);
    world.run(4);
    world.crash(1);
    world.start(
        1, [&log](RankContext& context) { return receives_new_generation(context, log); }, 1);
    EXPECT_EQ(world.run(), RunEnd::kDone);
    EXPECT_EQ(log, (Log{"early"})) << dead_meanwhile;
  }
}

Task<> sleeps_beyond_time(RankContext& context) {
  co_await context.clock().sleep_for(Duration::seconds(9'000'000));
  co_await context.clock().sleep_for(Duration::seconds(9'000'000));
}

TEST(VirtualTime, ThatRunsOutIsAnErrorOfTheRunAndTheWorldGoesCleanly) {
  World world(small_world(2));
  world.start_all(sleeps_beyond_time);
  EXPECT_THROW(world.run(), InputError);
}

}  // namespace
}  // namespace rehearse
