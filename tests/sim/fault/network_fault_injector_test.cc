// What links are like after a plan: windows, counts, draws, and what is told of them.

#include "sim/fault/network_fault_injector.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace rehearse {
namespace {

using Log = std::vector<std::string>;

NetworkFault fault_of(NetworkFaultKind kind, int from = kAnyRank, int to = kAnyRank) {
  NetworkFault fault;
  fault.kind = kind;
  fault.links.from = from;
  fault.links.to = to;
  return fault;
}

TimePoint us(std::int64_t time) { return TimePoint::at(Duration::microseconds(time)); }

// An injector in a kernel that runs nothing but what a test puts there.
class Bench : private EventSink {
 public:
  explicit Bench(std::vector<NetworkFault> faults, bool continued = false, std::uint64_t seed = 1)
      : plan_{std::move(faults)}, injector_(plan_, RandomStream(seed), hooks()) {
    kernel_.process_started();
    injector_.start(kernel_, continued);
  }
  // Runs the windows of time that begin or end until then, alone.
  const Log& run() {
    kernel_.schedule(us(1'000'000), this, 0);
    EXPECT_EQ(kernel_.run(), RunEnd::kDeadlock);
    return log;
  }
  PacketFate fate(int source, int destination, std::int64_t at_us = 0, std::int64_t bytes = 100, bool ack = false) {
    return injector_.fate_of(LinkPacket(source, destination, Bytes(bytes), ack), us(at_us));
  }
  void begin(std::int64_t step) {
    TrainMoment moment;
    moment.step = step;
    moment.phase = Phase::kData;
    injector_.strike(moment, StateMemory());
  }
  NetworkFaultInjector& injector() { return injector_; }
  Log log;

 private:
  NetworkFaultInjector::Hooks hooks() {
    NetworkFaultInjector::Hooks hooks;
    hooks.on_fault = [this](const std::string& what) {
      log.push_back(to_string(kernel_.now().since_start()) + ": " + what);
    };
    return hooks;
  }
  void on_event(std::uint64_t) override {}

  Kernel kernel_;
  NetworkFaultPlan plan_;
  NetworkFaultInjector injector_;
};

TEST(NetworkFaults, ALinkIsOneWayUnlessSaid) {
  NetworkFault down = fault_of(NetworkFaultKind::kLinkDown, 1, 2);
  Bench one_way({down});
  EXPECT_TRUE(one_way.fate(1, 2).path.lost);
  EXPECT_FALSE(one_way.fate(2, 1).path.lost);
  EXPECT_FALSE(one_way.fate(1, 3).path.lost);
  down.links.both_ways = true;
  Bench both({down});
  EXPECT_TRUE(both.fate(2, 1).path.lost);
  EXPECT_FALSE(both.fate(0, 1).path.lost);
  down.links.to = kAnyRank;
  Bench all_of_one({down});
  EXPECT_TRUE(all_of_one.fate(1, 3).path.lost);
  EXPECT_TRUE(all_of_one.fate(0, 1).path.lost);
  EXPECT_FALSE(all_of_one.fate(0, 3).path.lost);
}

TEST(NetworkFaults, APartitionCutsBetweenItsSetsAlone) {
  NetworkFault cut = fault_of(NetworkFaultKind::kPartition);
  cut.links.from_set = {0, 1};
  cut.links.to_set = {2, 3};
  Bench one_way({cut});
  EXPECT_TRUE(one_way.fate(0, 3).path.lost);
  EXPECT_FALSE(one_way.fate(3, 0).path.lost);
  EXPECT_FALSE(one_way.fate(0, 1).path.lost);
  EXPECT_TRUE(one_way.fate(1, 2, 0, 0, true).path.lost) << "acknowledgements too";
  cut.links.both_ways = true;
  Bench two_ways({cut});
  EXPECT_TRUE(two_ways.fate(3, 0).path.lost);
  EXPECT_FALSE(two_ways.fate(2, 3).path.lost);
}

TEST(NetworkFaults, AWindowOfTimeHoldsItsBeginAndNotItsEnd) {
  NetworkFault down = fault_of(NetworkFaultKind::kLinkDown, 0, 1);
  down.window.from_time = us(10);
  down.window.until_time = us(20);
  Bench bench({down});
  EXPECT_FALSE(bench.fate(0, 1, 9).path.lost);
  EXPECT_TRUE(bench.fate(0, 1, 10).path.lost);
  EXPECT_TRUE(bench.fate(0, 1, 19).path.lost);
  EXPECT_FALSE(bench.fate(0, 1, 20).path.lost);
  EXPECT_EQ(bench.run(), (Log{"10 us: link 0 -> 1 goes down", "20 us: link 0 -> 1 comes up again"}));
}

TEST(NetworkFaults, AWindowOfStepsOpensWithTheFirstRankAndNotAgain) {
  NetworkFault down = fault_of(NetworkFaultKind::kLinkDown, 0, 1);
  down.window.from_step = 3;
  down.window.until_step = 5;
  Bench bench({down});
  std::vector<bool> lost;
  for (const std::int64_t step : {1, 2, 3, 3, 4, 3, 5, 3, 4, 6}) {
    bench.begin(step);
    lost.push_back(bench.fate(0, 1).path.lost);
  }
  // A job that goes back from step 5 trains 3 and 4 on a whole link.
  EXPECT_EQ(lost, (std::vector<bool>{false, false, true, true, true, true, false, false, false, false}));
  EXPECT_EQ(bench.log, (Log{"0 ps: link 0 -> 1 goes down", "0 ps: link 0 -> 1 comes up again"}));
}

TEST(NetworkFaults, ARunThatBeginsBehindTheStepIsInTheWindow) {
  NetworkFault down = fault_of(NetworkFaultKind::kLinkDown, 0, 1);
  down.window.from_step = 3;
  Bench bench({down}, true);
  bench.begin(11);
  EXPECT_TRUE(bench.fate(0, 1).path.lost);
}

TEST(NetworkFaults, AContinuedRunHasAClockOfItsOwn) {
  NetworkFault down = fault_of(NetworkFaultKind::kLinkDown, 0, 1);
  down.window.until_time = us(20);
  Bench bench({down}, true);
  EXPECT_FALSE(bench.fate(0, 1).path.lost);
  EXPECT_EQ(bench.run(), Log());
  EXPECT_EQ(bench.injector().not_struck(),
            (Log{"link_down on link 0 -> 1: its window is of time, and a continued run has a clock of its own"}));
}

TEST(NetworkFaults, TheNthMessageInForceIsStruckAndOnlyIt) {
  NetworkFault loss = fault_of(NetworkFaultKind::kLoss, 0, 1);
  loss.strikes.of = PacketChoice::kMessages;
  loss.strikes.first = 3;
  loss.strikes.count = 1;
  loss.window.from_step = 2;
  Bench bench({loss});
  bench.fate(0, 1);
  bench.begin(2);
  std::vector<bool> lost;
  for (int i = 0; i < 5; ++i) {
    bench.fate(0, 1, 0, 0, true);  // acknowledgements are not counted
    bench.fate(1, 0);              // nor other links
    lost.push_back(bench.fate(0, 1).path.lost);
  }
  EXPECT_EQ(lost, (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ(bench.log, (Log{"0 ps: a message from rank 0 to rank 1 is lost"}));
  EXPECT_EQ(bench.injector().progress().faults[0].seen, 5);
  EXPECT_EQ(bench.injector().progress().faults[0].struck, 1);
}

TEST(NetworkFaults, HowOftenOneHasStruckCanBeKept) {
  NetworkFault loss = fault_of(NetworkFaultKind::kLoss, 0, 1);
  loss.strikes.count = 2;
  Bench first({loss});
  first.begin(7);
  EXPECT_TRUE(first.fate(0, 1).path.lost);
  Bench second({loss});
  second.injector().set_progress(first.injector().progress());
  EXPECT_EQ(second.injector().progress().newest_step, 7);
  EXPECT_TRUE(second.fate(0, 1).path.lost);
  EXPECT_FALSE(second.fate(0, 1).path.lost);
}

TEST(NetworkFaults, AProbabilityStrikesAboutThatPart) {
  NetworkFault loss = fault_of(NetworkFaultKind::kLoss);
  loss.strikes.probability_ppb = 100'000'000;
  Bench bench({loss});
  int lost = 0;
  for (int i = 0; i < 10'000; ++i) lost += bench.fate(i % 4, (i + 1) % 4).path.lost ? 1 : 0;
  EXPECT_GT(lost, 900);  // 1,000 with a deviation of 30
  EXPECT_LT(lost, 1100);
}

// What befalls the n-th packet of a link does not depend on what goes over others, or on other faults.
TEST(NetworkFaults, DrawsArePureFunctionsOfLinkAndNumber) {
  NetworkFault loss = fault_of(NetworkFaultKind::kLoss);
  loss.strikes.probability_ppb = 500'000'000;
  NetworkFault corrupt = fault_of(NetworkFaultKind::kCorrupt);
  corrupt.strikes.probability_ppb = 300'000'000;
  Bench alone({loss});
  Bench busy({fault_of(NetworkFaultKind::kLatency, 3), loss, corrupt});
  Bench other_seed({loss}, false, 2);
  int equal = 0;
  for (int i = 0; i < 200; ++i) {
    busy.fate(1, 0);
    const bool lost = alone.fate(0, 1).path.lost;
    EXPECT_EQ(busy.fate(0, 1).path.lost, lost);
    equal += other_seed.fate(0, 1).path.lost == lost ? 1 : 0;
  }
  EXPECT_LT(equal, 140);
}

TEST(NetworkFaults, JitterIsDrawnWithinItsBounds) {
  NetworkFault late = fault_of(NetworkFaultKind::kLatency, 0);
  late.by = Duration::picoseconds(5000);
  late.jitter = Duration::picoseconds(100);
  Bench bench({late});
  std::int64_t least = 10'000;
  std::int64_t most = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t added = bench.fate(0, 1).path.added.ps();
    least = std::min(least, added);
    most = std::max(most, added);
  }
  EXPECT_EQ(least, 5000);
  EXPECT_EQ(most, 5100);
}

TEST(NetworkFaults, SeveralOnOneLinkAddUp) {
  NetworkFault slow = fault_of(NetworkFaultKind::kBandwidth, 0);
  slow.bandwidth_ppb = 100'000'000;
  NetworkFault late = fault_of(NetworkFaultKind::kLatency, 0);
  late.by = Duration::picoseconds(70);
  NetworkFault delay = fault_of(NetworkFaultKind::kDelay, 0);
  delay.by = Duration::picoseconds(30);
  NetworkFault aside = fault_of(NetworkFaultKind::kReorder, 0);
  aside.by = Duration::picoseconds(9);
  Bench bench({slow, slow, late, late, delay, aside});
  const PacketFate fate = bench.fate(0, 1);
  EXPECT_EQ(fate.path.bandwidth_ppb, 10'000'000);
  EXPECT_EQ(fate.path.added.ps(), 170);
  EXPECT_EQ(fate.path.aside.ps(), 9);
  EXPECT_TRUE(fate.delayed);
}

TEST(NetworkFaults, ABitIsOneOfThePayloads) {
  NetworkFault corrupt = fault_of(NetworkFaultKind::kCorrupt);
  Bench bench({corrupt});
  std::vector<int> hits(24);
  for (int i = 0; i < 1000; ++i) ++hits.at(bench.fate(0, 1, 0, 3).bit);
  for (const int hit : hits) EXPECT_GT(hit, 10);
  EXPECT_FALSE(bench.fate(0, 1, 0, 0).corrupted) << "there is no bit";
  EXPECT_TRUE(bench.fate(1, 0, 0, 0, true).corrupted) << "an acknowledgement";
}

TEST(NetworkFaults, WhatNeverStruckIsSaid) {
  NetworkFault late = fault_of(NetworkFaultKind::kLinkDown, 0, 1);
  late.window.from_step = 9;
  NetworkFault rare = fault_of(NetworkFaultKind::kLoss, 2);
  rare.strikes.first = 1000;
  rare.strikes.count = 1;
  NetworkFault likely = fault_of(NetworkFaultKind::kLoss);
  likely.strikes.probability_ppb = 1;
  Bench bench({late, rare, likely});
  bench.fate(2, 0);
  EXPECT_EQ(bench.run(),
            (Log{"0 ps: from now on, 1e-07 % of the messages and acknowledgements on every link are lost"}));
  EXPECT_EQ(bench.injector().not_struck(), (Log{"link_down on link 0 -> 1: its window never began",
                                                "loss on every link from rank 2: no such message was sent"}));
}

TEST(NetworkFaults, OnlyWhatLosesOrMixesNeedsATransport) {
  for (int kind = 0; kind < kNetworkFaultKinds; ++kind) {
    const NetworkFault fault = fault_of(static_cast<NetworkFaultKind>(kind));
    const std::string name = name_of(fault.kind);
    EXPECT_EQ(fault.needs_transport(), name != "link_bandwidth" && name != "link_latency" && name != "delay") << name;
  }
}

}  // namespace
}  // namespace rehearse
