// A rate's failures in the full simulation: real crashes at the drawn times, the same weights in the end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "sim/cluster/make_job.h"
#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"
#include "sim/fault/failure_rates.h"

namespace rehearse {
namespace {

// The capstone takes 2.3 ms without faults: a node that fails every millisecond of its time interrupts it again and
// again.
Scenario capstone(const std::vector<std::string>& more) {
  LoadOptions options;
  options.overrides = {"train.steps=8", "checkpoint.every_steps=3", "recovery.restart_delay=100us",
                       "recovery.heartbeat_timeout=1ms"};
  options.overrides.insert(options.overrides.end(), more.begin(), more.end());
  Scenario scenario = load_scenario(std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto", options);
  scenario.expect = Expectations();
  return scenario;
}

const std::vector<std::string> kRate = {"expect.resume_from=3", "faults.rate[0].failures_per_node_day=30000000",
                                        "faults.rate[0].ranks_per_node=2", "faults.rate[0].host_share=0.25"};

std::vector<std::string> with(std::vector<std::string> more) {
  more.insert(more.begin(), kRate.begin(), kRate.end());
  return more;
}

// The drawn failures of a plan in order of time, up to an end.
std::vector<DrawnFailure> drawn(const Scenario& scenario, TimePoint end) {
  std::vector<DrawnFailure> all;
  const FailureDraws draws(scenario.faults.rates[0], scenario.ranks,
                           RandomStream(scenario.seed).fork("faults").fork("rate").fork(0));
  for (int node = 0; node < draws.nodes(); ++node) {
    TimePoint previous;
    for (std::int64_t number = 0;; ++number) {
      const auto failure = draws.draw(node, number, previous);
      if (!failure.has_value() || failure->time > end) break;
      all.push_back(*failure);
      previous = failure->time;
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  return all;
}

TEST(RateFailures, StrikeAtTheDrawnTimesAndTheJobComesBack) {
  const std::string whole = run_training(capstone({"expect.resume_from=3"})).weights_sha256;
  std::size_t struck = 0;
  std::size_t recoveries = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    Scenario scenario = capstone(with({"recovery.max_restarts=1000"}));
    // Of the failures alone: weights and data are drawn from the seed that was loaded.
    scenario.seed = static_cast<std::uint64_t>(seed);
    const TrainingRecord record = run_training(scenario);
    ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
    EXPECT_EQ(record.weights_sha256, whole);
    const std::vector<DrawnFailure> plan = drawn(scenario, record.simulated);
    std::size_t next = 0;
    for (const FaultRecord& fault : record.faults) {
      while (next < plan.size() && plan[next].time < fault.time) ++next;
      ASSERT_LT(next, plan.size());
      EXPECT_EQ(plan[next].time, fault.time);
      EXPECT_EQ(plan[next].rank, fault.at.rank);
      const bool host = scenario.faults.rates[0].causes[plan[next].cause].kind == FailureKind::kHost;
      EXPECT_EQ(fault.what, host ? "the host is lost" : "the process crashes");
    }
    struck += record.faults.size();
    recoveries += record.recoveries.size();
  }
  std::printf("%zu failures in 20 runs, %zu recoveries\n", struck, recoveries);
  EXPECT_GT(recoveries, 60U);
  EXPECT_GE(struck, recoveries);
}

TEST(RateFailures, AreTheSameInEveryRun) {
  const Scenario scenario = capstone(with({"recovery.max_restarts=1000"}));
  const TrainingRecord a = run_training(scenario);
  const TrainingRecord b = run_training(scenario);
  EXPECT_GT(a.recoveries.size(), 1U);
  EXPECT_EQ(a.event_digest, b.event_digest);
}

TEST(RateFailures, ThatNeverComeLeaveTheRunAsItIs) {
  const TrainingRecord without = run_training(capstone({"expect.resume_from=3"}));
  const TrainingRecord with_rate = run_training(
      capstone({"expect.resume_from=3", "faults.rate[0].failures_per_node_day=1", "faults.rate[0].from=1000h"}));
  EXPECT_EQ(with_rate.events, without.events);
  EXPECT_EQ(with_rate.weights_sha256, without.weights_sha256);
  EXPECT_THAT(with_rate.faults, ::testing::IsEmpty());
}

TEST(RateFailures, TellTheirCause) {
  const TrainingRecord record = run_training(capstone({"expect.resume_from=3", "faults.rate[0].preset=llama3",
                                                       "faults.rate[0].scale=1e10", "recovery.max_restarts=1000"}));
  ASSERT_GT(record.faults.size(), 0U);
  EXPECT_THAT(record.faults[0].what, ::testing::MatchesRegex("the (process crashes|host is lost|rank hangs): .+"));
}

// For a while only: where all ranks hang, or one when its peers have ended, nobody is left to wait.
TEST(RateFailures, AHangIsFoundByTheWatchdog) {
  Scenario scenario = capstone(with({"recovery.collective_timeout=20ms", "faults.rate[0].until=3ms"}));
  scenario.faults.rates[0].causes = {{"collective watchdog", FailureKind::kHang, 1}};
  const TrainingRecord record = run_training(scenario);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure << "\n" << describe_waiting(record.waiting);
  EXPECT_EQ(record.weights_sha256, run_training(capstone({"expect.resume_from=3"})).weights_sha256);
  ASSERT_GT(record.recoveries.size(), 0U);
  EXPECT_THAT(record.recoveries[0].cause, ::testing::HasSubstr("never called it"));
  EXPECT_EQ(record.recoveries[0].failed, record.faults[0].time);
  EXPECT_EQ(record.faults[0].what, "the rank hangs: collective watchdog");
}

// The run that continues has a clock that begins at the checkpoint.
TEST(RateFailures, OfAContinuedRunAreThoseThatWereStillToCome) {
  const Scenario scenario = capstone(with({"recovery.max_restarts=1000"}));
  ResumeFrom resume;
  TrainingHooks hooks;
  hooks.on_checkpoint = [&resume](const CheckpointRecord& checkpoint) {
    if (checkpoint.step != 3) return;
    resume.step = checkpoint.step;
    resume.files = checkpoint.files;
  };
  const TrainingRecord whole = run_training(scenario, std::nullopt, hooks);
  ASSERT_EQ(resume.step, 3);
  const TimePoint began = run_state_of(resume).simulated_time;
  EXPECT_GT(began, TimePoint());
  const TrainingRecord continued = run_training(scenario, resume);
  EXPECT_EQ(continued.weights_sha256, whole.weights_sha256);
  ASSERT_GT(continued.faults.size(), 0U);
  std::vector<TimePoint> times;
  for (const DrawnFailure& one : drawn(scenario, began + continued.simulated.since_start())) {
    times.push_back(one.time);
  }
  for (const FaultRecord& fault : continued.faults) {
    EXPECT_THAT(times, ::testing::Contains(began + fault.time.since_start()));
  }
}

TEST(RateFailures, ALemonsRanksAreTheOnesThatDie) {
  const TrainingRecord record = run_training(capstone(
      {"expect.resume_from=3", "faults.rate[0].failures_per_node_day=1", "faults.rate[0].ranks_per_node=2",
       "faults.rate[0].lemon[0].node=1", "faults.rate[0].lemon[0].factor=60000000", "recovery.max_restarts=1000"}));
  ASSERT_GT(record.faults.size(), 2U);
  for (const FaultRecord& fault : record.faults) EXPECT_GE(fault.at.rank, 2);
}

}  // namespace
}  // namespace rehearse
