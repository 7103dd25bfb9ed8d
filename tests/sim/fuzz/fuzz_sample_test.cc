// A fixed sample of seeds: nothing is found, and they have been everywhere.

#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "sim/fuzz/fault_kinds.h"
#include "sim/fuzz/run_plan.h"

namespace rehearse {
namespace {

constexpr std::uint64_t kFirst = 10'001;
constexpr std::uint64_t kSeeds = 2000;

TEST(FuzzSample, TwoThousandSeedsFindNothingAndReachEveryKind) {
  ReachedTable table;
  std::uint64_t struck = 0;
  std::uint64_t recovered = 0;
  for (std::uint64_t seed = kFirst; seed < kFirst + kSeeds; ++seed) {
    const PlanResult result = run_plan(draw_plan(seed));
    for (const Finding& finding : result.findings) {
      ADD_FAILURE() << "seed " << seed << ", " << finding.invariant << ": " << finding.detail;
    }
    table.add(result.reached);
    struck += result.reached.strikes.empty() ? 0 : 1;
    bool recovers = false;
    for (const std::string& path : result.reached.paths) {
      recovers = recovers || path.starts_with("RESTART") || path.starts_with("ROLLBACK") || path == "SKIP_STEP";
    }
    recovered += recovers ? 1 : 0;
  }
  for (int i = 0; i < kFaultNames; ++i) {
    const std::string kind = name_of(static_cast<FaultName>(i));
    std::int64_t runs = 0;
    for (const std::string& phase : table.phases_seen()) runs += table.strikes(kind, phase);
    EXPECT_GE(runs, 5) << kind << " struck too seldom";
  }
  for (const char* path : {"RESTART", "RESTART_FROM_START", "ROLLBACK", "ROLLBACK_TO_START", "SKIP_STEP",
                           "SKIP_BATCHES", "EVICT", "SPARE", "FEWER_RANKS", "SUSPECTED", "FENCED", "REFUSED_CHECKPOINT",
                           "FAILED_SAVE", "OTHER_DISK", "OWN_DISK", "SENT_AGAIN", "STOPPED", "GIVEN_UP", "LATE"}) {
    EXPECT_GE(table.runs(path), 5) << path << " was taken too seldom";
  }
  EXPECT_GE(struck, kSeeds * 8 / 10);
  EXPECT_GE(recovered, kSeeds * 4 / 10);
  std::cout << kSeeds << " seeds, " << struck << " struck, " << recovered << " recovered\n";
}

}  // namespace
}  // namespace rehearse
