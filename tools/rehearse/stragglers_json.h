#pragma once

#include <vector>

#include "sim/cluster/stragglers.h"
#include "tools/rehearse/json.h"

namespace rehearse {

// straggler_lines for summary.json: "lemons", "slow_ranks" and "slow_links", each where there are any.
void add_stragglers(const std::vector<StruckLemon>& lemons, const Stragglers& stragglers, Json& json);

}  // namespace rehearse
