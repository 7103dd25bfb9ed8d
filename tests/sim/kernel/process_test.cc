#include <gtest/gtest.h>

#include <string>
#include <vector>

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

Task<> sleeper(RankContext& context, std::vector<std::string>& log) {
  co_await context.clock().sleep_for(Duration::nanoseconds(10 * (3 - context.rank())));
  log.push_back("rank " + std::to_string(context.rank()) + " at " + std::to_string(context.clock().now().ps()));
}

TEST(Process, SleepsInVirtualTime) {
  std::vector<std::string> log;
  World world(small_world(3));
  world.start_all([&log](RankContext& context) { return sleeper(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(log, (std::vector<std::string>{"rank 2 at 10000", "rank 1 at 20000", "rank 0 at 30000"}));
  EXPECT_EQ(world.now().ps(), 30'000);
}

TEST(Process, TwoSimulationsInterleavedInOneProcessDoNotSeeEachOther) {
  std::vector<std::string> together;
  std::vector<std::string> alone;
  {
    World world(small_world(3));
    world.start_all([&alone](RankContext& context) { return sleeper(context, alone); });
    world.run();
  }
  std::vector<std::string> other;
  World a(small_world(3));
  World b(small_world(3));
  a.start_all([&together](RankContext& context) { return sleeper(context, together); });
  b.start_all([&other](RankContext& context) { return sleeper(context, other); });
  RunEnd end_a = RunEnd::kBudget;
  RunEnd end_b = RunEnd::kBudget;
  while (end_a == RunEnd::kBudget || end_b == RunEnd::kBudget) {
    if (end_a == RunEnd::kBudget) end_a = a.run(1);
    if (end_b == RunEnd::kBudget) end_b = b.run(1);
  }
  EXPECT_EQ(together, alone);
  EXPECT_EQ(other, alone);
}

Task<> nothing() { co_return; }

Task<> spawns_nothing(RankContext& context) {
  std::vector<Activity<void>> activities;
  for (int i = 0; i < 20; ++i) activities.push_back(context.spawn("nothing", nothing()));
  co_await context.clock().sleep_for(Duration::nanoseconds(1));
  for (Activity<void>& activity : activities) co_await activity.join();
}

// Asio must not take a moment without waiting coroutines for the end of all work.
TEST(Process, CoroutinesThatNeverWaitEnd) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    World idle(small_world(ranks));
    idle.start_all([](RankContext&) { return nothing(); });
    EXPECT_EQ(idle.run(), RunEnd::kDone) << ranks;
    World spawning(small_world(ranks));
    spawning.start_all(spawns_nothing);
    EXPECT_EQ(spawning.run(), RunEnd::kDone) << ranks;
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(spawning.state(rank), World::RankState::kEnded);
  }
}

Task<int> child(RankContext& context, int value) {
  co_await context.clock().sleep_for(Duration::nanoseconds(value));
  if (value == 13) throw std::runtime_error("thirteen");
  co_return value;
}

Task<> parent(RankContext& context, std::vector<int>& results) {
  Activity<int> slow = context.spawn("slow", child(context, 20));
  Activity<int> fast = context.spawn("fast", child(context, 10));
  const int first = co_await slow.join();
  results.push_back(first);
  const int second = co_await fast.join();
  results.push_back(second);
  results.push_back(static_cast<int>(context.clock().now().ps() / 1000));
}

TEST(Activity, RunsBesideItsParentAndGivesItsResultAtJoin) {
  std::vector<int> results;
  World world(small_world(1));
  world.start_all([&results](RankContext& context) { return parent(context, results); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(results, (std::vector<int>{20, 10, 20}));
}

Task<> joins_a_failure(RankContext& context) {
  Activity<int> bad = context.spawn("bad", child(context, 13));
  const int never = co_await bad.join();
  (void)never;
}

Task<> ignores_a_failure(RankContext& context) {
  context.spawn("bad", child(context, 13));
  co_await context.clock().sleep_for(Duration::microseconds(1));
}

TEST(Activity, ItsExceptionArrivesAtJoinOrFailsTheRank) {
  for (const RankProgram& program : {RankProgram(joins_a_failure), RankProgram(ignores_a_failure)}) {
    World world(small_world(1));
    world.start_all(program);
    EXPECT_EQ(world.run(), RunEnd::kDone);
    EXPECT_EQ(world.state(0), World::RankState::kFailed);
    EXPECT_THROW(std::rethrow_exception(world.error(0)), std::runtime_error);
  }
}

Task<> leaves_a_child_behind(RankContext& context) {
  context.spawn("for ever", child(context, 1'000'000'000));
  co_await context.clock().sleep_for(Duration::nanoseconds(1));
}

TEST(Activity, DiesWithItsRank) {
  World world(small_world(1));
  world.start_all(leaves_a_child_behind);
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(world.now().ps(), 1000);
  EXPECT_EQ(world.state(0), World::RankState::kEnded);
}

Task<> waits_for_left(RankContext& context) {
  const Group group(7, 0, std::vector<int>{0, 1}, context.rank());
  const Call call(group, 3, Operation::kGather);
  Activity<Payload> watcher = context.spawn("watcher", [](RankContext& inner, Call inner_call) -> Task<Payload> {
    Payload payload = co_await inner.comm().recv(inner_call, 1 - inner.rank());
    co_return payload;
  }(context, call));
  const Payload none = co_await watcher.join();
}

TEST(Deadlock, IsNamedRankByRankAndActivityByActivity) {
  World world(small_world(2));
  world.start_all(waits_for_left);
  EXPECT_EQ(world.run(), RunEnd::kDeadlock);
  EXPECT_EQ(describe_waiting(world.kernel().waiting()),
            "  rank 0, watcher: recv of gather with rank 1 (group 7, generation 0, sequence 3), since 0 ps\n"
            "  rank 0, main: join of watcher, since 0 ps\n"
            "  rank 1, watcher: recv of gather with rank 0 (group 7, generation 0, sequence 3), since 0 ps\n"
            "  rank 1, main: join of watcher, since 0 ps\n");
}

Task<> receives_with_deadline(RankContext& context, std::vector<std::string>& log) {
  const Group group(1, 0, std::vector<int>{0, 1}, context.rank());
  if (context.rank() == 1) {
    co_await context.clock().sleep_for(Duration::microseconds(20));
    Payload payload = context.comm().pool().copy_of("late");
    const Call late(group, 0, Operation::kPointToPoint);
    co_await context.comm().send(late, 0, payload);
    co_return;
  }
  const Call call(group, 0, Operation::kPointToPoint, Duration::microseconds(10));
  bool timed_out = false;
  try {
    const Payload none = co_await context.comm().recv(call, 1);
  } catch (const CommError& error) {
    timed_out = error.kind() == CommError::Kind::kTimeout;
    log.push_back(error.what());
  }
  if (!timed_out) co_return;
  // The message still comes, and a second receive gets it.
  const Call patient(group, 0, Operation::kPointToPoint);
  const Payload payload = co_await context.comm().recv(patient, 1);
  log.push_back(std::string(payload.text()) + " at " + std::to_string(context.clock().now().ps()));
}

TEST(Deadline, FailsTheReceiveAtItsTimeAndLosesNoMessage) {
  std::vector<std::string> log;
  World world(small_world(2));
  world.start_all([&log](RankContext& context) { return receives_with_deadline(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  // 20 us sleep + 5 us latency + 4 bytes at 80 ps.
  EXPECT_EQ(log,
            (std::vector<std::string>{"rank 0: point_to_point (group 1, generation 0, sequence 0) with rank 1: the "
                                      "deadline has passed",
                                      "late at 25000320"}));
}

Task<> meets_its_deadlines(RankContext& context) {
  const Group group(1, 0, std::vector<int>{0, 1}, context.rank());
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Call call(group, i, Operation::kPointToPoint, Duration::seconds(1));
    const Payload payload = co_await context.comm().exchange(call, 1 - context.rank(), Payload(), 1 - context.rank());
  }
}

TEST(Deadline, ThatIsMetLeavesNoTraceInTheClockOrTheEvents) {
  World world(small_world(2));
  world.start_all(meets_its_deadlines);
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(world.now(), TimePoint::at(100 * Duration::microseconds(5)));
  EXPECT_EQ(world.kernel().events(), 2U + 200U);  // two starts, a delivery a message
}

Task<> computes_twice(RankContext& context, std::vector<std::int64_t>& log) {
  auto work = [&] { log.push_back(context.clock().now().ps()); };
  const ComputeCost cost(Flops(1000), Bytes());  // 1 ns at 1 TFLOP/s
  Activity<void> other =
      context.spawn("other", [](RankContext& inner, ComputeCost inner_cost, WorkRef inner_work) -> Task<> {
        co_await inner.device().run(inner_cost, inner_work);
      }(context, cost, WorkRef(work)));
  co_await context.device().run(cost, work);
  log.push_back(context.clock().now().ps());
  co_await other.join();
}

TEST(Device, StreamIsFifoAndWorkRunsWhenItsTurnComes) {
  std::vector<std::int64_t> log;
  World world(small_world(1));
  world.start_all([&log](RankContext& context) { return computes_twice(context, log); });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  EXPECT_EQ(log, (std::vector<std::int64_t>{0, 1000, 2000}));
}

}  // namespace
}  // namespace rehearse
