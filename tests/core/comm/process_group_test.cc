// Groups: numbering of calls, several in flight, sub-groups, failures, and what a tracer sees.

#include "core/comm/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/comm/ranks.h"

namespace rehearse {
namespace {

constexpr int kRanks = 6;

TEST(ProcessGroup, WorldIsAllRanksInOrderInTheContextsGeneration) {
  Ranks ranks(3);
  ranks.run([](RankContext& context) -> Task<> {
    ProcessGroup world = ProcessGroup::world(context);
    EXPECT_EQ(world.rank(), context.rank());
    EXPECT_EQ(world.size(), 3);
    EXPECT_EQ(world.group().ranks, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(world.group().id, 0U);
    EXPECT_EQ(world.group().generation, context.generation());
    co_return;
  });
}

Task<> two_calls(RankContext& context, BufferView first, BufferView second) {
  ProcessGroup world = ProcessGroup::world(context);
  Task<> first_task = all_reduce(world, first);
  Task<> second_task = all_reduce(world, second);
  EXPECT_EQ(world.sequence(), 2U);
  // Started in another order on every second rank: the numbers were given above.
  if (context.rank() % 2 == 0) {
    Activity<void> a = context.spawn("first", std::move(first_task));
    Activity<void> b = context.spawn("second", std::move(second_task));
    co_await b.join();
    co_await a.join();
  } else {
    Activity<void> b = context.spawn("second", std::move(second_task));
    Activity<void> a = context.spawn("first", std::move(first_task));
    co_await a.join();
    co_await b.join();
  }
}

TEST(ProcessGroup, ACallTakesItsNumberWhenItIsCalledNotWhenItIsAwaited) {
  PerRank<float> first = uneven_values<float>(1, kRanks, 50);
  PerRank<float> second = uneven_values<float>(2, kRanks, 50);
  const std::vector<float> first_sum = ring_sum(first);
  const std::vector<float> second_sum = ring_sum(second);
  Ranks ranks(kRanks);
  ranks.run([&](RankContext& context) {
    return two_calls(context, view_of(first, context.rank()), view_of(second, context.rank()));
  });
  for (std::size_t r = 0; r < kRanks; ++r) {
    EXPECT_TRUE(same_bits(first[r], first_sum));
    EXPECT_TRUE(same_bits(second[r], second_sum));
  }
}

Task<> many_calls(RankContext& context, PerRank<double>& units) {
  ProcessGroup world = ProcessGroup::world(context);
  std::vector<Activity<void>> activities;
  for (std::vector<double>& unit : units) {
    activities.push_back(context.spawn("unit", all_reduce(world, BufferView(std::span(unit)))));
  }
  for (Activity<void>& activity : activities) co_await activity.join();
  co_await barrier(world);
}

// k all_reduces of equal size that start together share the ports: in every step the k messages leave one after the
// other. A step of one takes alpha + t; its next message finds the port free again if the k - 1 others have left by
// then, (k - 1) t <= alpha. So nobody ever waits after the first step, and the last is done 2(N-1)(alpha + t) + (k-1) t
// after the start. Here t = 4 * 25 * 80 ps = 16 ns a double chunk of 25, alpha 5 us; then the barrier's 3 alpha.
TEST(ProcessGroup, SeveralCollectivesInFlightShareThePorts) {
  constexpr int kUnits = 5;
  std::vector<PerRank<double>> units;  // by unit, then rank
  std::vector<PerRank<double>> of_rank(kRanks);
  for (int u = 0; u < kUnits; ++u) {
    units.push_back(uneven_values<double>(static_cast<std::uint64_t>(u), kRanks, kRanks * 25));
    for (std::size_t r = 0; r < kRanks; ++r) of_rank[r].push_back(units.back()[r]);
  }
  Ranks ranks(kRanks);
  ranks.run(
      [&](RankContext& context) { return many_calls(context, of_rank[static_cast<std::size_t>(context.rank())]); });
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (std::size_t r = 0; r < kRanks; ++r) EXPECT_TRUE(same_bits(of_rank[r][u], ring_sum(units[u])));
  }
  const Duration alpha = default_network().latency;
  const Duration transfer = Duration::picoseconds(8 * 25 * 80);
  EXPECT_EQ(ranks.elapsed(), 2 * (kRanks - 1) * (alpha + transfer) + (kUnits - 1) * transfer + 3 * alpha);
}

// Even and odd ranks, the odd ones from the last to the first; both beside the world.
Group parity_group(RankContext& context) {
  const std::vector<int> even = {0, 2, 4};
  const std::vector<int> odd = {5, 3, 1};
  const int rank = context.rank();
  if (rank % 2 == 0) return Group(1, context.generation(), even, rank / 2);
  return Group(2, context.generation(), odd, (5 - rank) / 2);
}

Task<> sub_group(RankContext& context, BufferView in_group, BufferView in_world) {
  ProcessGroup world = ProcessGroup::world(context);
  ProcessGroup group(context, parity_group(context));
  Activity<void> global = context.spawn("world", all_reduce(world, in_world));
  co_await all_reduce(group, in_group);
  co_await broadcast(group, in_group, 2);
  co_await global.join();
}

TEST(ProcessGroup, SubGroupsSumInTheirOwnOrderBesideTheWorld) {
  PerRank<float> in_group = uneven_values<float>(3, kRanks, 20);
  PerRank<float> in_world = uneven_values<float>(4, kRanks, 20);
  const std::vector<float> even_sum = ring_sum(PerRank<float>{in_group[0], in_group[2], in_group[4]});
  const std::vector<float> odd_sum = ring_sum(PerRank<float>{in_group[5], in_group[3], in_group[1]});
  const std::vector<float> world_sum = ring_sum(in_world);
  Ranks ranks(kRanks);
  ranks.run([&](RankContext& context) {
    return sub_group(context, view_of(in_group, context.rank()), view_of(in_world, context.rank()));
  });
  for (std::size_t r = 0; r < kRanks; ++r) {
    EXPECT_TRUE(same_bits(in_group[r], r % 2 == 0 ? even_sum : odd_sum)) << r;
    EXPECT_TRUE(same_bits(in_world[r], world_sum)) << r;
  }
}

Task<> in_sub_group(RankContext& context, BufferView buffer) {
  ProcessGroup group(context, parity_group(context));
  co_await all_reduce(group, buffer);
}

// Groups that share no port do not slow each other.
TEST(ProcessGroup, ASubGroupTakesTheTimeOfItsOwnSize) {
  Ranks ranks(kRanks, default_network(), Storing::kShapeOnly);
  ranks.run([](RankContext& context) { return in_sub_group(context, shape_of(DType::kFloat32, 3000)); });
  const Duration transfer = transfer_time(Bytes(4000), default_network().bandwidth);
  EXPECT_EQ(ranks.elapsed(), 4 * (default_network().latency + transfer));
}

TEST(ProcessGroup, AGroupOfOneSendsNothing) {
  PerRank<float> values = uneven_values<float>(5, 1, 8);
  const PerRank<float> before = values;
  Ranks ranks(1);
  ranks.run([&](RankContext& context) { return on_world(context, all_reduce, view_of(values, context.rank())); });
  EXPECT_EQ(values, before);
  EXPECT_EQ(ranks.world().network().messages(), 0);
}

struct Failure {
  bool caught = false;
  CommError::Kind kind = CommError::Kind::kAborted;
  Operation operation = Operation::kPointToPoint;
  std::uint64_t sequence = 0;
  int peer = -1;
  Duration when;
};

constexpr Duration kDeadline = Duration::milliseconds(2);

// A barrier that all do, then an all_reduce that rank 2 never enters.
Task<> without_rank_2(RankContext& context, Failure& failure) {
  ProcessGroup world = ProcessGroup::world(context, kDeadline);
  const BufferView buffer = shape_of(DType::kFloat32, 300);
  co_await barrier(world);
  if (context.rank() == 2) {
    co_await context.clock().sleep_for(Duration::milliseconds(10));
    co_return;
  }
  try {
    co_await all_reduce(world, buffer);
  } catch (const CommError& error) {
    failure.caught = true;
    failure.kind = error.kind();
    failure.operation = error.operation();
    failure.sequence = error.sequence();
    failure.peer = error.peer();
    failure.when = context.clock().now().since_start();
  }
  // A rank that ends breaks its connections: stay until the other has met its own deadline.
  co_await context.clock().sleep_for(Duration::milliseconds(10));
}

// Rank 0 waits for rank 2 from the start of the all_reduce, at 2 alpha; rank 1 waits for rank 0's second message, one
// step after that.
TEST(ProcessGroup, ADeadlineEndsACollectiveWithCommError) {
  std::vector<Failure> failures(3);
  Ranks ranks(3, default_network(), Storing::kShapeOnly);
  ranks.run([&](RankContext& context) {
    return without_rank_2(context, failures[static_cast<std::size_t>(context.rank())]);
  });
  const Duration alpha = default_network().latency;
  const Duration step = alpha + transfer_time(Bytes(400), default_network().bandwidth);
  EXPECT_FALSE(failures[2].caught);
  for (const int rank : {0, 1}) {
    const Failure& failure = failures[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(failure.caught);
    EXPECT_EQ(failure.kind, CommError::Kind::kTimeout);
    EXPECT_EQ(failure.operation, Operation::kAllReduce);
    EXPECT_EQ(failure.sequence, 1U);
    EXPECT_EQ(failure.peer, rank == 0 ? 2 : 0);
    EXPECT_EQ(failure.when, 2 * alpha + rank * step + kDeadline);
  }
}

// What a tracer is told, in words.
class RecordingTracer : public Tracer {
 public:
  void phase(std::int64_t, Phase) override {}
  void collective_begin(const Call& call, Bytes size) override {
    lines.push_back("begin " + line(call) + " " + std::to_string(size.count()));
  }
  void collective_end(const Call& call) override { lines.push_back("end " + line(call)); }

  std::vector<std::string> lines;

 private:
  static std::string line(const Call& call) { return std::to_string(call.sequence) + " " + name_of(call.operation); }
};

Task<> traced_program(RankContext& context, bool fail) {
  ProcessGroup world = ProcessGroup::world(context, kDeadline);
  const BufferView buffer = shape_of(DType::kFloat64, 10);
  const BufferView all = shape_of(DType::kFloat64, 20);
  std::vector<BufferView> into;
  if (context.rank() == 0) into = {buffer, buffer};
  co_await all_reduce(world, buffer);
  co_await reduce_scatter(world, buffer);
  co_await all_gather(world, all);
  co_await gather(world, buffer, std::move(into), 0);
  co_await barrier(world);
  if (fail && context.rank() == 1) co_return;
  try {
    co_await broadcast(world, buffer, 1);
  } catch (const CommError&) {
  }
}

TEST(ProcessGroup, TheTracerSeesBeginSizeAndEnd) {
  RecordingTracer tracer;
  Ranks ranks(2, default_network(), Storing::kShapeOnly);
  ranks.world().set_tracer(0, &tracer);
  ranks.run([](RankContext& context) { return traced_program(context, false); });
  EXPECT_THAT(tracer.lines,
              testing::ElementsAre("begin 0 all_reduce 80", "end 0 all_reduce", "begin 1 reduce_scatter 80",
                                   "end 1 reduce_scatter", "begin 2 all_gather 160", "end 2 all_gather",
                                   "begin 3 gather 160", "end 3 gather", "begin 4 barrier 0", "end 4 barrier",
                                   "begin 5 broadcast 80", "end 5 broadcast"));
}

Task<> chosen_algorithms(RankContext& context) {
  ProcessGroup world = ProcessGroup::world(context);
  const BufferView buffer = shape_of(DType::kFloat64, 10);
  std::vector<BufferView> parts = {buffer, buffer};
  std::vector<BufferView> from;
  if (context.rank() == 0) from = parts;
  co_await all_reduce(world, buffer, AllReduceAlgorithm::kDoubleBinaryTree);
  co_await reduce(world, buffer, 1);
  co_await scatter(world, std::move(from), buffer, 0);
  Task<> exchange = all_to_all(world, parts, parts, AllToAllAlgorithm::kDirect);
  co_await std::move(exchange);
}

// Both trees are one collective, with two numbers.
TEST(ProcessGroup, TheTracerSeesChosenAlgorithms) {
  RecordingTracer tracer;
  Ranks ranks(2, default_network(), Storing::kShapeOnly);
  ranks.world().set_tracer(0, &tracer);
  ranks.run(chosen_algorithms);
  EXPECT_THAT(tracer.lines, testing::ElementsAre("begin 0 all_reduce 80", "end 0 all_reduce", "begin 2 reduce 80",
                                                 "end 2 reduce", "begin 3 scatter 160", "end 3 scatter",
                                                 "begin 4 all_to_all 160", "end 4 all_to_all"));
}

TEST(ProcessGroup, ACollectiveThatFailsDoesNotEndForTheTracer) {
  RecordingTracer tracer;
  Ranks ranks(2, default_network(), Storing::kShapeOnly);
  ranks.world().set_tracer(0, &tracer);
  ranks.run([](RankContext& context) { return traced_program(context, true); });
  EXPECT_EQ(tracer.lines.back(), "begin 5 broadcast 80");
}

TEST(ProcessGroupDeathTest, ARankMustBeWhereTheGroupSaysItIs) {
  EXPECT_DEATH(
      {
        Ranks ranks(2);
        ranks.run([](RankContext& context) -> Task<> {
          ProcessGroup wrong(context, Group(1, 0, std::vector<int>(2, 1), 0));
          co_return;
        });
      },
      "world_rank");
}

}  // namespace
}  // namespace rehearse
