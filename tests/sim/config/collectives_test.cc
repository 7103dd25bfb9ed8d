// By which algorithms a scenario may have its gradients summed and its parameters gathered, and what that decides.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "sim/config/reshard.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string with_collectives(int stage, const std::string& collectives) {
  return good_with("batch: 4",
                   "batch: 4 zero_stage: " + std::to_string(stage) + " collectives { " + collectives + " }");
}

TEST(Collectives, AreReadAndWrittenBack) {
  const Scenario sharded = load_text(with_collectives(1, "reduce_scatter: RECURSIVE_HALVING all_gather: DIRECT"));
  EXPECT_EQ(sharded.train.collectives.reduce_scatter, ReduceScatterAlgorithm::kRecursiveHalving);
  EXPECT_EQ(sharded.train.collectives.all_gather, AllGatherAlgorithm::kDirect);
  EXPECT_EQ(load_text(sharded.text).text, sharded.text);
  const Scenario whole = load_text(with_collectives(0, "all_reduce: DOUBLE_BINARY_TREE segment: \"64KiB\""));
  EXPECT_EQ(whole.train.collectives.all_reduce, AllReduceAlgorithm::kDoubleBinaryTree);
  EXPECT_EQ(whole.train.collectives.options.segment, Bytes(64 * 1024));
  EXPECT_EQ(load_text(whole.text).text, whole.text);
}

TEST(Collectives, EveryAlgorithmHasItsName) {
  const std::pair<const char*, AllReduceAlgorithm> all[] = {
      {"RING", AllReduceAlgorithm::kRing},
      {"HALVING_DOUBLING", AllReduceAlgorithm::kHalvingDoubling},
      {"RECURSIVE_DOUBLING", AllReduceAlgorithm::kRecursiveDoubling},
      {"BINOMIAL_TREE", AllReduceAlgorithm::kBinomialTree},
      {"DOUBLE_BINARY_TREE", AllReduceAlgorithm::kDoubleBinaryTree},
      {"HIERARCHICAL", AllReduceAlgorithm::kHierarchical},
  };
  ASSERT_EQ(std::size(all), kAllReduceAlgorithms);
  for (const auto& [name, algorithm] : all) {
    const std::string text = with_collectives(0, std::string("all_reduce: ") + name);
    EXPECT_EQ(load_text(text, {"cluster.ranks_per_host=2"}).train.collectives.all_reduce, algorithm) << name;
  }
}

TEST(Collectives, RingsAreTheDefaultAndStayUnwritten) {
  const Scenario scenario = load_text(kGoodScenario);
  EXPECT_EQ(scenario.train.collectives.all_reduce, AllReduceAlgorithm::kRing);
  EXPECT_EQ(scenario.train.collectives.reduce_scatter, ReduceScatterAlgorithm::kRing);
  EXPECT_EQ(scenario.train.collectives.all_gather, AllGatherAlgorithm::kRing);
  EXPECT_THAT(scenario.text, Not(HasSubstr("collectives")));
}

TEST(Collectives, DecideBitsWhereTheySumInAnotherOrder) {
  const std::string ring = load_text(kGoodScenario).arithmetic_sha256;
  const auto of = [](const char* collectives) { return load_text(with_collectives(1, collectives)).arithmetic_sha256; };
  EXPECT_EQ(of("reduce_scatter: RING"), ring);
  EXPECT_EQ(of("all_gather: DIRECT"), ring);
  EXPECT_EQ(of(""), ring);
  EXPECT_NE(of("reduce_scatter: DIRECT"), ring);
  EXPECT_NE(of("reduce_scatter: RECURSIVE_HALVING"), of("reduce_scatter: DIRECT"));
  EXPECT_EQ(of("reduce_scatter: DIRECT all_gather: DIRECT"), of("reduce_scatter: DIRECT"));
}

// Hosts decide nothing but with an algorithm that sums inside them first.
TEST(Collectives, HostsDecideBitsWhereSumsAreMadeInThem) {
  const auto of = [](const char* algorithm, const char* hosts) {
    return load_text(with_collectives(0, std::string("all_reduce: ") + algorithm), {hosts}).arithmetic_sha256;
  };
  const char* two = "cluster.ranks_per_host=2";
  const char* four = "cluster.ranks_per_host=4";
  EXPECT_EQ(of("BINOMIAL_TREE", two), of("BINOMIAL_TREE", four));
  EXPECT_NE(of("HIERARCHICAL", two), of("HIERARCHICAL", four));
}

TEST(Collectives, AnotherCutOfAJobMayHaveOthers) {
  const Scenario ring = load_text(kGoodScenario);
  const Scenario direct = load_text(with_collectives(1, "reduce_scatter: DIRECT"));
  EXPECT_NE(ring.arithmetic_sha256, direct.arithmetic_sha256);
  EXPECT_EQ(job_sha256(ring), job_sha256(direct));
}

TEST(Collectives, ThatTheStageHasNotAreRefused) {
  EXPECT_THAT(error_of(with_collectives(1, "all_reduce: BINOMIAL_TREE")),
              HasSubstr("s.textproto:6:68: train.collectives.all_reduce: found BINOMIAL_TREE with train.zero_stage 1, "
                        "which has no such collective; allowed: only with zero_stage 0"));
  EXPECT_THAT(error_of(with_collectives(0, "reduce_scatter: DIRECT")),
              HasSubstr("train.collectives.reduce_scatter: found DIRECT with train.zero_stage 0"));
  EXPECT_THAT(error_of(with_collectives(0, "all_gather: RING")),
              HasSubstr("train.collectives.all_gather: found RING with train.zero_stage 0"));
}

TEST(Collectives, AlgorithmsOfOtherCollectivesAreRefused) {
  EXPECT_THAT(error_of(with_collectives(0, "all_reduce: DIRECT")),
              HasSubstr("found DIRECT; allowed: RING, HALVING_DOUBLING, RECURSIVE_DOUBLING, BINOMIAL_TREE, "
                        "DOUBLE_BINARY_TREE, HIERARCHICAL"));
  EXPECT_THAT(error_of(with_collectives(1, "reduce_scatter: RECURSIVE_DOUBLING")),
              HasSubstr("found RECURSIVE_DOUBLING; allowed: RING, RECURSIVE_HALVING, DIRECT"));
  EXPECT_THAT(error_of(with_collectives(1, "all_gather: HIERARCHICAL")),
              HasSubstr("found HIERARCHICAL; allowed: RING, RECURSIVE_DOUBLING, DIRECT"));
}

TEST(Collectives, AHierarchyNeedsEqualHosts) {
  const std::string text = with_collectives(0, "all_reduce: HIERARCHICAL");
  EXPECT_THAT(error_of(text), HasSubstr("found HIERARCHICAL without hosts; allowed: only with cluster.ranks_per_host"));
  EXPECT_THAT(error_of(text, {"cluster.ranks_per_host=3"}),
              HasSubstr("found HIERARCHICAL with 4 ranks in hosts of 3; allowed: only where cluster.ranks is a "
                        "multiple of cluster.ranks_per_host"));
  EXPECT_THAT(error_of(text, {"cluster.ranks_per_host=2", "recovery.mode=ELASTIC"}),
              HasSubstr("found HIERARCHICAL with recovery.mode ELASTIC"));
  EXPECT_EQ(error_of(text, {"cluster.ranks_per_host=4"}), "no error");
}

TEST(Collectives, ASegmentNeedsAPipeline) {
  EXPECT_THAT(error_of(with_collectives(0, "all_reduce: BINOMIAL_TREE segment: \"1KiB\"")),
              HasSubstr("train.collectives.segment: found \"1KiB\" without a pipeline; allowed: only with all_reduce "
                        "DOUBLE_BINARY_TREE"));
}

}  // namespace
}  // namespace rehearse
