// Fuzzing finds a recovery that is wrong, by the invariant that should, and makes the plan small that shows it.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/train/recovery_policy.h"
#include "sim/fuzz/run_plan.h"
#include "sim/fuzz/shrink.h"

namespace rehearse {
namespace {

// The scenario's rules; who derives from it breaks one.
class RulesWithADefect : public StandardPolicy {
 public:
  explicit RulesWithADefect(const Scenario& scenario)
      : StandardPolicy(scenario.train.guards, scenario.recovery.max_restarts, scenario.recovery.restart_delay) {}
};

// Sees that memory changed, and goes on.
class IgnoresCorruption : public RulesWithADefect {
 public:
  using RulesWithADefect::RulesWithADefect;
  Judgement judge(const StepReport& report, const GuardHistory& history, std::int64_t rollbacks) const override {
    StepReport blind = report;
    blind.changed_state.clear();
    blind.disputes.clear();
    return RulesWithADefect::judge(blind, history, rollbacks);
  }
};

// Gives a job up at its first failure.
class GivesUp : public RulesWithADefect {
 public:
  using RulesWithADefect::RulesWithADefect;
  RestartDecision on_failure(const JobFailure&) const override { return {}; }
};

template <class Policy>
RunPlanOptions with() {
  RunPlanOptions options;
  options.make_policy = [](const Scenario& scenario) { return std::make_unique<Policy>(scenario); };
  return options;
}

bool fails(const Plan& plan, const RunPlanOptions& options, const std::string& invariant) {
  const PlanResult result = run_plan(plan, options);
  return std::any_of(result.findings.begin(), result.findings.end(),
                     [&](const Finding& finding) { return finding.invariant == invariant; });
}

std::optional<Plan> first_failing(const RunPlanOptions& options, const std::string& invariant, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Plan plan = draw_plan(seed);
    if (fails(plan, options, invariant)) return plan;
  }
  return std::nullopt;
}

void expect_found_and_shrunk(const RunPlanOptions& options, const std::string& invariant, std::size_t faults) {
  const std::optional<Plan> plan = first_failing(options, invariant, 300);
  ASSERT_TRUE(plan.has_value()) << "not found by " << invariant;
  EXPECT_TRUE(run_plan(*plan).findings.empty()) << "fails without the defect, too";
  const StillFails still_fails = [&](const Plan& one) { return fails(one, options, invariant); };
  const Shrunk shrunk = shrink_plan(*plan, still_fails);
  ASSERT_NE(shrunk.plan.faults(), nullptr) << shrunk.plan.text();
  EXPECT_LE(shrunk.plan.faults()->fields().size(), faults) << shrunk.plan.text();
  EXPECT_LE(shrunk.plan.text().size(), plan->text().size());
  EXPECT_TRUE(still_fails(shrunk.plan)) << shrunk.plan.text();
  EXPECT_TRUE(run_plan(shrunk.plan).findings.empty()) << shrunk.plan.text();
}

TEST(PlantedDefect, CorruptionThatIsIgnoredChangesTheWeights) {
  expect_found_and_shrunk(with<IgnoresCorruption>(), "weights", 1);
}

TEST(PlantedDefect, AJobThatIsGivenUpTooEarlyDoesNotComeToItsEnd) {
  expect_found_and_shrunk(with<GivesUp>(), "outcome", 1);
}

}  // namespace
}  // namespace rehearse
