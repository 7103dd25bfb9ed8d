#pragma once

#include <vector>

#include "core/parallel/data_parallel.h"
#include "core/train/observer.h"

namespace rehearse {

// Adds up in `report` what the ranks said of a step, in rank order (design section 7); returns the divisor of the
// average.
double collect(const std::vector<StepSums>& sums, StepReport& report);

}  // namespace rehearse
