#include "tools/rehearse/summary.h"
#include "core/formats/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse {
namespace {

using testing_command::Ran;
using testing_command::TemporaryDirectory;

std::set<std::string> keys(const Json& object) {
  std::set<std::string> names;
  for (const auto& [key, value] : object.items()) names.insert(key);
  return names;
}

Json summary_of(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run", testing_command::shipped_scenario("capstone"), "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return parse_json(testing_command::rehearse(words).out);
}

TEST(Summary, HasTheFieldsItsReadersKnow) {
  const Json summary = summary_of({});
  EXPECT_EQ(keys(summary), (std::set<std::string>{
                               "scenario",          "seed",           "outcome",       "exit_code",   "scenario_sha256",
                               "arithmetic_sha256", "weights_sha256", "events",        "messages",    "bytes_on_wire",
                               "simulated_seconds", "wall_seconds",   "steps",         "losses",      "rank0_losses",
                               "grad_norms",        "param_norms",    "memory",        "checkpoints", "communication",
                               "expectations",      "event_digest",   "state_digests", "recoveries",  "goodput",
                               "exposed",           "collectives"}));
  EXPECT_EQ(summary["steps"], 20);
  ASSERT_EQ(summary["state_digests"].size(), 20u);
  EXPECT_EQ(keys(summary["state_digests"][0]),
            (std::set<std::string>{"step", "parameters", "gradients", "m", "v", "lr", "batch_index", "applied_steps"}));
  for (const char* array : {"losses", "rank0_losses", "grad_norms", "param_norms"}) {
    EXPECT_EQ(summary[array].size(), 20u) << array;
  }
  const std::set<std::string> kinds = {
      "parameters",      "gradients",     "optimizer", "activations_peak", "communication_buffers",
      "parameters_kept", "gradients_kept"};
  EXPECT_EQ(keys(summary["memory"]), (std::set<std::string>{"per_rank", "max", "mean"}));
  EXPECT_EQ(keys(summary["memory"]["max"]), kinds);
  EXPECT_EQ(keys(summary["memory"]["mean"]), kinds);
  ASSERT_EQ(summary["memory"]["per_rank"].size(), 4u);
  EXPECT_EQ(summary["memory"]["per_rank"][2]["rank"], 2);
  EXPECT_EQ(summary["memory"]["per_rank"][2]["optimizer"], 89472);
  EXPECT_EQ(summary["memory"]["mean"]["optimizer"], 89472.0);
  EXPECT_EQ(keys(summary["checkpoints"][0]), (std::set<std::string>{"step", "directory", "bytes", "manifest_sha256"}));
  EXPECT_EQ(keys(summary["communication"][0]),
            (std::set<std::string>{"operation", "calls", "messages", "bytes", "seconds"}));
  for (const Json& expectation : summary["expectations"]) {
    EXPECT_EQ(keys(expectation), (std::set<std::string>{"name", "held", "detail"}));
    EXPECT_TRUE(expectation["held"]);
  }
}

TEST(Summary, SaysWhatEachTierGaveToARecovery) {
  const std::vector<std::string> words = {"run", testing_command::shipped_scenario("tier_one_corrupt"), "--format",
                                          "json"};
  const Json summary = parse_json(testing_command::rehearse(words).out);
  EXPECT_EQ(summary["local_saves"], 2);
  ASSERT_EQ(summary["recoveries"].size(), 1u);
  const Json& recovery = summary["recoveries"][0];
  EXPECT_EQ(recovery["refused_copies"].size(), 2u);
  const Json& tiers = recovery["read_by_tier"];
  EXPECT_EQ(tiers["own_disks"]["shards"], 3);
  EXPECT_EQ(tiers["other_disks"]["shards"], 0);
  EXPECT_EQ(tiers["other_disks"]["bytes"], 0);
  EXPECT_EQ(tiers["remote"]["shards"], 1);
  EXPECT_GT(tiers["remote"]["bytes"], 0);
  EXPECT_EQ(recovery["bytes_read"],
            tiers["own_disks"]["bytes"].get<std::int64_t>() + tiers["remote"]["bytes"].get<std::int64_t>());
}

TEST(Summary, IsAFunctionOfScenarioAndSeedButForWallSeconds) {
  Json first = summary_of({});
  Json second = summary_of({});
  EXPECT_NE(first["wall_seconds"], nullptr);
  first.erase("wall_seconds");
  second.erase("wall_seconds");
  EXPECT_EQ(first.dump(), second.dump());
  EXPECT_NE(summary_of({"--seed", "7"})["weights_sha256"], first["weights_sha256"]);
}

TEST(Summary, MetricsNumbersRoundTripAndNonFiniteOnesAreStrings) {
  StepRecord step;
  step.report.step = 3;
  step.report.applied_steps = 3;
  step.report.loss = 0.1 + 0.2;
  step.report.grad_norm = std::numeric_limits<double>::quiet_NaN();
  step.report.lr = -std::numeric_limits<double>::infinity();
  step.report.tokens = 256;
  step.memory.optimizer = Bytes(89'472);
  step.step_seconds = Duration::picoseconds(1'234'567'890'123);
  const Json line = parse_json(write_metrics_line(step));
  EXPECT_EQ(keys(line),
            (std::set<std::string>{"step", "applied_steps", "loss", "grad_norm", "lr", "param_norm", "step_seconds",
                                   "tokens", "memory", "attempt", "generation", "recoveries"}));
  EXPECT_EQ(line["memory"]["optimizer"], 89'472);
  EXPECT_EQ(line["loss"].get<double>(), 0.1 + 0.2);
  EXPECT_EQ(line["grad_norm"], "nan");
  EXPECT_EQ(line["lr"], "-inf");
  EXPECT_EQ(line["step_seconds"].get<double>(), 1.234567890123);
  EXPECT_EQ(write_metrics_line(step).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace rehearse
