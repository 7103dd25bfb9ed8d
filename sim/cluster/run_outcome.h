#pragma once

#include "sim/cluster/training_run.h"
#include "sim/cluster/world.h"
#include "sim/kernel/kernel.h"

namespace rehearse {

// Writes how a run ended, and of what it failed, into its record. Throws the Error of a rank that failed for what the
// user gave it, and InputError where memory ran out.
void conclude(World& world, RunEnd end, bool interrupted, TrainingRecord& record);

}  // namespace rehearse
