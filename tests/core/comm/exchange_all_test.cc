// Rings without payload hand their exchanges to the simulator at once (Communicator::exchange_all), or send them one by
// one: the same events, times, messages, link loads, errors and waits, over every fabric and whatever fails.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/comm/collectives.h"
#include "sim/cluster/world.h"
#include "sim/net/make_topology.h"
#include "tests/sim/net/scripted_links.h"

namespace rehearse {
namespace {

// How ranks are connected.
struct Wires {
  std::string name;
  NetworkConfig network;
  std::optional<ScriptedLinks::Script> links;
  bool reliable = false;
};

NetworkConfig config_of(FabricKind fabric) {
  NetworkConfig config;
  config.latency = Duration::microseconds(5);
  config.bandwidth = Bandwidth::bits_per_second(7'000'000'000);
  config.fabric = fabric;
  return config;
}

// Leaves of three ranks below two spines, whose links are slower than the ports.
std::shared_ptr<const Topology> tree(int ranks) {
  PortNetwork ports;
  ports.port = LinkSpec(Duration::microseconds(1), Bandwidth::bits_per_second(9'000'000'000));
  ports.ports_per_leaf = 3;
  ports.spines = 2;
  ports.uplink = LinkSpec(Duration::nanoseconds(700), Bandwidth::bits_per_second(4'000'000'000));
  return std::make_shared<const Topology>(make_ports(ranks, ports));
}

std::shared_ptr<const Topology> torus(int ranks) {
  const LinkSpec link(Duration::microseconds(2), Bandwidth::bits_per_second(3'000'000'000));
  return std::make_shared<const Topology>(make_torus({ranks}, link));
}

void lose_some(const LinkPacket& packet, int index, TimePoint, PacketFate& fate) {
  fate.path.lost = (index + packet.source) % 4 == 1;
}

void slow_some(const LinkPacket& packet, int index, TimePoint, PacketFate& fate) {
  if ((index + packet.destination) % 3 == 0) fate.path.added = Duration::microseconds(11);
  if (packet.source == 1) fate.path.bandwidth_ppb = 300'000'000;
}

std::vector<Wires> all_wires(int ranks) {
  std::vector<Wires> all;
  const auto add = [&](const std::string& name, const NetworkConfig& network) {
    all.emplace_back();
    all.back().name = name;
    all.back().network = network;
  };
  for (const bool late : {false, true}) {
    const std::string with = late ? " with jitter" : "";
    for (const FabricKind kind : {FabricKind::kPorts, FabricKind::kMaxMin, FabricKind::kAlphaBeta}) {
      NetworkConfig network = config_of(kind);
      if (late) network.jitter = Duration::microseconds(20);
      add("switch " + std::to_string(static_cast<int>(kind)) + with, network);
      network.topology = tree(ranks);
      add("tree " + std::to_string(static_cast<int>(kind)) + with, network);
      network.topology = torus(ranks);
      add("torus " + std::to_string(static_cast<int>(kind)) + with, network);
    }
  }
  add("ideal", config_of(FabricKind::kIdeal));
  NetworkConfig busy = config_of(FabricKind::kPorts);
  busy.overhead = Duration::nanoseconds(900);
  busy.gap = Duration::microseconds(3);
  add("overhead", busy);
  add("lossy", config_of(FabricKind::kPorts));
  all.back().links = lose_some;
  all.back().reliable = true;
  add("slow links", config_of(FabricKind::kPorts));
  all.back().links = slow_some;
  return all;
}

// What a rank does, and what it says.
struct Program {
  Duration timeout = kForever;
  int wrong_rank = -1;                // whose second collective is of another size
  std::optional<Duration> aborts_at;  // on rank 0
  bool at_once = false;               // the collectives beside each other
  std::int64_t count = 97;
};

BufferView shape(std::int64_t count) {
  BufferView view;
  view.count = count;
  view.unit = 3;
  return view;
}

Task<> aborts(RankContext& context, Duration at) {
  co_await context.clock().sleep_for(at);
  context.comm().abort(context.generation());
}

Task<> collectives(RankContext& context, ProcessGroup& group, const Program& program) {
  const std::int64_t second = program.wrong_rank == context.rank() ? program.count + 1 : program.count;
  if (program.at_once) {
    Activity<void> one = context.spawn("one", all_reduce(group, shape(program.count)));
    Activity<void> two = context.spawn("two", reduce_scatter(group, shape(second)));
    co_await all_gather(group, shape(program.count));
    co_await one.join();
    co_await two.join();
    co_return;
  }
  co_await all_reduce(group, shape(program.count));
  co_await reduce_scatter(group, shape(second));
  co_await all_gather(group, shape(program.count));
  if (group.size() % 2 != 0) co_return;
  const AlgorithmOptions hosts(Bytes(), 2);
  co_await all_reduce(group, shape(program.count), AllReduceAlgorithm::kHierarchical, hosts);
}

Task<> rank_main(RankContext& context, const Program& program, std::string& said) {
  // Ranks begin one after the other, so that messages wait for receives and receives for messages.
  co_await context.clock().sleep_for(Duration::microseconds(3 * ((5 * context.rank()) % 4)));
  if (context.rank() == 0 && program.aborts_at.has_value()) {
    context.spawn("aborts", aborts(context, *program.aborts_at));
  }
  ProcessGroup group = ProcessGroup::world(context, program.timeout);
  try {
    co_await collectives(context, group, program);
    said = "done";
  } catch (const CommError& error) {
    said = error.what();
  }
  said += " at " + to_string(context.clock().now().since_start());
}

enum class Blow { kNone, kCrash, kHostLoss, kHang, kFence };

// All that can be seen of a run from outside.
struct Course : public EventListener {
  void on_record(const EventRecord& record) override { records.push_back(record); }

  RunEnd end = RunEnd::kDone;
  std::vector<EventRecord> records;
  std::vector<std::string> said;  // by rank
  std::vector<int> senders;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> loads;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>> traffic;
  std::string waiting;
};

std::unique_ptr<Course> run(int ranks, const Wires& wires, const Program& program, bool schedules, Blow blow,
                            std::uint64_t after) {
  auto course = std::make_unique<Course>();
  course->said.resize(static_cast<std::size_t>(ranks));
  std::optional<ScriptedLinks> links;
  if (wires.links.has_value()) links.emplace(*wires.links);
  WorldConfig config;
  config.ranks = ranks;
  config.network = wires.network;
  config.storing = Storing::kShapeOnly;
  if (wires.reliable) config.transport.emplace();
  if (links.has_value()) config.links = &*links;
  World world(config);
  world.kernel().set_listener(course.get());
  world.network().set_takes_schedules(schedules);
  world.network().set_send_listener([&](int rank) { course->senders.push_back(rank); });
  world.start_all([&](RankContext& context) {
    return rank_main(context, program, course->said[static_cast<std::size_t>(context.rank())]);
  });
  course->end = world.run(after);
  const int struck = ranks - 1;
  if (course->end == RunEnd::kBudget) {
    if (blow == Blow::kCrash) world.crash(struck, CrashKind::kProcess);
    if (blow == Blow::kHostLoss) world.crash(struck, CrashKind::kHost);
    if (blow == Blow::kHang) world.hang(struck);
    if (blow == Blow::kFence && world.is_up(struck)) world.abandon(struck);
    course->end = world.run();
  }
  course->waiting = describe_waiting(world.kernel().waiting());
  for (const LinkLoad& load : world.network().fabric().link_loads()) {
    course->loads.emplace_back(load.messages, load.bytes.count(), load.busy.ps());
  }
  for (int rank = 0; rank < ranks; ++rank) {
    for (int k = 0; k < kOperations; ++k) {
      const TrafficCounters& one = world.network().counters(rank, static_cast<Operation>(k));
      course->traffic.emplace_back(one.messages_sent, one.messages_received, one.bytes_sent.count(),
                                   one.bytes_received.count());
    }
  }
  return course;
}

// Both ways; returns how many events there were.
std::uint64_t expect_same(int ranks, const Wires& wires, const Program& program, Blow blow = Blow::kNone,
                          std::uint64_t after = ~std::uint64_t{0}) {
  const auto apart = run(ranks, wires, program, false, blow, after);
  const auto at_once = run(ranks, wires, program, true, blow, after);
  SCOPED_TRACE(wires.name + ", " + std::to_string(ranks) + " ranks, blow " + std::to_string(static_cast<int>(blow)) +
               " after " + std::to_string(after));
  EXPECT_EQ(at_once->end, apart->end);
  EXPECT_EQ(at_once->said, apart->said);
  EXPECT_EQ(at_once->records.size(), apart->records.size());
  EXPECT_TRUE(at_once->records == apart->records);
  EXPECT_EQ(at_once->senders, apart->senders);
  EXPECT_EQ(at_once->loads, apart->loads);
  EXPECT_EQ(at_once->traffic, apart->traffic);
  EXPECT_EQ(at_once->waiting, apart->waiting);
  return apart->records.size();
}

TEST(ExchangeAll, IsWhatTheLoopSendsOverEveryFabric) {
  for (const int ranks : {2, 3, 4, 7, 8}) {
    for (const Wires& wires : all_wires(ranks)) {
      for (const bool at_once : {false, true}) {
        // 5: chunks without elements.
        for (const std::int64_t count : {5, 97, 4096}) {
          Program program;
          program.at_once = at_once;
          program.count = count;
          EXPECT_GT(expect_same(ranks, wires, program), 0U);
        }
      }
    }
  }
}

TEST(ExchangeAll, FailsAsTheLoopDoesWhateverStrikesWhen) {
  constexpr int kRanks = 4;
  for (const Wires& wires : all_wires(kRanks)) {
    for (const bool ends : {false, true}) {
      Program program;
      // Without a deadline a rank that says nothing is a deadlock, whose table must be the same.
      if (ends) program.timeout = Duration::microseconds(60);
      program.at_once = ends;
      const std::uint64_t events = expect_same(kRanks, wires, program);
      for (const Blow blow : {Blow::kCrash, Blow::kHostLoss, Blow::kHang, Blow::kFence}) {
        // A lossy network without a deadline tries for ever to reach a host that is lost.
        if (wires.reliable && !ends) continue;
        for (std::uint64_t after = 1; after < events; after += 5) expect_same(kRanks, wires, program, blow, after);
      }
    }
  }
}

TEST(ExchangeAll, AbortsAndMismatchesAreThoseOfTheLoop) {
  constexpr int kRanks = 3;
  for (const Wires& wires : all_wires(kRanks)) {
    for (const bool at_once : {false, true}) {
      Program program;
      program.at_once = at_once;
      program.timeout = Duration::milliseconds(2);
      for (int at = 1; at < 120; at += 4) {
        program.aborts_at = Duration::microseconds(at);
        expect_same(kRanks, wires, program);
      }
      program.aborts_at.reset();
      program.wrong_rank = 1;
      expect_same(kRanks, wires, program);
    }
  }
}

// Deadlines that pass in the middle of a schedule, and just do not.
TEST(ExchangeAll, DeadlinesAreThoseOfEveryExchange) {
  for (const Wires& wires : all_wires(4)) {
    for (int deadline = 1; deadline < 60; deadline += 2) {
      Program program;
      program.timeout = Duration::nanoseconds(500 * deadline);
      expect_same(4, wires, program);
    }
  }
}

}  // namespace
}  // namespace rehearse
