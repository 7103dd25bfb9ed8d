#pragma once

#include <string>
#include <string_view>

#include "sim/config/scenario.h"
#include "tools/rehearse/command_line.h"
#include "tools/rehearse/console.h"

namespace rehearse {

// What `rehearse inspect` prints of each kind of thing. All throw InputError where the thing is damaged.
std::string inspect_checkpoint(const std::string& path, Format format, const Style& style);
std::string inspect_tensors(std::string_view contents, const std::string& path, Format format, const Style& style);
std::string inspect_scenario(const Scenario& scenario, Format format, const Style& style);

}  // namespace rehearse
