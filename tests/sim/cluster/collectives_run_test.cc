// A job whose gradients are summed, and parameters gathered, by the algorithms that its scenario names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

// Six ranks in hosts of two: no power of two, and not one chunk a rank without padding. No checkpoints, as these hold
// the scenario's text, whose length takes time.
TrainingRecord run_with(const std::vector<std::string>& more) {
  std::vector<std::string> overrides = {"cluster.ranks=6", "cluster.ranks_per_host=2", "train.batch=2",
                                        "checkpoint.every_steps=0", "checkpoint.keep=0"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  const Scenario scenario = tiny_training("", overrides);
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  return record;
}

TrainingRecord all_reduce_by(const std::string& algorithm, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {"train.zero_stage=0", "train.collectives.all_reduce=" + algorithm};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return run_with(overrides);
}

TrainingRecord sharded_by(const std::string& reduce_scatter, const std::string& all_gather) {
  return run_with({"train.collectives.reduce_scatter=" + reduce_scatter, "train.collectives.all_gather=" + all_gather});
}

TEST(CollectivesOfARun, RingsAreTheDefault) {
  const auto expect_same = [](const TrainingRecord& named, const TrainingRecord& unnamed) {
    EXPECT_EQ(named.weights_sha256, unnamed.weights_sha256);
    EXPECT_EQ(named.simulated, unnamed.simulated);
    EXPECT_EQ(named.messages, unnamed.messages);
  };
  expect_same(all_reduce_by("RING"), run_with({"train.zero_stage=0"}));
  expect_same(sharded_by("RING", "RING"), run_with({}));
}

TEST(CollectivesOfARun, StagesHaveEqualBitsWhereTheirSumsAreTheSame) {
  EXPECT_EQ(all_reduce_by("RING").weights_sha256, sharded_by("RING", "RING").weights_sha256);
  EXPECT_EQ(all_reduce_by("HALVING_DOUBLING").weights_sha256,
            sharded_by("RECURSIVE_HALVING", "RECURSIVE_DOUBLING").weights_sha256);
}

TEST(CollectivesOfARun, AnotherOrderOfSummationGivesOtherBits) {
  const std::string ring = all_reduce_by("RING").weights_sha256;
  for (const char* algorithm :
       {"HALVING_DOUBLING", "RECURSIVE_DOUBLING", "BINOMIAL_TREE", "DOUBLE_BINARY_TREE", "HIERARCHICAL"}) {
    EXPECT_NE(all_reduce_by(algorithm).weights_sha256, ring) << algorithm;
  }
  EXPECT_NE(sharded_by("DIRECT", "RING").weights_sha256, ring);
}

TEST(CollectivesOfARun, HowParametersAreGatheredDecidesOnlyTimes) {
  const TrainingRecord ring = sharded_by("RING", "RING");
  for (const char* algorithm : {"RECURSIVE_DOUBLING", "DIRECT"}) {
    const TrainingRecord other = sharded_by("RING", algorithm);
    EXPECT_EQ(other.weights_sha256, ring.weights_sha256) << algorithm;
    EXPECT_NE(other.simulated, ring.simulated) << algorithm;
  }
}

TEST(CollectivesOfARun, CostModeTakesTheTimesOfEach) {
  for (const char* algorithm :
       {"HALVING_DOUBLING", "RECURSIVE_DOUBLING", "BINOMIAL_TREE", "DOUBLE_BINARY_TREE", "HIERARCHICAL"}) {
    EXPECT_EQ(all_reduce_by(algorithm, {"mode=COST"}).simulated, all_reduce_by(algorithm).simulated) << algorithm;
  }
}

// With long latencies what counts is how many messages follow one another, with small bandwidth how many bytes a rank
// sends: 2 (N - 1) messages of S / N bytes in a ring, log2 N of S in a recursive doubling.
TEST(CollectivesOfARun, LatencyFavoursTheRecursiveAndBandwidthTheRing) {
  const std::vector<std::string> far = {"cluster.ranks=8", "cluster.network.latency=1ms"};
  EXPECT_LT(all_reduce_by("RECURSIVE_DOUBLING", far).simulated, all_reduce_by("RING", far).simulated);
  const std::vector<std::string> thin = {"cluster.ranks=8", "cluster.network.bandwidth=1Mbps"};
  EXPECT_GT(all_reduce_by("RECURSIVE_DOUBLING", thin).simulated, all_reduce_by("RING", thin).simulated);
}

TEST(CollectivesOfARun, ACrashInEachEndsWithTheBytesOfTheCalmRun) {
  for (const char* algorithm :
       {"HALVING_DOUBLING", "RECURSIVE_DOUBLING", "BINOMIAL_TREE", "DOUBLE_BINARY_TREE", "HIERARCHICAL"}) {
    const std::vector<std::string> overrides = {"cluster.ranks=6", "cluster.ranks_per_host=2", "train.batch=2",
                                                "train.zero_stage=0",
                                                std::string("train.collectives.all_reduce=") + algorithm};
    const Scenario crash = tiny_training("faults { crash { rank: 3 at { step: 4 phase: REDUCE } } }\n", overrides);
    const TrainingRecord record = run_training(crash);
    ASSERT_EQ(record.outcome, Outcome::kDone) << algorithm << ": " << record.failure;
    EXPECT_EQ(record.recoveries.size(), 1u) << algorithm;
    EXPECT_EQ(record.weights_sha256, all_reduce_by(algorithm).weights_sha256) << algorithm;
  }
}

}  // namespace
}  // namespace rehearse
