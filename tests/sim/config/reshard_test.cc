#include "sim/config/reshard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

std::string error_of_reshard(const Scenario& scenario, const std::string& override) {
  try {
    check_reshards({override});
    reshard_scenario(scenario, {override});
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReshardScenario, KeepsTheBatchesAndCutsTheJobOtherwise) {
  const Scenario four = load_text(kGoodScenario);
  const Scenario two = reshard_scenario(four, {"cluster.ranks=2"});
  EXPECT_EQ(two.ranks, 2);
  EXPECT_EQ(two.train.data_ranks, 4);
  EXPECT_EQ(two.train.batch, 4);
  EXPECT_NE(two.arithmetic_sha256, four.arithmetic_sha256);
  EXPECT_EQ(job_sha256(two), job_sha256(four));
  EXPECT_THAT(two.text, HasSubstr("data_ranks: 4"));
}

TEST(ReshardScenario, CutBackItIsTheSameScenario) {
  const Scenario four =
      load_text(good_with("expect { loss: FALLS resume_from: 10 final_step: 20 }", "expect { loss: FALLS }"));
  const Scenario back = reshard_scenario(reshard_scenario(four, {"cluster.ranks=8"}), {"cluster.ranks=4"});
  EXPECT_EQ(back.text, four.text);
  EXPECT_EQ(back.arithmetic_sha256, four.arithmetic_sha256);
  EXPECT_EQ(back.scenario_sha256, four.scenario_sha256);
}

TEST(ReshardScenario, StagesAndBucketsAreHowAJobIsCut) {
  const Scenario four = load_text(kGoodScenario);
  const Scenario other = reshard_scenario(four, {"train.zero_stage=0", "train.bucket=25KB", "cluster.ranks=1"});
  EXPECT_EQ(other.train.zero_stage, 0);
  EXPECT_EQ(other.train.bucket_bytes, 25'000);
  EXPECT_EQ(job_sha256(other), job_sha256(four));
  EXPECT_NE(job_sha256(load_text(kGoodScenario, {"seed=42"})), job_sha256(four));
  EXPECT_NE(job_sha256(load_text(kGoodScenario, {"train.batch=2"})), job_sha256(four));
}

// One rank has nobody to ask, so that whoever goes on with one says so.
TEST(ReshardScenario, ComputingGradientsTwiceIsLeftOutOnOneRankWhenAskedTo) {
  const Scenario four = load_text(kGoodScenario, {"train.guards.corruption=EVICT", "train.guards.recompute_every=2"});
  EXPECT_EQ(reshard_scenario(four, {"cluster.ranks=2"}).train.guards.recompute_every, 2);
  EXPECT_THAT(error_of_reshard(four, "cluster.ranks=1"), HasSubstr("found 2 on one rank"));
  check_reshards({"train.guards.recompute_every=0"});
  const Scenario one = reshard_scenario(four, {"cluster.ranks=1", "train.guards.recompute_every=0"});
  EXPECT_EQ(one.train.guards.recompute_every, 0);
  EXPECT_EQ(job_sha256(one), job_sha256(four));
}

TEST(ReshardScenario, DropsWhatAnotherCutCannotGive) {
  const Scenario two = reshard_scenario(load_text(kGoodScenario), {"cluster.ranks=2"});
  EXPECT_FALSE(two.expect.resume_from.has_value());
  EXPECT_TRUE(two.expect.loss_falls);
  EXPECT_EQ(two.dropped_pins, std::vector<std::string>{"resume_from"});
}

TEST(ReshardScenario, RanksThatDoNotDivideTheBatchAreRefused) {
  EXPECT_THAT(error_of_reshard(load_text(kGoodScenario), "cluster.ranks=3"),
              HasSubstr("--set cluster.ranks=3: found 3; allowed: a divisor of the 16 sequences of a "
                        "batch, which are train.data_ranks times train.batch = 4 x 4"));
}

TEST(ReshardScenario, NothingElseMayBeSet) {
  EXPECT_THAT(error_of_reshard(load_text(kGoodScenario), "train.batch=2"),
              HasSubstr("--set train.batch=2: found train.batch; allowed with --reshard"));
}

TEST(ReshardScenario, FaultsMayNameRanksThatAreNotThereAnyMore) {
  const std::string faults = "faults { crash { rank: 3 at { step: 12 phase: BACKWARD } } }\n";
  const Scenario two = reshard_scenario(load_text(kGoodScenario + faults), {"cluster.ranks=2"});
  EXPECT_EQ(two.known_ranks(), 4);
  EXPECT_EQ(two.faults.faults.size(), 1u);
  EXPECT_THAT(error_of(two.text, {"faults.crash[0].rank=4"}),
              HasSubstr("found 4; allowed: 0 to train.data_ranks - 1 = 3"));
}

}  // namespace
}  // namespace rehearse
