// What whole runs cost, beside what is known of them from formulas, counters and runs with numbers.

#include "sim/cost/cost_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

// Without saves: only the step's own collectives.
std::vector<std::string> unsaved(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"checkpoint.every_steps=0", "checkpoint.keep=0", "cluster.ranks=4"});
  return more;
}

const CollectiveCost& find(const CostReport& report, Operation operation, Phase phase) {
  for (const CollectiveCost& cost : report.collectives) {
    if (cost.operation == operation && cost.phase == phase) return cost;
  }
  ADD_FAILURE() << "no " << name_of(operation) << " in " << name_of(phase);
  return report.collectives.front();
}

TEST(CostReport, CollectivesOfAPlainSwitchTakeWhatFormulasSay) {
  for (const char* stage : {"0", "1"}) {
    const Scenario scenario = tiny_training("", unsaved({std::string("train.zero_stage=") + stage}));
    const CostReport report = cost_of(scenario);
    ASSERT_EQ(report.steps, 6);
    ASSERT_FALSE(report.collectives.empty());
    for (const CollectiveCost& cost : report.collectives) {
      ASSERT_TRUE(cost.formula.has_value());
      EXPECT_EQ(cost.time, *cost.formula) << name_of(cost.operation);
      EXPECT_EQ(cost.difference, "");
      EXPECT_EQ(cost.algorithm, "ring");
    }
  }
}

TEST(CostReport, PartsOfAStepAddUpToIt) {
  for (const char* set : {"cluster.network.jitter=0ps", "cluster.network.jitter=20us", "checkpoint.every_steps=2"}) {
    const Scenario scenario = tiny_training("", {"cluster.ranks=3", set});
    const CostReport report = cost_of(scenario);
    // Each of five parts is rounded down to a picosecond.
    EXPECT_LE(report.split.whole(), report.step) << set;
    EXPECT_GT(report.split.whole() + Duration::picoseconds(5), report.step) << set;
  }
}

TEST(CostReport, StepsTakeWhatTheyTakeWithNumbers) {
  const Scenario scenario = tiny_training("", unsaved());
  const TrainingRecord record = run_training(scenario);
  const CostReport report = cost_of(scenario);
  EXPECT_EQ(report.record.simulated, record.simulated);
  ASSERT_EQ(report.record.steps.size(), record.steps.size());
  const auto [shortest, longest] =
      std::minmax_element(record.steps.begin(), record.steps.end(),
                          [](const StepRecord& a, const StepRecord& b) { return a.step_seconds < b.step_seconds; });
  EXPECT_EQ(report.shortest_step, shortest->step_seconds);
  EXPECT_EQ(report.longest_step, longest->step_seconds);
}

TEST(CostReport, MessagesByFormulaAreThoseThatAreCounted) {
  for (const char* collectives : {"RING", "RECURSIVE_HALVING", "DIRECT"}) {
    const Scenario scenario = tiny_training("", unsaved({std::string("train.collectives.reduce_scatter=") + collectives,
                                                         "cluster.ranks=3", "train.bucket=512B"}));
    const CostReport report = cost_of(scenario);
    std::map<Operation, std::pair<double, double>> formula;
    for (const CollectiveCost& cost : report.collectives) {
      formula[cost.operation].first += cost.calls * static_cast<double>(cost.messages.value_or(0));
      formula[cost.operation].second += cost.calls * static_cast<double>(cost.bytes.value_or(Bytes()).count());
    }
    ASSERT_EQ(report.counted.size(), formula.size());
    for (const OperationCount& counted : report.counted) {
      EXPECT_DOUBLE_EQ(counted.messages, formula[counted.operation].first) << name_of(counted.operation);
      EXPECT_DOUBLE_EQ(counted.bytes, formula[counted.operation].second) << name_of(counted.operation);
    }
  }
}

TEST(CostReport, BandwidthsAreThoseOfNcclTests) {
  const CostReport report = cost_of(tiny_training("", unsaved()));
  const CollectiveCost& reduce = find(report, Operation::kReduceScatter, Phase::kReduce);
  EXPECT_DOUBLE_EQ(reduce.algorithm_bandwidth, static_cast<double>(reduce.size.count()) / reduce.time.to_seconds());
  EXPECT_DOUBLE_EQ(reduce.bus_bandwidth, reduce.algorithm_bandwidth * 3 / 4);
}

TEST(CostReport, TheSlowRankIsOnTheCriticalPathAndOthersWait) {
  Scenario scenario = tiny_training("", unsaved({"cluster.device.flops=1GFLOPS"}));
  scenario.device.slowdowns.push_back(RankSlowdown{2, 100, 1});
  const CostReport report = cost_of(scenario);
  std::map<int, Duration> computes;  // on the path, by rank
  for (const PathPiece& piece : report.path) {
    if (piece.kind == PathPiece::Kind::kCompute) computes[piece.rank] = computes[piece.rank] + piece.time;
  }
  for (const int rank : {0, 1, 3}) EXPECT_GT(computes[2], computes[rank] * 10) << rank;
  EXPECT_GT(report.split.waiting, report.split.exposed);
  Duration path;
  for (const PathPiece& piece : report.path) path = path + piece.time;
  EXPECT_EQ(path, report.record.steps.back().step_seconds);
}

TEST(CostReport, ABusyUplinkIsTheBottleneck) {
  Scenario scenario = tiny_training("", unsaved({"cluster.network.topology.leaf_spine.ports_per_leaf=2",
                                                 "cluster.network.topology.leaf_spine.spines=1",
                                                 "cluster.network.topology.leaf_spine.uplink_bandwidth=1Gbps"}));
  const CostReport report = cost_of(scenario);
  ASSERT_FALSE(report.links.empty());
  EXPECT_THAT(report.links.front().name, HasSubstr("spine 0"));
  EXPECT_EQ(report.links.front().bandwidth, Bandwidth::bits_per_second(1'000'000'000));
  EXPECT_GT(report.links.front().utilisation, 2 * report.links.back().utilisation);
  EXPECT_LE(report.links.front().utilisation, 1);
}

TEST(CostReport, LatenessAndJitterAreSaidToMakeTheDifference) {
  const CostReport report = cost_of(tiny_training("", unsaved({"cluster.network.jitter=50us"})));
  const CollectiveCost& reduce = find(report, Operation::kReduceScatter, Phase::kReduce);
  EXPECT_GT(reduce.time, *reduce.formula);
  EXPECT_THAT(reduce.difference, HasSubstr("jitter"));
}

TEST(CostReport, PricesARunByItsRankHours) {
  const CostReport priced = cost_of(tiny_training("", unsaved({"cluster.price_per_rank_hour=3.6"})));
  const double seconds = priced.record.simulated.since_start().to_seconds();
  EXPECT_DOUBLE_EQ(priced.rank_hours, 4 * seconds / 3600);
  EXPECT_NEAR(*priced.price, 4 * seconds * 3.6 / 3600, 1e-15);
  EXPECT_NEAR(*priced.price_per_step, 4 * priced.step.to_seconds() * 3.6 / 3600, 1e-15);
  EXPECT_FALSE(cost_of(tiny_training("", unsaved())).price.has_value());
}

// The steps that a crash cut short are in no mean, the time that it cost is in the run's price.
TEST(CostReport, ARestartCostsRankHoursAndNoSteps) {
  const char* crash = "faults { crash { rank: 1 at { step: 4 phase: BACKWARD } } }";
  const CostReport calm = cost_of(tiny_training(""));
  const CostReport struck = cost_of(tiny_training(crash));
  EXPECT_EQ(struck.record.outcome, Outcome::kDone) << struck.record.failure;
  EXPECT_GT(struck.rank_hours, calm.rank_hours);
  // Step 3 again, step 4 for the first time.
  EXPECT_EQ(struck.steps, calm.steps + 1);
}

TEST(CostReport, GoesOnWithFewerRanks) {
  const char* crash = "faults { crash { rank: 2 kind: HOST at { step: 4 phase: BACKWARD } } }";
  const CostReport report = cost_of(tiny_training(
      crash, {"cluster.ranks=3", "train.batch=2", "recovery.mode=ELASTIC", "recovery.heartbeat_timeout=2ms"}));
  EXPECT_EQ(report.record.outcome, Outcome::kDone) << report.record.failure;
  EXPECT_EQ(report.ranks, 2);
}

TEST(CostReport, StopsWhereItIsInterrupted) {
  int asked = 0;
  const CostReport report = cost_of(tiny_training("", unsaved({"train.steps=1000"})), [&] { return ++asked > 1; });
  EXPECT_EQ(report.record.outcome, Outcome::kInterrupted);
  EXPECT_GT(report.steps, 0);
  EXPECT_LT(report.steps, 1000);
}

}  // namespace
}  // namespace rehearse
