#include <gtest/gtest.h>

#include "tests/determinism/recorded_run.h"
#include "tests/determinism/time_changes.h"

namespace rehearse::testing_determinism {
namespace {

TEST(Time, ChangesNoBitOfTheCapstone) { expect_time_changes_no_bit("capstone"); }

TEST(Time, ChangesNoBitOfDdp) { expect_time_changes_no_bit("ddp"); }

// The comparison can fail: one unit in the last place of the learning rate is a difference, and it is named.
TEST(Time, AnotherLearningRateIsNoChangeOfTime) {
  const RecordedRun base = run_recorded(shipped("capstone"), std::nullopt, 3);
  const RecordedRun other = run_recorded(shipped("capstone", {"train.adam.lr=0.005000000000000001"}), std::nullopt, 3);
  const auto difference = first_difference_of(base, other, any_state);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->step, 1) << text_of(difference);
  EXPECT_EQ(difference->component, StateComponent::kLearningRate) << text_of(difference);
}

}  // namespace
}  // namespace rehearse::testing_determinism
