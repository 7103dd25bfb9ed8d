// Plans drawn from seeds: the same everywhere, every kind among them, and all of them scenarios.

#include "sim/fuzz/draw_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "sim/fuzz/fault_kinds.h"

namespace rehearse {
namespace {

constexpr std::uint64_t kSeeds = 2000;

std::size_t faults_of(const Plan& plan) { return plan.faults() == nullptr ? 0 : plan.faults()->fields().size(); }

TEST(DrawPlan, TheSameSeedGivesTheSamePlan) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(draw_plan(seed).text(), draw_plan(seed).text());
  EXPECT_NE(draw_plan(1).text(), draw_plan(2).text());
}

// A plan is a matter of integers alone, so one digest holds on every machine.
TEST(DrawPlan, PlansAreTheSameOnEveryMachine) {
  std::string texts;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) texts += draw_plan(seed).text();
  EXPECT_EQ(sha256_hex(texts), "791ebe7d609ed27313d0b495761cf9eb327403bc785563e709721ea8ed2de770");
}

TEST(DrawPlan, EveryPlanLoads) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Plan plan = draw_plan(seed);
    try {
      load_plan(plan, "seed " + std::to_string(seed));
    } catch (const Error& error) {
      FAIL() << error.what() << "\n" << plan.text();
    }
  }
}

// Two crashes of one rank at one place, of which one said it of the rank's host.
TEST(DrawPlan, PlansThatWereRefusedOnceLoad) {
  for (const std::uint64_t seed : {7309U, 47437U}) EXPECT_NO_THROW(load_plan(draw_plan(seed), "plan")) << seed;
}

TEST(DrawPlan, EveryKindOfFaultIsDrawn) {
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Plan plan = draw_plan(seed);
    if (plan.faults() == nullptr) continue;
    for (const TextField& fault : plan.faults()->fields()) ++drawn[fault.name];
  }
  for (int i = 0; i < kFaultNames; ++i) {
    EXPECT_GE(drawn[name_of(static_cast<FaultName>(i))], 50) << name_of(static_cast<FaultName>(i));
  }
  EXPECT_EQ(std::ssize(drawn), kFaultNames);
}

TEST(DrawPlan, SomePlansAreCalmAndSomeAreBrutal) {
  std::size_t calm = 0;
  std::size_t brutal = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::size_t faults = faults_of(draw_plan(seed));
    calm += faults <= 1 ? 1 : 0;
    brutal += faults >= 6 ? 1 : 0;
  }
  EXPECT_GT(calm, kSeeds / 10);
  EXPECT_GT(brutal, kSeeds / 10);
}

TEST(DrawPlan, JobsAreOfEverySize) {
  std::set<int> ranks;
  std::set<std::int64_t> steps;
  std::set<bool> elastic;
  std::set<int> stages;
  std::set<bool> tiers;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Scenario scenario = load_plan(draw_plan(seed), "plan");
    ranks.insert(scenario.ranks);
    steps.insert(scenario.train.steps);
    elastic.insert(scenario.recovery.mode == RecoveryMode::kElastic);
    stages.insert(scenario.train.zero_stage);
    tiers.insert(scenario.train.checkpoint.tiers.has_value());
  }
  EXPECT_EQ(ranks, (std::set<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(steps, (std::set<std::int64_t>{2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(elastic.size(), 2u);
  EXPECT_EQ(stages.size(), 2u);
  EXPECT_EQ(tiers.size(), 2u);
}

// What nothing else would show has the guard that sees it.
TEST(DrawPlan, SilentFaultsSwitchOnTheirGuards) {
  int looked_at = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Scenario scenario = load_plan(draw_plan(seed), "plan");
    for (const Fault& fault : scenario.faults.faults) {
      const auto* flip = std::get_if<FlipFault>(&fault.kind);
      if (flip == nullptr) continue;
      ++looked_at;
      EXPECT_TRUE(scenario.train.guards.corruption.has_value()) << "seed " << seed;
      const FaultTarget target = flip->elements.target;
      const bool of_gradient = target == FaultTarget::kGradient || target == FaultTarget::kActivation;
      if (!of_gradient) continue;
      EXPECT_EQ(scenario.train.guards.recompute_every, 1) << "seed " << seed;
    }
  }
  EXPECT_GT(looked_at, 100);
}

}  // namespace
}  // namespace rehearse
