#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/determinism/time_changes.h"

// The other scenarios, and the capstone with other settings; with REHEARSE_FULL=1 every scenario with each of them.

namespace rehearse::testing_determinism {
namespace {

const std::vector<std::vector<std::string>> kSettings = {
    {"model.dtype=FLOAT64"},
    {"train.bucket=20KB"},
    {"cluster.ranks=3", "train.bucket=1B", "train.clip_norm=0.5"},
    {"seed=5", "train.zero_stage=0", "train.schedule.warmup_steps=7"},
    {"data.synthetic.noise=0.25", "train.accumulate=2", "train.adam.weight_decay=0.1"},
    {"train.guards.corruption=EVICT", "train.guards.recompute_every=3"},
};

TEST(TimeEverywhere, ChangesNoBitOfTheOtherScenarios) {
  for (const char* name : {"accumulate", "seven_ranks", "text"}) expect_time_changes_no_bit(name);
}

TEST(TimeEverywhere, ChangesNoBitWithOtherSettings) {
  std::vector<std::string> scenarios = {"capstone"};
  if (std::getenv("REHEARSE_FULL") != nullptr) scenarios = {"capstone", "accumulate", "ddp"};
  for (const std::string& name : scenarios) {
    for (const auto& overrides : kSettings) {
      SCOPED_TRACE(overrides.front());
      expect_time_changes_no_bit(name, overrides);
    }
  }
}

}  // namespace
}  // namespace rehearse::testing_determinism
