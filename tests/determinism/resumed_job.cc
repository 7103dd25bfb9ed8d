#include "tests/determinism/resumed_job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/check.h"
#include "core/base/error.h"

namespace rehearse::testing_determinism {

ResumedJob::ResumedJob(const std::string& name, const std::vector<std::string>& overrides, std::int64_t step)
    : scenario_(shipped(name, overrides)), run_(run_recorded(scenario_)) {
  const auto& all = run_.record.checkpoints;
  const auto found = std::find_if(all.begin(), all.end(), [step](const auto& one) { return one.step == step; });
  CHECK(found != all.end());
  checkpoint_ = *found;
}

std::optional<StateDifference> ResumedJob::difference_after(const ResumeFrom& resume) const {
  const std::int64_t next = resume.step + 1;
  const RecordedRun continued = run_recorded(scenario_, resume, next);
  return first_difference_of(run_, continued, [next](const EventRecord& state) { return state.step == next; });
}

std::optional<StateDifference> ResumedJob::difference_at_start(const ResumeFrom& resume) const {
  const RecordedRun continued = run_recorded(scenario_, resume, resume.step + 1);
  return first_difference_of(run_, continued, [&resume](const EventRecord& state) {
    return state.step == resume.step && state.component == StateComponent::kParameters;
  });
}

std::string ResumedJob::refusal_of(const ResumeFrom& resume) const {
  try {
    run_recorded(scenario_, resume);
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

void expect_named(const std::optional<StateDifference>& found, std::int64_t step, StateComponent component, int rank,
                  int tensor) {
  ASSERT_TRUE(found.has_value());
  ASSERT_TRUE(found->a.has_value() && found->b.has_value()) << text_of(found);
  EXPECT_EQ(found->step, step) << text_of(found);
  EXPECT_EQ(found->component, component) << text_of(found);
  EXPECT_EQ(found->rank, rank) << text_of(found);
  EXPECT_EQ(found->tensor, tensor) << text_of(found);
}

}  // namespace rehearse::testing_determinism
