#pragma once

#include <string>
#include <vector>

#include "sim/config/scenario.h"

namespace rehearse {

// What is expected of numbers (losses, weights, digests that they are part of), which a run in mode COST has not, and
// where faults of numbers or of bytes at rest are planned, what may come of them: the fields that are set, by name.
std::vector<std::string> number_expectations(const Scenario& scenario);
// The others.
Expectations without_number_expectations(const Scenario& scenario);

}  // namespace rehearse
