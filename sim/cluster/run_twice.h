#pragma once

#include "sim/cluster/training_run.h"

namespace rehearse {

// Runs the scenario twice at the same time in this process, from different heap states, and compares every record of
// the second run with the first's as they go (D1). Hooks see the first run alone. Where the two part the second
// stops, and the first's record has it as what it is: `second_run`.
TrainingRecord run_twice(const Scenario& scenario, const std::optional<ResumeFrom>& resume, const TrainingHooks& hooks);

}  // namespace rehearse
