#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/cluster/training_run.h"
#include "sim/config/scenario.h"

namespace rehearse {

// One expectation or invariant, and whether it held.
struct Verdict {
  std::string name;  // the field in `expect`, or the invariant's name
  bool held = false;
  std::string detail;  // what was found, in words
};

// Judges a finished run by what its scenario expects and by the invariants of every run. May run further simulations:
// resume_from continues from that step's checkpoint in a fresh world and compares parameters, losses and checkpoints;
// same_weights_as runs the scenario it names.
std::vector<Verdict> judge(const Scenario& scenario, const TrainingRecord& record, const TrainingHooks& hooks = {});

// Of a run of either kind: the expectations on its end, on its restarts, on its last step and its events, on the causes
// of its recoveries and of its end, and on work that was lost.
void judge_outcome(const Expectations& expect, Outcome outcome, const std::string& failure,
                   std::vector<Verdict>& verdicts);
void judge_restarts(const Expectations& expect, std::int64_t restarts, std::vector<Verdict>& verdicts);
void judge_final_step(const Expectations& expect, std::int64_t last, std::vector<Verdict>& verdicts);
void judge_event_digest(const Expectations& expect, const std::string& found, std::vector<Verdict>& verdicts);
void judge_cause(const Expectations& expect, const std::string& failure, const std::vector<RecoveryRecord>& recoveries,
                 std::vector<Verdict>& verdicts);
void judge_work(const Expectations& expect, std::int64_t lost_steps, double goodput, std::vector<Verdict>& verdicts);

// 0, 1, 3 or 130, by design section 4.
ExitCode exit_code_of(const TrainingRecord& record, const std::vector<Verdict>& verdicts);

}  // namespace rehearse
