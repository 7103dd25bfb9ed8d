// AUTO: which algorithm is picked, what the run and its checkpoints then hold, and what decides it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/reshard.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string automatic(int stage, const std::string& collectives) {
  return good_with("batch: 4",
                   "batch: 4 zero_stage: " + std::to_string(stage) + " collectives { " + collectives + " }");
}

const std::string kWhole = automatic(0, "all_reduce: AUTO");
const std::string kSharded = automatic(1, "reduce_scatter: AUTO all_gather: AUTO");

// 105,344 bytes of gradients: with a millisecond of latency few messages count, and at 1 Gbps few bytes do.
const std::vector<std::string> kFar = {"cluster.network.latency=1ms"};
const std::vector<std::string> kNarrow = {"cluster.network.latency=1ns", "cluster.network.bandwidth=1Gbps",
                                          "cluster.ranks=6"};

TEST(PickedCollectives, TakeFewMessagesWhereLatencyIsLong) {
  const Scenario whole = load_text(kWhole, kFar);
  EXPECT_EQ(whole.train.collectives.all_reduce, AllReduceAlgorithm::kRecursiveDoubling);
  const Scenario sharded = load_text(kSharded, kFar);
  EXPECT_EQ(sharded.train.collectives.reduce_scatter, ReduceScatterAlgorithm::kDirect);
  EXPECT_EQ(sharded.train.collectives.all_gather, AllGatherAlgorithm::kDirect);
}

TEST(PickedCollectives, TakeFewBytesWhereTheNetworkIsNarrow) {
  const Scenario whole = load_text(kWhole, kNarrow);
  EXPECT_EQ(whole.train.collectives.all_reduce, AllReduceAlgorithm::kRing);
  // On six ranks a recursion sends more than a ring does.
  const Scenario sharded = load_text(kSharded, kNarrow);
  EXPECT_NE(sharded.train.collectives.reduce_scatter, ReduceScatterAlgorithm::kRecursiveHalving);
  EXPECT_NE(sharded.train.collectives.all_gather, AllGatherAlgorithm::kRecursiveDoubling);
}

TEST(PickedCollectives, AreRingsWhereNothingTakesTime) {
  const Scenario whole = load_text(kWhole, {"cluster.network.fabric=IDEAL"});
  EXPECT_EQ(whole.train.collectives.all_reduce, AllReduceAlgorithm::kRing);
  EXPECT_EQ(load_text(kWhole, {"cluster.ranks=1", "expect.resume_from=10"}).train.collectives.all_reduce,
            AllReduceAlgorithm::kRing);
}

// A network may be made for the ranks that a job once had.
TEST(PickedCollectives, ArePickedOnTheNetworkOfMoreRanks) {
  const Scenario fewer =
      load_text(kWhole, {"train.data_ranks=8", "cluster.ranks_per_host=2", "cluster.network.topology.hosts.latency=1us",
                         "cluster.network.topology.hosts.bandwidth=400Gbps"});
  EXPECT_EQ(fewer.picked.size(), 1u);
}

TEST(PickedCollectives, SayWhatTheyWerePickedFrom) {
  const Scenario whole = load_text(kWhole, kFar);
  ASSERT_EQ(whole.picked.size(), 1u);
  const PickedAlgorithm& picked = whole.picked[0];
  EXPECT_EQ(picked.collective, "all_reduce");
  // Without hosts there is no hierarchy.
  ASSERT_EQ(picked.candidates.size(), 5u);
  EXPECT_EQ(picked.candidates[picked.picked].algorithm, "recursive_doubling");
  for (const PickedAlgorithm::Candidate& candidate : picked.candidates) {
    EXPECT_GE(candidate.time, picked.candidates[picked.picked].time) << candidate.algorithm;
  }
  EXPECT_EQ(load_text(kWhole, {"cluster.ranks_per_host=2"}).picked[0].candidates.size(), 6u);
  EXPECT_EQ(load_text(kSharded).picked.size(), 2u);
  EXPECT_TRUE(load_text(automatic(0, "all_reduce: RING")).picked.empty());
}

TEST(PickedCollectives, LeaveOutHierarchiesThatHostsCannotHave) {
  std::string text = kWhole;
  text.erase(text.find("resume_from: 10 "), 16);
  const auto candidates = [&](const std::vector<std::string>& overrides) {
    return load_text(text, overrides).picked[0].candidates.size();
  };
  EXPECT_EQ(candidates({"cluster.ranks=6", "cluster.ranks_per_host=4"}), 5u);
  EXPECT_EQ(candidates({"cluster.ranks_per_host=2", "recovery.mode=ELASTIC"}), 5u);
}

// So that whoever continues from a checkpoint does with the same.
TEST(PickedCollectives, StandInTheTextInPlaceOfAuto) {
  const Scenario whole = load_text(kWhole, kFar);
  EXPECT_THAT(whole.text, HasSubstr("all_reduce: RECURSIVE_DOUBLING"));
  EXPECT_THAT(whole.text, Not(HasSubstr("AUTO")));
  const Scenario on_another_network = load_text(whole.text, {"cluster.network.latency=1ns"});
  EXPECT_EQ(on_another_network.train.collectives.all_reduce, AllReduceAlgorithm::kRecursiveDoubling);
  EXPECT_EQ(on_another_network.arithmetic_sha256, whole.arithmetic_sha256);
  EXPECT_TRUE(on_another_network.picked.empty());
}

TEST(PickedCollectives, AreTheSameJobAsWithTheAlgorithmWritten) {
  const Scenario written = load_text(automatic(0, "all_reduce: RECURSIVE_DOUBLING"), kFar);
  const Scenario picked = load_text(kWhole, kFar);
  EXPECT_EQ(picked.arithmetic_sha256, written.arithmetic_sha256);
  EXPECT_EQ(picked.scenario_sha256, written.scenario_sha256);
  EXPECT_EQ(picked.text, written.text);
}

// With an algorithm that is not known yet the network decides bits.
TEST(PickedCollectives, DropPinsOfWeightsWhereTheNetworkIsAnother) {
  const std::string pinned =
      good_with("loss: FALLS resume_from: 10 final_step: 20", "weights_sha256: \"" + std::string(64, 'a') + "\"");
  const auto with = [&](const std::string& collectives) {
    std::string text = pinned;
    return text.replace(text.find("batch: 4"), 8, "batch: 4 zero_stage: 0 collectives { " + collectives + " }");
  };
  EXPECT_TRUE(load_text(with("all_reduce: RING"), kFar).expect.weights_sha256.has_value());
  EXPECT_FALSE(load_text(with("all_reduce: AUTO"), kFar).expect.weights_sha256.has_value());
  EXPECT_TRUE(load_text(with("all_reduce: AUTO"), {"checkpoint.keep=2"}).expect.weights_sha256.has_value());
}

TEST(PickedCollectives, TakeSegmentsIntoAccountAndKeepThemForAPipelineAlone) {
  const std::string text = automatic(0, "all_reduce: AUTO segment: \"64KiB\"");
  EXPECT_THAT(load_text(text, kFar).text, Not(HasSubstr("segment")));
  EXPECT_THAT(error_of(automatic(0, "all_reduce: RING segment: \"64KiB\"")), HasSubstr("or AUTO"));
}

TEST(PickedCollectives, AreRefusedWhereTheStageHasNoSuchCollective) {
  EXPECT_THAT(error_of(automatic(1, "all_reduce: AUTO")), HasSubstr("allowed: only with zero_stage 0"));
  EXPECT_THAT(error_of(automatic(0, "all_gather: AUTO")), HasSubstr("allowed: only with zero_stage 1"));
}

TEST(Price, DecidesNoBitsAndIsNoNegativeNumber) {
  const Scenario free = load_text(kGoodScenario);
  const Scenario priced = load_text(kGoodScenario, {"cluster.price_per_rank_hour=2.5"});
  EXPECT_FALSE(free.price_per_rank_hour.has_value());
  EXPECT_EQ(priced.price_per_rank_hour, 2.5);
  EXPECT_EQ(priced.arithmetic_sha256, free.arithmetic_sha256);
  EXPECT_THAT(error_of(kGoodScenario, {"cluster.price_per_rank_hour=-1"}), HasSubstr("cluster.price_per_rank_hour"));
}

}  // namespace
}  // namespace rehearse
