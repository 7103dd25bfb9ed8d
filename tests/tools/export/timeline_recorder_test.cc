#include "tools/export/timeline_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/config/loader.h"
#include "tests/tools/rehearse/run_in_process.h"
#include "tools/export/lanes.h"

namespace rehearse {
namespace {

Timeline timeline_of(const Scenario& scenario, std::size_t most) {
  TimelineRecorder recorder(scenario, std::nullopt, most);
  TrainingHooks hooks;
  hooks.listeners = {&recorder};
  hooks.activities = &recorder;
  hooks.on_step = [&](const StepRecord& step, std::int64_t) { recorder.on_step(step); };
  return recorder.finish(run_training(scenario, std::nullopt, hooks));
}

std::map<std::int64_t, int> slices_by_step(const Timeline& timeline) {
  std::map<std::int64_t, int> steps;
  for (const Slice& slice : timeline.slices) ++steps[slice.step];
  return steps;
}

TEST(TimelineRecorder, GivesUpWholeStepsWhereAllAreTooMany) {
  const Scenario scenario = load_scenario(testing_command::shipped_scenario("capstone"));
  const Timeline whole = timeline_of(scenario, TimelineRecorder::kMost);
  ASSERT_GT(whole.slices.size(), 2000U);
  const Timeline bounded = timeline_of(scenario, 1000);
  EXPECT_LE(bounded.slices.size(), 1000U);
  EXPECT_EQ(bounded.dropped, 0U);
  EXPECT_GT(bounded.stride, 1);
  const auto all = slices_by_step(whole);
  const auto kept = slices_by_step(bounded);
  EXPECT_GE(kept.size(), 2U);
  for (const auto& [step, count] : kept) {
    EXPECT_EQ(step % bounded.stride, 0);
    EXPECT_EQ(count, all.at(step)) << "step " << step << " is not whole";
  }
}

TEST(TimelineRecorder, CountsWhatItCutsOffAStepThatIsTooLarge) {
  const Scenario scenario = load_scenario(testing_command::shipped_scenario("capstone"));
  const Timeline bounded = timeline_of(scenario, 20);
  EXPECT_LE(bounded.slices.size(), 20U);
  EXPECT_GT(bounded.dropped, 0U);
}

TEST(TimelineRecorder, ShowsWhatADeathCutsOff) {
  const Timeline timeline =
      timeline_of(load_scenario(testing_command::shipped_scenario("crash_in_collective")), TimelineRecorder::kMost);
  std::set<int> cut;
  for (const Slice& slice : timeline.slices) {
    if (slice.cut && slice.track == TrackKind::kCollectives) cut.insert(slice.rank);
  }
  EXPECT_EQ(cut.size(), 4U);
}

TEST(Lanes, WhatOverlapsStandsOnLanesOfItsOwn) {
  const auto slice = [](std::int64_t begin, std::int64_t end) {
    return JobSlice{TimePoint::at(Duration::picoseconds(begin)), TimePoint::at(Duration::picoseconds(end)), ""};
  };
  const std::vector<JobSlice> slices = {slice(0, 10), slice(5, 8), slice(10, 12), slice(6, 7), slice(8, 9)};
  std::vector<int> lanes;
  assign_lanes(slices, lanes, [](const JobSlice&) { return std::int64_t{0}; });
  EXPECT_THAT(lanes, testing::ElementsAre(0, 1, 0, 2, 1));
}

}  // namespace
}  // namespace rehearse
