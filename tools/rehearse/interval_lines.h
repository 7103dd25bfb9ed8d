#pragma once

#include <optional>
#include <string>

#include "sim/cluster/interval_report.h"
#include "tools/rehearse/console.h"

namespace rehearse {

// The cadence of saves beside Young's and Daly's, for people; empty where there is nothing to say.
std::string interval_lines(const std::optional<IntervalReport>& report, const Style& style);

// A length of time with its best unit and three digits: "3.09 h". In double: a mean time between failures may be longer
// than virtual time.
std::string span_text(double seconds);

// 0.25 as "25.00 %"
std::string percent(double part);

}  // namespace rehearse
