#pragma once

#include <string>
#include <vector>

#include "sim/cluster/stragglers.h"
#include "tools/rehearse/console.h"

namespace rehearse {

// Who failed more often and who was slower than the others, as the run showed it, for people; empty where nobody was.
std::string straggler_lines(const std::vector<StruckLemon>& lemons, const Stragglers& stragglers, const Style& style);

}  // namespace rehearse
