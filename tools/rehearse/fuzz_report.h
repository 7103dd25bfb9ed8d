#pragma once

#include <string>

#include "tools/rehearse/console.h"
#include "tools/rehearse/fuzz.h"

namespace rehearse {

// Which kinds of faults struck in which phases, and which ways of recovery were taken in the runs in which they did;
// then what the runs came to and what was found.
std::string fuzz_text(const FuzzTotals& totals, const Style& style);
std::string fuzz_json(const FuzzTotals& totals);
// Of one plan.
std::string plan_result_text(const PlanResult& result, const Style& style);

}  // namespace rehearse
