#include "core/parallel/stage_units.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/core/parallel/capstone_model.h"

namespace rehearse {
namespace {

// Sizes of units from one tensor each to everything, with units that end within a block.
const std::vector<std::int64_t> kBuckets = {1, 100, 2113, 5000, 13'000, 0};

TEST(StageUnits, AreThoseWithATensorOfTheStage) {
  const ParameterLayout layout(capstone());
  for (const std::int64_t bucket : kBuckets) {
    const UnitPlan plan(layout, bucket, 3);
    const StageUnits units(layout, plan);
    for (int stage = 0; stage < layout.stages(); ++stage) {
      std::set<int> used;
      for (int t = layout.first_tensor(stage); t < layout.first_tensor(stage + 1); ++t) used.insert(plan.unit_of(t));
      std::set<int> found;
      for (int unit = units.of(stage).first; unit < units.of(stage).end; ++unit) found.insert(unit);
      EXPECT_EQ(found, used) << bucket << ", stage " << stage;
    }
  }
}

TEST(StageUnits, EveryUnitIsFinalAfterTheFirstStageOfItsTensors) {
  const ParameterLayout layout(capstone());
  for (const std::int64_t bucket : kBuckets) {
    const UnitPlan plan(layout, bucket, 3);
    const StageUnits units(layout, plan);
    int next = 0;
    for (int stage = layout.stages() - 1; stage >= 0; --stage) {
      EXPECT_EQ(units.final_after(stage).first, next);
      for (; next < units.final_after(stage).end; ++next) {
        EXPECT_EQ(layout.stage_of(plan.units()[static_cast<std::size_t>(next)].first_tensor), stage);
      }
    }
    EXPECT_EQ(next, std::ssize(plan.units()));
  }
}

// With a unit for each tensor no stages share one: the head's are kept between forward and backward, the embeddings'
// between microbatches, all others are gathered twice a microbatch.
TEST(StageUnits, GathersAreThoseOfUnitsThatTheNextStageDoesNotUse) {
  const ParameterLayout layout(capstone());
  const UnitPlan plan(layout, 1, 4);
  for (const std::int64_t microbatches : {1, 2, 5}) {
    const auto gathers = gathers_in_a_step(layout, plan, microbatches);
    for (int t = 0; t < static_cast<int>(layout.tensors().size()); ++t) {
      const int stage = layout.stage_of(t);
      const std::int64_t expected = stage == 0                     ? microbatches + 1
                                    : stage == layout.stages() - 1 ? microbatches
                                                                   : 2 * microbatches;
      EXPECT_EQ(gathers[static_cast<std::size_t>(plan.unit_of(t))], expected) << layout.tensors()[t].name;
    }
  }
  EXPECT_EQ(gathers_in_a_step(layout, UnitPlan(layout, 0, 4), 5), std::vector<std::int64_t>{1});
}

}  // namespace
}  // namespace rehearse
