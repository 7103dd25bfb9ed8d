#pragma once

#include <initializer_list>
#include <string>

#include "sim/fuzz/dice.h"
#include "sim/fuzz/job_shape.h"

namespace rehearse {

// An `at` in one of these phases of any step: most strike once, some in several steps with a probability of their own.
TextGroup draw_at(const JobShape& shape, Dice& dice, std::initializer_list<const char*> phases);
// The phases that a crash may come in: all that this job has.
TextGroup draw_any_at(const JobShape& shape, Dice& dice);
// A time while the job runs, or a while after.
std::string draw_time(const JobShape& shape, Dice& dice);

}  // namespace rehearse
