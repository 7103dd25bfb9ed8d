#pragma once

#include "sim/cluster/training_run.h"
#include "sim/cluster/world.h"
#include "sim/kernel/kernel.h"

namespace rehearse {

// Writes how a run ended, and of what it failed, into its record. Throws the Error of a rank that failed for what the
// user gave it, and InputError where memory ran out.
void conclude(World& world, RunEnd end, bool interrupted, TrainingRecord& record);

// Adds the links to the supervisor that were out of order up to the run's end to the faults, and later ones to those
// that did not strike. Nothing happens in the moment that they are.
void tell_supervisor_links(const ControlLinks& links, TimePoint end, TrainingRecord& record);

}  // namespace rehearse
