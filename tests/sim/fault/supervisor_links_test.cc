// When something that is said between hosts and the supervisor arrives, and when the supervisor misses a host.

#include "sim/fault/supervisor_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.h"

namespace rehearse {
namespace {

constexpr Duration kLatency = Duration::microseconds(5);
constexpr Duration kInterval = Duration::microseconds(100);
constexpr Duration kTimeout = Duration::microseconds(300);

TimePoint at(std::int64_t us) { return TimePoint::at(Duration::microseconds(us)); }

ControlLinks links_with(const std::vector<SupervisorLinkFault>& faults) {
  return ControlLinks(faults, kLatency, kInterval, kTimeout);
}

SupervisorLinkFault lost(std::int64_t from, std::optional<std::int64_t> until) {
  SupervisorLinkFault fault;
  fault.from = at(from);
  if (until.has_value()) fault.until = at(*until);
  return fault;
}

TEST(SupervisorLinks, AHostThatLivesOnWholeLinksIsNeverMissed) {
  EXPECT_EQ(links_with({}).missed(1, at(70), std::nullopt), std::nullopt);
}

TEST(SupervisorLinks, ASilentHostIsMissedAfterItsLastHeartbeat) {
  // It says that it lives at 70, 170 and 270.
  EXPECT_EQ(links_with({}).missed(1, at(70), at(300)), at(270 + 5 + 300));
  EXPECT_EQ(links_with({}).missed(1, at(70), at(270)), at(270 + 5 + 300));
  EXPECT_EQ(links_with({}).missed(1, at(70), at(71)), at(70 + 5 + 300));
}

TEST(SupervisorLinks, WithAnIntervalOfZeroItIsMissedAfterItsLastMoment) {
  const ControlLinks links({}, kLatency, Duration(), kTimeout);
  EXPECT_EQ(links.missed(1, at(70), at(123)), at(123 + 5 + 300));
  EXPECT_EQ(links.missed(1, at(70), std::nullopt), std::nullopt);
}

TEST(SupervisorLinks, AHostThatLivesBehindALostLinkIsMissed) {
  EXPECT_EQ(links_with({lost(250, std::nullopt)}).missed(1, at(0), std::nullopt), at(200 + 5 + 300));
  EXPECT_EQ(links_with({lost(250, 900)}).missed(1, at(0), std::nullopt), at(200 + 5 + 300));
}

TEST(SupervisorLinks, AGapThatIsShorterThanTheTimeoutIsNone) {
  // Of the heartbeats at 300 and 400 nothing comes.
  EXPECT_EQ(links_with({lost(250, 450)}).missed(1, at(0), std::nullopt), std::nullopt);
  // Of those at 300, 400 and 500: the next one comes too late.
  EXPECT_EQ(links_with({lost(250, 550)}).missed(1, at(0), std::nullopt), at(505));
}

TEST(SupervisorLinks, OnlyTheNamedRankAndWayAreStruck) {
  SupervisorLinkFault fault = lost(0, std::nullopt);
  fault.rank = 2;
  fault.from_supervisor = false;
  const ControlLinks links = links_with({fault});
  EXPECT_EQ(links.missed(1, at(0), std::nullopt), std::nullopt);
  EXPECT_EQ(links.missed(2, at(0), std::nullopt), at(300));
  EXPECT_EQ(links.arrival(2, ControlWay::kFromSupervisor, at(40)), at(45));
  EXPECT_EQ(links.arrival(2, ControlWay::kToSupervisor, at(40)), std::nullopt);
}

TEST(SupervisorLinks, AreThoseOfAHostAndGoWithIt) {
  SupervisorLinkFault fault = lost(0, std::nullopt);
  fault.rank = 2;
  SupervisorLinkFault slow = lost(0, std::nullopt);
  slow.delay = Duration::microseconds(7);
  ControlLinks links = links_with({fault, slow});
  links.set_ranks_per_host(2);
  EXPECT_EQ(links.arrival(3, ControlWay::kToSupervisor, at(40)), std::nullopt);
  EXPECT_EQ(links.arrival(1, ControlWay::kToSupervisor, at(40)), at(52));
  links.replace_host_of(3);
  EXPECT_EQ(links.arrival(2, ControlWay::kToSupervisor, at(40)), at(52));
  EXPECT_EQ(links.gone(), (std::vector<std::int64_t>{1, 0}));
  ControlLinks continued = links_with({fault, slow});
  continued.set_gone(links.gone());
  EXPECT_EQ(continued.arrival(2, ControlWay::kToSupervisor, at(40)), at(52));
}

TEST(SupervisorLinks, WhatIsLostIsSaidAgainUntilItComesThrough) {
  EXPECT_EQ(links_with({lost(30, 350)}).arrival(1, ControlWay::kToSupervisor, at(40)), at(440 + 5));
  EXPECT_EQ(links_with({lost(30, 350)}).arrival(1, ControlWay::kToSupervisor, at(20)), at(25));
  EXPECT_EQ(links_with({lost(30, 350)}).arrival(1, ControlWay::kToSupervisor, at(350)), at(355));
}

TEST(SupervisorLinks, DelaysAddUp) {
  SupervisorLinkFault slow = lost(0, std::nullopt);
  slow.delay = Duration::microseconds(40);
  SupervisorLinkFault slower = lost(100, 200);
  slower.delay = Duration::microseconds(60);
  const ControlLinks links = links_with({slow, slower});
  EXPECT_EQ(links.arrival(0, ControlWay::kToSupervisor, at(50)), at(95));
  EXPECT_EQ(links.arrival(0, ControlWay::kToSupervisor, at(150)), at(255));
}

TEST(SupervisorLinks, ARunThatContinuesAnotherHasItsClock) {
  ControlLinks links = links_with({lost(1000, 1350)});
  links.set_began(at(960));
  EXPECT_EQ(links.arrival(1, ControlWay::kToSupervisor, at(20)), at(25));
  EXPECT_EQ(links.arrival(1, ControlWay::kToSupervisor, at(50)), at(450 + 5));
  links.set_began(at(5000));
  EXPECT_EQ(links.missed(1, at(0), std::nullopt), std::nullopt);
}

TEST(SupervisorLinks, ARunTellsOfThoseThatMayStrikeInItOnItsClock) {
  SupervisorLinkFault of_rank = lost(500, std::nullopt);
  of_rank.rank = 2;
  ControlLinks links = links_with({lost(100, 200), lost(300, 900), of_rank});
  EXPECT_EQ(links.faults_of_run().size(), 3U);
  links.set_began(at(400));
  links.set_gone({0, 0, 1});
  const std::vector<SupervisorLinkFault> told = links.faults_of_run();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].from, at(0));
  EXPECT_EQ(told[0].until, at(500));
  // What goes with its host in this run has struck in it.
  ControlLinks second = links_with({of_rank});
  second.replace_host_of(2);
  EXPECT_EQ(second.faults_of_run().size(), 1U);
}

// The rules as they read, heartbeat by heartbeat.
class ByHeartbeats {
 public:
  ByHeartbeats(const std::vector<SupervisorLinkFault>& faults, Duration interval)
      : faults_(faults), interval_(interval) {}

  std::optional<TimePoint> arrival_of_one(TimePoint said) const {
    Duration delay = kLatency;
    for (const SupervisorLinkFault& fault : faults_) {
      if (said < fault.from || (fault.until.has_value() && said >= *fault.until)) continue;
      if (!fault.delay.has_value()) return std::nullopt;
      delay = delay + *fault.delay;
    }
    return said + delay;
  }

  std::optional<TimePoint> arrival(TimePoint said) const {
    for (int i = 0; i < kHeartbeats; ++i) {
      if (const auto one = arrival_of_one(said + interval_ * i)) return one;
    }
    return std::nullopt;
  }

  std::optional<TimePoint> missed(TimePoint started, std::optional<TimePoint> silent) const {
    std::vector<TimePoint> heard = {started};
    for (int i = 0; i < kHeartbeats; ++i) {
      const TimePoint said = started + interval_ * i;
      if (silent.has_value() && said > *silent) break;
      if (const auto one = arrival_of_one(said)) heard.push_back(*one);
    }
    std::sort(heard.begin(), heard.end());
    for (std::size_t i = 0; i + 1 < heard.size(); ++i) {
      if (heard[i + 1] > heard[i] + kTimeout) return heard[i] + kTimeout;
    }
    // As if it went on for ever, where the last of them are heard.
    const bool goes_on = !silent.has_value() && arrival_of_one(started + interval_ * (kHeartbeats - 1)).has_value();
    if (goes_on) return std::nullopt;
    return heard.back() + kTimeout;
  }

 private:
  static constexpr int kHeartbeats = 2000;  // far beyond the last change
  std::vector<SupervisorLinkFault> faults_;
  Duration interval_;
};

TEST(SupervisorLinks, AreAsIfEachHeartbeatWereFollowed) {
  int missed = 0;
  int never = 0;
  for (int round = 0; round < 2000; ++round) {
    RandomStream random = RandomStream(7).fork(static_cast<std::uint64_t>(round));
    const auto draw = [&](std::int64_t bound) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
    };
    std::vector<SupervisorLinkFault> faults;
    for (std::int64_t i = 0, count = draw(4); i < count; ++i) {
      SupervisorLinkFault fault = lost(draw(1500), std::nullopt);
      if (draw(6) > 0) fault.until = fault.from + Duration::microseconds(1 + draw(600));
      if (draw(2) == 0) fault.delay = Duration::microseconds(draw(500));
      faults.push_back(fault);
    }
    const Duration interval = Duration::microseconds(1 + draw(300));
    const ControlLinks links(faults, kLatency, interval, kTimeout);
    const ByHeartbeats plain(faults, interval);
    const TimePoint started = at(draw(1000));
    std::optional<TimePoint> silent;
    if (draw(2) == 0) silent = started + Duration::microseconds(draw(1500));
    SCOPED_TRACE(round);
    const auto found = links.missed(0, started, silent);
    ASSERT_EQ(found, plain.missed(started, silent));
    ASSERT_EQ(links.arrival(0, ControlWay::kToSupervisor, started), plain.arrival(started));
    ++(found.has_value() ? missed : never);
  }
  EXPECT_GT(missed, 500);
  EXPECT_GT(never, 100);
}

}  // namespace
}  // namespace rehearse
