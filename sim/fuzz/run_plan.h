#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/train/recovery_policy.h"
#include "sim/cluster/training_run.h"
#include "sim/fuzz/draw_plan.h"
#include "sim/fuzz/reached.h"

namespace rehearse {

// Something that must hold of every plan's run, and did not.
struct Finding {
  std::string invariant;  // its name, in one or two words: "weights"
  std::string detail;     // what was found, in words
};

// What came of a plan.
struct PlanResult {
  std::vector<Finding> findings;  // empty: all is well
  Outcome outcome = Outcome::kDone;
  std::string reference;     // what the weights were compared with, in words: "fault-free", or why with nothing
  std::string event_digest;  // of the first run
  std::uint64_t events = 0;
  Reached reached;
};

struct RunPlanOptions {
  // Makes what decides in the runs, not in the reference, instead of the scenario's own rules: for tests that plant a
  // defect. Empty: those rules.
  std::function<std::unique_ptr<RecoveryPolicy>(const Scenario&)> make_policy;
};

// Runs a plan's scenario twice and its declared reference once, and judges it:
//   refused      the loader takes the plan
//   error        the run ends by itself, and not by an error of its input
//   progress     it ends within a number of events that grows with its steps and faults
//   outcome      it comes to its last step; or ends as its policies say, or with fewer restarts than it is ample of
//   invariants   those of every run (sim/check)
//   weights      step by step the parameters of the declared reference (declared_reference.h)
//   guards       nothing is skipped or gone back for where no fault struck numbers
//   checkpoints  what is committed and on disk at the end verifies, and is of the steps that stand, where no fault was
//                at the disk; not looked at: of which steps saves by time are
//   determinism  both runs have the same events
PlanResult run_plan(const Plan& plan, const RunPlanOptions& options = {});
PlanResult run_plan_text(const std::string& text, const std::string& source_name, const RunPlanOptions& options = {});

}  // namespace rehearse
