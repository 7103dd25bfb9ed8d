#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "sim/cluster/training_run.h"
#include "sim/config/scenario.h"

namespace rehearse {

// What the parameters of a run must be after each step, whatever happened on the way.
struct DeclaredReference {
  std::string words;                  // "fault-free"
  std::vector<Digest128> parameters;  // by step, from 1; as StepRecord has them
  std::string weights_sha256;
  std::string problem;  // why the reference itself did not come to its end, or why there is none
  bool none = false;    // nothing is declared for such a run
};

// Runs the reference of a run that came to its end: the same job without faults, which does on purpose what the record
// says of the steps that stand. It leaves out the steps that were skipped, and goes back and leaves out the batches
// that were; multiplies learning rates as faults did; and from where the job went on with fewer ranks it continues,
// from its own checkpoint of that step, resharded to as many. For most runs that is the job without faults and nothing
// else.
//
// Does not cover: whether it was right to skip or to go back (the guards' findings are judged by themselves), and a job
// with fewer ranks that also left out batches, for which nothing is declared.
DeclaredReference run_declared_reference(const Scenario& scenario, const TrainingRecord& record);

}  // namespace rehearse
