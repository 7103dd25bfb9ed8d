#include "tests/determinism/time_changes.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/determinism/recorded_run.h"

namespace rehearse::testing_determinism {
namespace {

struct Change {
  std::string name;
  std::vector<std::string> overrides;
};

// Each makes other times in any scenario.
std::vector<Change> changes_of(const Scenario& scenario) {
  const auto ps = [](std::int64_t value) { return std::to_string(value) + "ps"; };
  const auto bps = [](std::int64_t value) { return std::to_string(value) + "bps"; };
  const std::int64_t latency = scenario.network.latency.ps();
  const std::int64_t bandwidth = scenario.network.bandwidth.bits_per_second();
  const std::string last = std::to_string(scenario.ranks - 1);
  const std::string slowdown = "cluster.device.slowdown[" + std::to_string(scenario.device.slowdowns.size()) + "]";
  return {
      {"latency x 10", {"cluster.network.latency=" + ps(10 * latency)}},
      {"no latency", {"cluster.network.latency=0ps"}},
      {"latency a picosecond longer", {"cluster.network.latency=" + ps(latency + 1)}},
      {"bandwidth / 7", {"cluster.network.bandwidth=" + bps(bandwidth / 7)}},
      {"bandwidth x 1000", {"cluster.network.bandwidth=" + bps(1000 * bandwidth)}},
      {"jitter", {"cluster.network.jitter=3us"}},
      {"much jitter", {"cluster.network.jitter=2ms"}},
      {"rank 0 is slow", {slowdown + ".rank=0", slowdown + ".factor=100"}},
      {"the last rank is slow", {slowdown + ".rank=" + last, slowdown + ".factor=1.1"}},
      {"another device", {"cluster.device.preset=h100"}},
      {"a slow device", {"cluster.device.flops=1GFLOPS"}},
      {"slow storage", {"cluster.storage.latency=20ms", "cluster.storage.bandwidth=1Mbps"}},
      {"all at once",
       {"cluster.network.latency=" + ps(3 * latency), "cluster.network.bandwidth=" + bps(bandwidth / 3),
        "cluster.network.jitter=77us", "cluster.device.preset=cpu", "cluster.storage.latency=1ns"}},
  };
}

}  // namespace

void expect_time_changes_no_bit(const std::string& name, const std::vector<std::string>& overrides) {
  const Scenario scenario = shipped(name, overrides);
  const RecordedRun base = run_recorded(scenario);
  ASSERT_EQ(base.record.outcome, Outcome::kDone);
  const std::int64_t states = count_states(base, any_state);
  ASSERT_GT(states, 0);
  std::int64_t compared = 0;
  for (const Change& change : changes_of(scenario)) {
    SCOPED_TRACE(name + ": " + change.name);
    // Nobody reads or writes where there is no checkpoint.
    if (change.name == "slow storage" && scenario.train.checkpoint.every_steps == 0) continue;
    std::vector<std::string> all = overrides;
    all.insert(all.end(), change.overrides.begin(), change.overrides.end());
    const RecordedRun other = run_recorded(shipped(name, all));
    EXPECT_EQ(other.record.weights_sha256, base.record.weights_sha256);
    EXPECT_NE(other.record.event_digest, base.record.event_digest);
    EXPECT_NE(other.record.simulated, base.record.simulated);
    const auto difference = first_difference_of(base, other, any_state);
    EXPECT_FALSE(difference.has_value()) << text_of(difference);
    EXPECT_EQ(count_states(other, any_state), states);
    ASSERT_EQ(other.record.evals.size(), base.record.evals.size());
    for (std::size_t i = 0; i < base.record.evals.size(); ++i) {
      EXPECT_EQ(other.record.evals[i].loss, base.record.evals[i].loss);
    }
    // What of a checkpoint depends on arithmetic alone.
    ASSERT_EQ(other.record.checkpoints.size(), base.record.checkpoints.size());
    for (std::size_t c = 0; c < base.record.checkpoints.size(); ++c) {
      for (const auto& [file, data] : base.record.checkpoints[c].files) {
        if (file == "run_state.json" || file == "scenario.textproto") continue;
        EXPECT_EQ(other.record.checkpoints[c].files.at(file).text(), data.text()) << file;
      }
    }
    ++compared;
  }
  std::printf("%s: %lld changes of time, %lld states each\n", name.c_str(), static_cast<long long>(compared),
              static_cast<long long>(states));
  EXPECT_GE(compared, 12);
}

}  // namespace rehearse::testing_determinism
