#include <gtest/gtest.h>

#include <memory>

#include "sim/cluster/world.h"

namespace rehearse {
namespace {

WorldConfig small_world(int ranks) {
  WorldConfig config;
  config.ranks = ranks;
  config.network.latency = Duration::microseconds(5);
  config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
  config.device.rate = FlopRate::per_second(1'000'000'000'000);
  return config;
}

struct Counters {
  int alive = 0;
  int finished = 0;
  int peer_lost = 0;
};

struct Alive {
  explicit Alive(Counters& c) : counters(c) { ++counters.alive; }
  ~Alive() { --counters.alive; }
  Alive(const Alive&) = delete;
  Counters& counters;
};

Task<Payload> ring_step(RankContext& context, Call call, Payload payload, Counters& counters) {
  const Alive alive(counters);
  const int n = context.world_size();
  Payload received =
      co_await context.comm().exchange(call, (context.rank() + 1) % n, payload, (context.rank() + n - 1) % n);
  co_return received;
}

// A ring with spawned steps, sleeps and device work: something suspended in every kind of operation.
Task<> ring(RankContext& context, Counters& counters) {
  const Alive alive(counters);
  const Group world(0, context.generation(), std::vector<int>{0, 1, 2, 3}, context.rank());
  auto buffer = std::make_unique<std::vector<char>>(1000, 'x');
  try {
    for (std::uint64_t i = 0; i < 5; ++i) {
      const Call call(world, i, Operation::kPointToPoint);
      Payload payload = context.comm().pool().copy_of(std::string_view(buffer->data(), buffer->size()));
      Activity<Payload> step = context.spawn("step", ring_step(context, call, payload, counters));
      auto work = [&] { (*buffer)[0] = 'y'; };
      const ComputeCost cost(Flops(100), Bytes());
      co_await context.device().run(cost, work);
      co_await context.clock().sleep_for(Duration::nanoseconds(3));
      const Payload received = co_await step.join();
      EXPECT_EQ(received.size().count(), 1000);
    }
    ++counters.finished;
  } catch (const CommError& error) {
    if (error.kind() == CommError::Kind::kPeerLost) ++counters.peer_lost;
  }
}

TEST(Crash, AtEveryEventIsCleanAndSeenByThePeers) {
  std::uint64_t total = 0;
  {
    Counters counters;
    World world(small_world(4));
    world.start_all([&counters](RankContext& context) { return ring(context, counters); });
    EXPECT_EQ(world.run(), RunEnd::kDone);
    EXPECT_EQ(counters.finished, 4);
    total = world.kernel().events();
  }
  ASSERT_GT(total, 60U);
  for (int victim = 0; victim < 4; victim += 3) {
    for (std::uint64_t at = 0; at < total; ++at) {
      Counters counters;
      {
        World world(small_world(4));
        world.start_all([&counters](RankContext& context) { return ring(context, counters); });
        ASSERT_EQ(world.run(at), RunEnd::kBudget);
        const bool was_running = world.state(victim) == World::RankState::kRunning;
        world.crash(victim);
        // Every survivor ends: a ring cannot go on without one rank, unless all had its last message.
        ASSERT_EQ(world.run(), RunEnd::kDone) << "crash of rank " << victim << " at event " << at;
        ASSERT_EQ(counters.finished + counters.peer_lost, was_running ? 3 : 4);
      }
      ASSERT_EQ(counters.alive, 0) << "a coroutine frame survived";
    }
  }
}

TEST(Crash, OfAWorldInTheMiddleLeavesNothingBehind) {
  for (std::uint64_t at = 0; at < 60; at += 7) {
    Counters counters;
    {
      World world(small_world(4));
      world.start_all([&counters](RankContext& context) { return ring(context, counters); });
      world.run(at);
    }
    EXPECT_EQ(counters.alive, 0);
  }
}

TEST(Crash, ARankStartsAgainAsANewIncarnation) {
  Counters counters;
  World world(small_world(4));
  world.start_all([&counters](RankContext& context) { return ring(context, counters); });
  world.run(30);
  world.crash(2);
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(world.state(2), World::RankState::kCrashed);
  // The rest ended with kPeerLost; all meet again in the next generation.
  for (int rank = 0; rank < 4; ++rank) {
    world.start(
        rank, [&counters](RankContext& context) { return ring(context, counters); }, 1);
  }
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(counters.finished, 4);
}

Task<> waits_then_sees_abort(RankContext& context, int& aborted) {
  const Group world(0, 0, std::vector<int>{0, 1}, context.rank());
  const Call call(world, 0, Operation::kBarrier);
  for (int attempt = 0; attempt < 2; ++attempt) {  // pending, and later
    try {
      const Payload none = co_await context.comm().recv(call, 1 - context.rank());
    } catch (const CommError& error) {
      if (error.kind() == CommError::Kind::kAborted) ++aborted;
    }
  }
}

Task<> aborts(RankContext& context, int& aborted) {
  Activity<void> waiter = context.spawn("waiter", waits_then_sees_abort(context, aborted));
  co_await context.clock().sleep_for(Duration::nanoseconds(1));
  context.comm().abort(0);
  co_await waiter.join();
}

TEST(Abort, FailsWhatIsPendingAndWhatComesLater) {
  int aborted = 0;
  World world(small_world(2));
  world.start_all([&aborted](RankContext& context) { return aborts(context, aborted); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(aborted, 4);
}

}  // namespace
}  // namespace rehearse
