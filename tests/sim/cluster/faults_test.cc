// Faults that strike runs: what is overwritten is gone again, what enters the sums stays.

#include <gtest/gtest.h>

#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

// The capstone, which updates head.weight on rank 3, with one bit flipped.
Scenario with_flip(const std::string& flip, const std::vector<std::string>& overrides = {}) {
  const std::string path = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";
  std::string text = read_real_file(path, kScenarioFileLimit);
  text.replace(text.find("expect {"), 8, "faults { flip { " + flip + " } } expect { same_weights_as: \"fault-free\"");
  LoadOptions options;
  options.overrides = overrides;
  return parse_scenario(text, path, read_real_file, options);
}

bool same_weights(const Scenario& scenario, const TrainingRecord& record) {
  for (const Verdict& verdict : judge(scenario, record)) {
    if (verdict.name == "same_weights_as") return verdict.held;
  }
  ADD_FAILURE() << "no verdict on same_weights_as";
  return false;
}

// What the flip came to: "same" or "other" weights; it must have struck.
std::string come_of(const std::string& flip, const std::vector<std::string>& overrides = {}) {
  const Scenario scenario = with_flip(flip, overrides);
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.faults.size(), 1U) << flip;
  return same_weights(scenario, record) ? "same" : "other";
}

TEST(FaultsOfRuns, WhatIsOverwrittenIsGoneAgain) {
  // Rank 1's copy of what rank 3 updates and gathers.
  EXPECT_EQ(
      come_of("rank: 1 at { step: 7 phase: OPTIMIZER } target: PARAMETER tensor: \"head.weight\" index: 5 bit: 0"),
      "same");
  // Its own, from its master weight.
  EXPECT_EQ(
      come_of("rank: 3 at { step: 7 phase: OPTIMIZER } target: PARAMETER tensor: \"head.weight\" index: 5 bit: 0"),
      "same");
  // A gradient after its last use.
  EXPECT_EQ(come_of("rank: 3 at { step: 7 phase: GATHER } target: GRADIENT tensor: \"head.weight\" index: 5 bit: 30"),
            "same");
}

TEST(FaultsOfRuns, WhatIsUsedStays) {
  EXPECT_EQ(
      come_of("rank: 3 at { step: 7 phase: OPTIMIZER } target: GRADIENT tensor: \"head.weight\" index: 5 bit: 22"),
      "other");
  EXPECT_EQ(come_of("rank: 1 at { step: 7 phase: REDUCE } target: GRADIENT tensor: \"head.weight\" index: 5 bit: 22"),
            "other");
  EXPECT_EQ(come_of("rank: 1 at { step: 7 phase: DATA } target: PARAMETER tensor: \"head.weight\" index: 5 bit: 22"),
            "other");
  EXPECT_EQ(come_of("rank: 3 at { step: 7 phase: DATA } target: MASTER tensor: \"head.weight\" index: 5 bit: 22"),
            "other");
  EXPECT_EQ(come_of("rank: 3 at { step: 7 phase: DATA } target: FIRST_MOMENT tensor: \"head.weight\" index: 5 bit: 22"),
            "other");
  EXPECT_EQ(
      come_of("rank: 3 at { step: 7 phase: DATA } target: SECOND_MOMENT tensor: \"head.weight\" index: 5 bit: 22"),
      "other");
}

TEST(FaultsOfRuns, TheLastPhaseOfTheLastStepIsStruckToo) {
  EXPECT_EQ(come_of("rank: 3 at { step: 20 phase: GATHER } target: PARAMETER tensor: \"head.weight\" index: 5 bit: 22"),
            "other");
}

// What is flipped is the bit, in double as in float.
TEST(FaultsOfRuns, DoubleIsStruckToo) {
  const std::vector<std::string> float64 = {"model.dtype=FLOAT64"};
  EXPECT_EQ(
      come_of("rank: 1 at { step: 7 phase: OPTIMIZER } target: PARAMETER tensor: \"head.weight\" index: 5 bit: 63",
              float64),
      "same");
  EXPECT_EQ(come_of("rank: 3 at { step: 7 phase: OPTIMIZER } target: GRADIENT tensor: \"head.weight\" index: 5 bit: 62",
                    float64),
            "other");
}

// Without shards nobody overwrites a rank's own memory but the rank.
TEST(FaultsOfRuns, WithoutShardsARankThatDiffersIsSeen) {
  const Scenario scenario =
      with_flip("rank: 1 at { step: 7 phase: OPTIMIZER } target: GRADIENT tensor: \"head.weight\" index: 5 bit: 30",
                {"train.zero_stage=0"});
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.faults.size(), 1U);
  EXPECT_FALSE(record.violations.empty()) << "the replicas differ";
  EXPECT_NE(exit_code_of(record, judge(scenario, record)), ExitCode::kDone);
}

class FaultRecords : public EventListener {
 public:
  void on_record(const EventRecord& record) override {
    if (record.kind == EventKind::kFault) records.push_back(record);
  }
  std::vector<EventRecord> records;
};

TEST(FaultsOfRuns, StandInTheLogWhereAndWhenTheyStruck) {
  const Scenario scenario =
      with_flip("rank: 3 at { step: 7 phase: OPTIMIZER } target: GRADIENT tensor: \"head.weight\" index: 5 bit: 22");
  FaultRecords faults;
  TrainingHooks hooks;
  hooks.listeners = {&faults};
  const TrainingRecord record = run_training(scenario, std::nullopt, hooks);
  ASSERT_EQ(faults.records.size(), 1U);
  EXPECT_EQ(faults.records[0].rank, 3);
  EXPECT_EQ(faults.records[0].step, 7);
  EXPECT_EQ(faults.records[0].phase, Phase::kOptimizer);
  ASSERT_EQ(record.faults.size(), 1U);
  EXPECT_EQ(record.faults[0].time, faults.records[0].time);
  EXPECT_EQ(record.faults[0].what, "bit 22 of the gradient head.weight[5] is inverted");
}

// Strikes cost no message and no time. Without checkpoints, which hold the scenario's text with its faults.
TEST(FaultsOfRuns, CostNothing) {
  const std::string path = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";
  std::string text = read_real_file(path, kScenarioFileLimit);
  text.resize(text.find("checkpoint {"));
  const Scenario without = parse_scenario(text, path, read_real_file);
  text +=
      "faults { flip { rank: 1 at { step: 7 phase: OPTIMIZER } target: PARAMETER tensor: \"head.weight\" index: 5 bit: "
      "0 } }";
  const TrainingRecord calm = run_training(without);
  const TrainingRecord struck = run_training(parse_scenario(text, path, read_real_file));
  EXPECT_EQ(struck.faults.size(), 1U);
  EXPECT_EQ(struck.events, calm.events);
  EXPECT_EQ(struck.messages, calm.messages);
  EXPECT_EQ(struck.bytes_on_wire, calm.bytes_on_wire);
  EXPECT_EQ(struck.simulated, calm.simulated);
  EXPECT_EQ(struck.weights_sha256, calm.weights_sha256);
  EXPECT_EQ(struck.log_records, calm.log_records + 1) << "the strike itself";
  EXPECT_NE(struck.event_digest, calm.event_digest);
}

}  // namespace
}  // namespace rehearse
