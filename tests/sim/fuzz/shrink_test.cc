// Plans are made smaller while they still fail; here by answers that no run is needed for.

#include "sim/fuzz/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"

namespace rehearse {
namespace {

bool loads(const Plan& plan) {
  try {
    load_plan(plan, "plan");
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::int64_t faults_named(const Plan& plan, const std::string& name) {
  if (plan.faults() == nullptr) return 0;
  const auto& fields = plan.faults()->fields();
  return std::count_if(fields.begin(), fields.end(), [&](const TextField& field) { return field.name == name; });
}

// The first seed whose plan has that many faults of a kind, and others.
Plan brutal_plan_with(const std::string& name, std::int64_t count) {
  for (std::uint64_t seed = 0;; ++seed) {
    Plan plan = draw_plan(seed);
    if (faults_named(plan, name) >= count && plan.faults()->fields().size() >= 6) return plan;
  }
}

TEST(Shrink, LeavesTheFaultThatMatters) {
  const Plan plan = brutal_plan_with("crash", 2);
  const StillFails fails = [](const Plan& one) { return loads(one) && faults_named(one, "crash") >= 1; };
  const Shrunk shrunk = shrink_plan(plan, fails);
  EXPECT_TRUE(fails(shrunk.plan));
  EXPECT_EQ(shrunk.plan.faults()->fields().size(), 1u) << shrunk.plan.text();
  const Scenario scenario = load_plan(shrunk.plan, "shrunk");
  EXPECT_EQ(scenario.ranks, 1) << shrunk.plan.text();
  EXPECT_EQ(scenario.train.steps, 1) << shrunk.plan.text();
  EXPECT_EQ(scenario.train.model.layers, 1);
}

TEST(Shrink, LeavesWhatOnlyFailsTogether) {
  const Plan plan = brutal_plan_with("crash", 2);
  const StillFails fails = [](const Plan& one) {
    return loads(one) && faults_named(one, "crash") >= 2 && load_plan(one, "plan").ranks >= 2;
  };
  const Shrunk shrunk = shrink_plan(plan, fails);
  EXPECT_EQ(faults_named(shrunk.plan, "crash"), 2);
  EXPECT_EQ(shrunk.plan.faults()->fields().size(), 2u);
  EXPECT_EQ(load_plan(shrunk.plan, "shrunk").ranks, 2);
}

TEST(Shrink, TheSamePlanGivesTheSameSmallerOne) {
  const Plan plan = brutal_plan_with("crash", 2);
  const StillFails fails = [](const Plan& one) { return loads(one) && faults_named(one, "crash") >= 1; };
  EXPECT_EQ(shrink_plan(plan, fails).plan.text(), shrink_plan(plan, fails).plan.text());
}

TEST(Shrink, StopsAtItsLimit) {
  const Plan plan = brutal_plan_with("crash", 2);
  ShrinkLimits limits;
  limits.most_runs = 7;
  std::int64_t asked = 0;
  const StillFails fails = [&asked](const Plan&) {
    ++asked;
    return false;
  };
  const Shrunk shrunk = shrink_plan(plan, fails, limits);
  EXPECT_EQ(asked, 7);
  EXPECT_EQ(shrunk.plan.text(), plan.text());
}

}  // namespace
}  // namespace rehearse
