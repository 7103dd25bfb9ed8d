#pragma once

#include <cstdint>
#include <string>

#include "sim/config/scenario.h"
#include "tools/rehearse/console.h"

namespace rehearse {

// What is about to run: name and story, then seed, ranks, model, data, training, network, device, storage and
// checkpoints in a line each. `resumed_from` is the checkpoint's step, 0 for a run from the start.
std::string header_report(const Scenario& scenario, std::int64_t resumed_from, const Style& style);

// Name and story.
std::string title_report(const Scenario& scenario, const Style& style);
// The lines of it on their own, for other commands: "  model       2 layers ...".
std::string model_line(const Scenario& scenario);
std::string layout_line(const Scenario& scenario);
std::string network_field(const Scenario& scenario);
// Where the ranks live, if not each on a host of its own: " on 2 hosts in 1 rack".
std::string hosts_text(const Scenario& scenario);
std::string field_line(const std::string& name, const std::string& value);
// The line above a table, after a blank one.
std::string section_title(const std::string& text, const Style& style);

inline constexpr std::size_t kReportColumns = 100;

}  // namespace rehearse
