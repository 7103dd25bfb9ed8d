#pragma once

#include <string>
#include <vector>

#include "tests/determinism/edited_checkpoint.h"
#include "tests/determinism/recorded_run.h"

namespace rehearse::testing_determinism {

// An uninterrupted run of a shipped scenario, and what becomes of it where it continues from its checkpoint, as it is
// or edited.
class ResumedJob {
 public:
  // `step` has a checkpoint.
  ResumedJob(const std::string& name, const std::vector<std::string>& overrides, std::int64_t step);

  const Scenario& scenario() const { return scenario_; }
  const RecordedRun& run() const { return run_; }
  EditedCheckpoint edit() const { return EditedCheckpoint(checkpoint_); }

  // Continues for one step; the first state after the checkpoint that is not the uninterrupted run's.
  std::optional<StateDifference> difference_after(const ResumeFrom& resume) const;
  // The same of the parameters that it starts with.
  std::optional<StateDifference> difference_at_start(const ResumeFrom& resume) const;
  // What the loader says of a checkpoint that it refuses.
  std::string refusal_of(const ResumeFrom& resume) const;

 private:
  Scenario scenario_;
  RecordedRun run_;
  CheckpointRecord checkpoint_;
};

// Both runs have the state, it differs, and it is this one; tensor -1 for a number.
void expect_named(const std::optional<StateDifference>& found, std::int64_t step, StateComponent component, int rank,
                  int tensor);

}  // namespace rehearse::testing_determinism
