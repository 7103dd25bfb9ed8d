// Jobs on networks that fail: loss, duplication, reordering and corruption cost time and never bits (D2), what cannot
// be mended ends the job instead of hanging it, and what happened is counted and told.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/random.h"
#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

// Four steps of a job small enough to be run hundreds of times, with two units and two checkpoints.
Scenario tiny(const std::string& faults, const std::string& transport = "", const std::string& more = "") {
  std::string text = "name: \"tiny\" seed: 5 cluster { ranks: 4 network { latency: \"5us\" " + transport +
                     " } }\n"
                     "model { layers: 1 embed: 8 heads: 2 vocab: 8 context: 4 }\n"
                     "data { synthetic { kind: MARKOV states: 8 noise: 0 } }\n"
                     "train { steps: 4 batch: 1 bucket: \"2KB\" adam { lr: 0.005 } }\n"
                     "checkpoint { every_steps: 2 }\n";
  if (!faults.empty()) text += "faults { " + faults + " }\n";
  return parse_scenario(text + more, "tiny.textproto", read_real_file);
}

const TrainingRecord& fault_free() {
  static const TrainingRecord record = run_training(tiny(""));
  return record;
}

void expect_sums(const TransportCounters& counters, bool checksums = true) {
  EXPECT_EQ(counters.messages + counters.retransmitted + counters.copied,
            counters.accepted + counters.lost + counters.again + counters.corrupt + counters.refused +
                counters.on_their_way());
  EXPECT_GE(counters.on_their_way(), 0);
  EXPECT_GE(counters.accepted, counters.delivered);
  EXPECT_GE(counters.messages, counters.delivered);
  EXPECT_GE(counters.acks, counters.acks_lost);
  if (checksums) {
    EXPECT_EQ(counters.corrupt_taken, 0);
    // A copy of a packet with a wrong bit has it too.
    EXPECT_LE(counters.corrupt, counters.bits_inverted + counters.copied);
  }
}

void expect_same_job(const TrainingRecord& record) {
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, fault_free().weights_sha256);
  EXPECT_THAT(record.violations, ::testing::IsEmpty());
  ASSERT_EQ(record.steps.size(), fault_free().steps.size());
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    EXPECT_EQ(record.steps[i].parameters, fault_free().steps[i].parameters);
    EXPECT_EQ(record.steps[i].report.rank_losses, fault_free().steps[i].report.rank_losses);
  }
  ASSERT_TRUE(record.transport.has_value());
  expect_sums(*record.transport);
}

std::vector<std::string> told(const TrainingRecord& record) {
  std::vector<std::string> lines;
  for (const FaultRecord& fault : record.faults) {
    lines.push_back(to_string(fault.time.since_start()) + ": " + fault.what);
  }
  return lines;
}

// Rules at random: any kinds, links, rates up to a third, windows and counts.
std::string random_rules(RandomStream random) {
  const auto number = [&](std::uint64_t from, std::uint64_t to) { return from + random.below(to - from + 1); };
  std::string rules;
  const std::uint64_t count = number(1, 6);
  for (std::uint64_t i = 0; i < count; ++i) {
    static const char* const kKinds[] = {"loss", "duplicate", "reorder", "delay", "corrupt", "link_latency"};
    const std::string kind = kKinds[random.below(6)];
    std::string rule = kind + " { ";
    if (random.chance(1, 2)) rule += "from: " + std::to_string(number(0, 1)) + " ";
    if (random.chance(1, 2)) rule += "to: " + std::to_string(number(2, 3)) + " ";
    if (random.chance(1, 4)) rule += "both_ways: true ";
    if (random.chance(1, 3)) rule += "from_step: " + std::to_string(number(1, 2)) + " ";
    if (random.chance(1, 3)) rule += "until_step: " + std::to_string(number(3, 4)) + " ";
    std::string duration = "\"";
    duration += std::to_string(number(1, 100)) + "us\" ";
    if (kind == "link_latency") {
      rules += rule + "added: " + duration + "jitter: " + duration + "} ";
      continue;
    }
    if (random.chance(3, 4)) {
      rule += "probability: 0." + std::to_string(number(1, 3)) + std::to_string(number(0, 9)) + " ";
    } else {
      rule += "message: " + std::to_string(number(1, 30)) + " count: " + std::to_string(number(1, 20)) + " ";
    }
    if (random.chance(1, 3)) rule += std::string("of: ") + (random.chance(1, 2) ? "ACKS " : "ALL ");
    if (kind == "duplicate") rule += "after: " + duration;
    if (kind == "reorder" || kind == "delay") rule += "by: " + duration;
    rules += rule + "} ";
  }
  return rules;
}

TEST(NetworkFaultsOfRuns, RandomRulesCostTimeAndNeverBits) {
  TransportCounters sum;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const std::string rules = random_rules(RandomStream(seed).fork("rules")) + "loss { probability: 0.05 }";
    SCOPED_TRACE(rules);
    const TrainingRecord record = run_training(tiny(rules));
    expect_same_job(record);
    EXPECT_GE(record.simulated, fault_free().simulated);
    EXPECT_THAT(record.recoveries, ::testing::IsEmpty());
    if (!record.transport.has_value()) continue;
    sum.lost += record.transport->lost;
    sum.again += record.transport->again;
    sum.corrupt += record.transport->corrupt;
    sum.held += record.transport->held;
    sum.acks_lost += record.transport->acks_lost;
  }
  for (const std::int64_t count : {sum.lost, sum.again, sum.corrupt, sum.held, sum.acks_lost}) EXPECT_GT(count, 1000);
  std::printf("%lld packets lost, %lld dropped as duplicates, %lld corrupt, %lld held, %lld acknowledgements lost\n",
              static_cast<long long>(sum.lost), static_cast<long long>(sum.again), static_cast<long long>(sum.corrupt),
              static_cast<long long>(sum.held), static_cast<long long>(sum.acks_lost));
}

// A rank or its host dies while packets are under way, lost and held: D3 holds on a network that fails too.
TEST(NetworkFaultsOfRuns, CrashesOnLossyNetworksAreRecoveredFrom) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random = RandomStream(seed).fork("crashes");
    std::string rules = random_rules(RandomStream(seed).fork("rules")) + "loss { probability: 0.1 }";
    rules += " crash { rank: " + std::to_string(random.below(4)) + " time: \"" +
             std::to_string(10 + random.below(600)) + "us\" kind: " + (random.chance(1, 2) ? "HOST" : "PROCESS") + " }";
    SCOPED_TRACE(rules);
    const TrainingRecord record =
        run_training(tiny(rules, "", "recovery { restart_delay: \"1ms\" heartbeat_timeout: \"3ms\" }"));
    expect_same_job(record);
    EXPECT_EQ(record.recoveries.size(), 1U);
  }
}

TEST(NetworkFaultsOfRuns, AreTheSameEveryTime) {
  const std::string rules = random_rules(RandomStream(3)) + "corrupt { probability: 0.2 } loss { probability: 0.2 }";
  const TrainingRecord one = run_training(tiny(rules));
  const TrainingRecord other = run_training(tiny(rules));
  EXPECT_EQ(one.event_digest, other.event_digest);
  EXPECT_EQ(one.simulated, other.simulated);
  EXPECT_EQ(one.transport->lost, other.transport->lost);
}

TEST(NetworkFaultsOfRuns, ATransportOverWholeLinksChangesNoTime) {
  const TrainingRecord record = run_training(tiny("", "transport { }"));
  expect_same_job(record);
  EXPECT_EQ(record.transport->retransmitted, 0);
  EXPECT_EQ(record.transport->acks, record.transport->delivered);
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    EXPECT_EQ(record.steps[i].step_seconds, fault_free().steps[i].step_seconds);
  }
}

TEST(NetworkFaultsOfRuns, WhatLosesNothingNeedsNoTransport) {
  const TrainingRecord record = run_training(
      tiny("link_bandwidth { factor: 0.5 } link_latency { added: \"1us\" } delay { by: \"1ms\" from_step: 2 }"));
  EXPECT_FALSE(record.transport.has_value());
  EXPECT_EQ(record.weights_sha256, fault_free().weights_sha256);
  EXPECT_GT(record.simulated, fault_free().simulated);
  EXPECT_EQ(record.messages, fault_free().messages);
}

TEST(NetworkFaultsOfRuns, APartitionThatHealsIsNoFailure) {
  for (const char* direction : {"", "one_way: true"}) {
    const TrainingRecord record =
        run_training(tiny(std::string("partition { a: 1 a: 3 from_step: 2 until_time: \"20ms\" ") + direction + " }"));
    expect_same_job(record);
    EXPECT_THAT(record.recoveries, ::testing::IsEmpty());
    ASSERT_EQ(record.faults.size(), 2U);
    EXPECT_EQ(record.faults[0].time, record.steps[1].report.began);
    EXPECT_EQ(record.faults[1].time, TimePoint::at(Duration::milliseconds(20)));
    EXPECT_GT(record.simulated, record.faults[1].time);
  }
}

TEST(NetworkFaultsOfRuns, APartitionForGoodUsesTheRestartsUpAndEnds) {
  for (const char* direction : {"", "one_way: true"}) {
    const TrainingRecord record =
        run_training(tiny(std::string("partition { a: 2 from_step: 3 ") + direction + " }",
                          "transport { max_retries: 6 }", "recovery { restart_delay: \"1ms\" max_restarts: 3 }"));
    EXPECT_EQ(record.outcome, Outcome::kFailed);
    EXPECT_EQ(record.recoveries.size(), 3U);
    EXPECT_THAT(record.failure, ::testing::HasSubstr("the connection to the peer is lost"));
    EXPECT_GE(record.transport->broken, 4);
    EXPECT_GT(record.transport->lost, 0);
    expect_sums(*record.transport);
  }
}

// Broken for a while: the job is restarted, from its checkpoint, and ends with the same bytes (D3).
TEST(NetworkFaultsOfRuns, AConnectionThatBreaksIsAFailureLikeACrash) {
  const TrainingRecord record =
      run_training(tiny("link_down { from: 1 to: 2 from_step: 4 until_time: \"30ms\" }", "transport { max_retries: 5 }",
                        "recovery { restart_delay: \"100ms\" }"));
  expect_same_job(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 2);
  EXPECT_EQ(record.transport->broken, 1);
}

TEST(NetworkFaultsOfRuns, TellWhatTheyDo) {
  const TrainingRecord record = run_training(
      tiny("link_down { from: 0 to: 1 both_ways: true from_step: 2 until_step: 3 } loss { from: 2 message: 7 }",
           "transport { max_retries: 6 max_timeout: \"1ms\" }", "recovery { restart_delay: \"1ms\" max_restarts: 0 }"));
  const std::string down = to_string(record.faults.back().time.since_start());
  EXPECT_THAT(told(record), ::testing::ElementsAre(::testing::HasSubstr("a message from rank 2 to rank 3 is lost"),
                                                   down + ": link 0 <-> 1 goes down"));
  for (const FaultRecord& fault : record.faults) EXPECT_EQ(fault.at.rank, -1);
  EXPECT_EQ(record.outcome, Outcome::kFailed) << "the step that would end the window never comes";
}

TEST(NetworkFaultsOfRuns, ACorruptGradientThatNobodyChecksIsOnlySeenInTheWeights) {
  const TrainingRecord record =
      run_training(tiny("corrupt { from: 1 to: 2 from_step: 2 }", "transport { checksums: false }"));
  ASSERT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.transport->corrupt_taken, 1);
  EXPECT_THAT(record.violations, ::testing::IsEmpty());
  EXPECT_NE(record.weights_sha256, fault_free().weights_sha256);
}

// Message by message of a step: what ranks tell each other of sizes and losses is found, a gradient is seen in nothing,
// and a parameter breaks the invariant of replicas.
TEST(NetworkFaultsOfRuns, ACorruptParameterThatNobodyChecksBreaksTheInvariantOfReplicas) {
  int found = 0;
  int gradients = 0;
  int parameters = 0;
  for (int message = 1; message <= 24; ++message) {
    const TrainingRecord record =
        run_training(tiny("corrupt { from: 1 to: 2 from_step: 2 message: " + std::to_string(message) + " }",
                          "transport { checksums: false }"));
    EXPECT_EQ(record.transport->bits_inverted, 1);
    EXPECT_EQ(record.transport->corrupt + record.transport->corrupt_taken, 1);
    ++(record.transport->corrupt == 1 ? found : record.violations.empty() ? gradients : parameters);
  }
  EXPECT_GT(found, 0);
  EXPECT_GT(gradients, 5);
  EXPECT_GT(parameters, 5);
}

// Only numbers go wrong: the sizes and texts that ranks tell each other keep their checksums.
TEST(NetworkFaultsOfRuns, WithoutChecksumsTheProtocolsOfTheRanksStillHold) {
  for (int seed = 1; seed <= 20; ++seed) {
    Scenario scenario = tiny("corrupt { probability: 0.3 }", "transport { checksums: false }");
    scenario.seed = static_cast<std::uint64_t>(seed);
    const TrainingRecord record = run_training(scenario);
    EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
    EXPECT_GT(record.transport->corrupt_taken, 0);
    EXPECT_GT(record.transport->corrupt, 0);
    expect_sums(*record.transport, false);
  }
}

TEST(NetworkFaultsOfRuns, AContinuedRunMeetsTheFaultsOfItsSteps) {
  const Scenario scenario = tiny("loss { from_step: 4 probability: 0.3 }");
  const TrainingRecord whole = run_training(scenario);
  ResumeFrom resume;
  resume.step = 2;
  resume.files = whole.checkpoints.at(0).files;
  const TrainingRecord continued = run_training(scenario, resume);
  ASSERT_EQ(continued.outcome, Outcome::kDone);
  EXPECT_EQ(continued.weights_sha256, fault_free().weights_sha256);
  EXPECT_GT(continued.transport->lost, 0);
  ASSERT_EQ(continued.faults.size(), 1U);
  EXPECT_EQ(continued.faults[0].time, continued.steps[1].report.began);
}

}  // namespace
}  // namespace rehearse
