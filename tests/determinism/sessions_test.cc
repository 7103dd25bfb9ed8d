#include <gtest/gtest.h>

#include <cstdio>

#include "sim/cluster/run_twice.h"
#include "tests/determinism/recorded_run.h"

// D1: nothing is global, so simulations in one process do not touch each other, and whoever drives one may do so in
// turns of any length.

namespace rehearse::testing_determinism {
namespace {

void expect_same(const TrainingRecord& a, const TrainingRecord& b, const std::string& what) {
  EXPECT_EQ(a.outcome, Outcome::kDone) << what;
  EXPECT_FALSE(a.event_digest.empty()) << what;
  EXPECT_FALSE(a.weights_sha256.empty()) << what;
  EXPECT_EQ(a.event_digest, b.event_digest) << what;
  EXPECT_EQ(a.weights_sha256, b.weights_sha256) << what;
  EXPECT_EQ(a.log_records, b.log_records) << what;
  EXPECT_EQ(a.events, b.events) << what;
  EXPECT_EQ(a.simulated, b.simulated) << what;
}

TEST(Sessions, SlicesOfAnyLengthGiveTheSameDigests) {
  const Scenario scenario = shipped("capstone");
  const TrainingRecord whole = run_training(scenario);
  for (const std::uint64_t slice : {1, 3, 1000, 1 << 30}) {
    TrainingSession session(scenario, std::nullopt, {});
    while (session.advance(slice)) {
    }
    expect_same(session.finish(), whole, "slices of " + std::to_string(slice));
  }
}

TEST(Sessions, TwoThatTakeTurnsHaveTheDigestsTheyHaveAlone) {
  const std::pair<const char*, const char*> kPairs[] = {
      {"capstone", "capstone"}, {"capstone", "seven_ranks"}, {"seven_ranks", "ddp"}, {"accumulate", "capstone"}};
  int pairs = 0;
  for (const auto& [name_a, name_b] : kPairs) {
    const std::string what = std::string(name_a) + " with " + name_b;
    const Scenario scenario_a = shipped(name_a);
    const Scenario scenario_b = shipped(name_b);
    TrainingSession a(scenario_a, std::nullopt, {});
    TrainingSession b(scenario_b, std::nullopt, {});
    bool runs_a = true;
    bool runs_b = true;
    while (runs_a || runs_b) {
      if (runs_a) runs_a = a.advance(1);
      if (runs_b) runs_b = b.advance(7);
    }
    // The one that has ended later is finished first.
    const TrainingRecord record_b = b.finish();
    const TrainingRecord record_a = a.finish();
    expect_same(record_a, run_training(scenario_a), what + ", the first");
    expect_same(record_b, run_training(scenario_b), what + ", the second");
    ++pairs;
  }
  std::printf("%d pairs of simulations took turns\n", pairs);
}

// One that goes away in the middle takes nothing of the other's with it.
TEST(Sessions, OneThatIsGivenUpLeavesTheOtherAsItWas) {
  const Scenario scenario = shipped("capstone");
  const TrainingRecord whole = run_training(scenario);
  for (const std::uint64_t events : {1, 100, 700, 1500}) {
    TrainingSession stays(scenario, std::nullopt, {});
    {
      TrainingSession goes(scenario, std::nullopt, {});
      ASSERT_TRUE(goes.advance(events));
      ASSERT_TRUE(stays.advance(events / 2 + 1));
    }
    while (stays.advance(1000)) {
    }
    expect_same(stays.finish(), whole, "given up after " + std::to_string(events));
  }
}

TEST(Sessions, WhoListensChangesNothing) {
  const Scenario scenario = shipped("seven_ranks");
  const TrainingRecord heard = run_recorded(scenario).record;
  TrainingHooks silent;
  silent.log_events = false;
  const TrainingRecord unheard = run_training(scenario, std::nullopt, silent);
  EXPECT_EQ(unheard.weights_sha256, heard.weights_sha256);
  EXPECT_EQ(unheard.events, heard.events);
  EXPECT_EQ(unheard.simulated, heard.simulated);
  expect_same(run_twice(scenario, std::nullopt, {}), heard, "beside a second run");
}

}  // namespace
}  // namespace rehearse::testing_determinism
