// Who held a run up, as the run shows it: slow devices, slow links, nodes that fail again and again.

#include "sim/cluster/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/cluster/job_model.h"
#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Stragglers stragglers(const std::string& faults, const std::vector<std::string>& overrides = {}) {
  // Every rank updates all: their work is equal.
  std::vector<std::string> all = {"cluster.ranks=4", "train.zero_stage=0"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const TrainingRecord record = run_training(tiny_training(faults.empty() ? "" : "faults { " + faults + " }\n", all));
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  return record.stragglers;
}

TEST(Stragglers, NobodyIsSlowWhereAllAreEqual) {
  EXPECT_TRUE(stragglers("").empty());
  EXPECT_TRUE(stragglers("crash { rank: 1 at { step: 3 phase: BACKWARD } }").empty());
}

TEST(Stragglers, ASlowDeviceIsNamedWithItsFactor) {
  const std::vector<SlowRank> ranks = stragglers("straggler { rank: 3 factor: 1.5 }").ranks;
  ASSERT_THAT(ranks, SizeIs(1));
  EXPECT_EQ(ranks[0].rank, 3);
  EXPECT_NEAR(ranks[0].factor, 1.5, 1e-4);
  EXPECT_GT(ranks[0].compute, Duration());
}

TEST(Stragglers, OneThatIsSlowForAWhileIsAsSlowAsItIsOnAverage) {
  const std::vector<SlowRank> ranks = stragglers("straggler { rank: 0 factor: 2 from_step: 4 until_step: 5 }").ranks;
  ASSERT_THAT(ranks, SizeIs(1));
  EXPECT_EQ(ranks[0].rank, 0);
  EXPECT_NEAR(ranks[0].factor, 8.0 / 6, 1e-3);  // not every step has exactly the same work
}

// Only steps that were finished count: what a crash cut short does not.
TEST(Stragglers, ACrashChangesNoFactor) {
  const std::vector<SlowRank> ranks =
      stragglers("straggler { rank: 3 factor: 1.5 } crash { rank: 3 at { step: 4 phase: REDUCE } }").ranks;
  ASSERT_THAT(ranks, SizeIs(1));
  EXPECT_NEAR(ranks[0].factor, 1.5, 1e-4);
}

TEST(Stragglers, ALittleSlowIsNotSlow) {
  EXPECT_THAT(stragglers("straggler { rank: 3 factor: 1.04 }").ranks, IsEmpty());
  EXPECT_THAT(stragglers("straggler { rank: 3 factor: 1.06 }").ranks, SizeIs(1));
}

TEST(Stragglers, TheSlowestComesFirstAndDevicesThatAreSlowByTheirNatureAreSlow) {
  const std::vector<SlowRank> ranks =
      stragglers("straggler { rank: 3 factor: 3 }",
                 {"cluster.device.slowdown[0].rank=1", "cluster.device.slowdown[0].factor=2"})
          .ranks;
  ASSERT_THAT(ranks, SizeIs(2));
  EXPECT_EQ(ranks[0].rank, 3);
  EXPECT_EQ(ranks[1].rank, 1);
  EXPECT_NEAR(ranks[1].factor, 2, 1e-4);
}

// The others are slower after it, as each has a larger share of a batch: they are not compared with what they were.
TEST(Stragglers, AJobThatIsCutAnewIsMeasuredAnew) {
  const std::string lost = "crash { kind: HOST rank: 0 at { step: 3 phase: BACKWARD } }";
  EXPECT_THAT(stragglers(lost, {"train.batch=3", "recovery.mode=ELASTIC"}).ranks, IsEmpty());
}

TEST(Stragglers, ASlowLinkIsNamedWithItsFactor) {
  const Stragglers found = stragglers("link_latency { from: 1 to: 2 added: \"45us\" }");
  EXPECT_THAT(found.ranks, IsEmpty());
  ASSERT_THAT(found.links, SizeIs(1));
  EXPECT_EQ(found.links[0].source, 1);
  EXPECT_EQ(found.links[0].destination, 2);
  // Messages are small: 5 us are their time on a whole link, nearly.
  EXPECT_NEAR(found.links[0].factor, 10, 0.5);
}

TEST(Stragglers, ALinkWithOneLateMessageIsNotSlow) {
  EXPECT_THAT(stragglers("delay { from: 1 to: 2 by: \"1ms\" }").links, IsEmpty());
}

RankRange one_rank(int rank) { return RankRange{rank, 1}; }

Scenario with_lemons(const std::string& hosts, const std::string& rate) {
  return tiny_training("faults { rate { failures_per_node_day: 1 " + rate + " } }\n",
                       {"cluster.ranks=4", "cluster.ranks_per_host=" + hosts});
}

TEST(Lemons, AreNamedWhereTheyFailed) {
  const Scenario scenario = with_lemons("2", "lemon { node: 1 factor: 40 }");
  const auto lemons = struck_lemons(scenario, {one_rank(3), one_rank(0), RankRange{2, 2}});
  ASSERT_THAT(lemons, SizeIs(1));
  EXPECT_EQ(lemons[0].name, "host 1 (ranks 2, 3)");
  EXPECT_EQ(lemons[0].failures, 2);
  EXPECT_EQ(lemons[0].of, 3);
  EXPECT_EQ(lemons[0].factor, 40);
  EXPECT_THAT(struck_lemons(scenario, {one_rank(0), one_rank(1)}), IsEmpty());
  EXPECT_THAT(struck_lemons(scenario, {}), IsEmpty());
}

TEST(Lemons, OfNodesThatAreNoHostsAreCalledNodes) {
  const Scenario scenario =
      tiny_training("faults { rate { failures_per_node_day: 1 ranks_per_node: 2 lemon { node: 1 factor: 2 } } }\n",
                    {"cluster.ranks=4"});
  EXPECT_EQ(struck_lemons(scenario, {one_rank(2)}).at(0).name, "node 1 (ranks 2, 3)");
}

TEST(Lemons, ANodeThatFailsLessOftenIsNone) {
  EXPECT_THAT(struck_lemons(with_lemons("2", "lemon { node: 1 factor: 0.5 }"), {one_rank(2)}), IsEmpty());
}

TEST(Lemons, AreCountedInJobs) {
  const Scenario scenario =
      load_scenario(std::string(REHEARSE_SOURCE_DIR) + "/scenarios/lemon_node.textproto", LoadOptions());
  const JobRecord record = run_job(scenario);
  const auto lemons = struck_lemons(scenario, failures_of(record));
  ASSERT_THAT(lemons, SizeIs(1));
  EXPECT_EQ(lemons[0].name, "node 17 (ranks 136 to 143)");
  EXPECT_EQ(lemons[0].of, std::ssize(record.failures));
  // Of 227 parts of the rate it has a hundred.
  EXPECT_GT(lemons[0].failures, 15);
}

}  // namespace
}  // namespace rehearse
