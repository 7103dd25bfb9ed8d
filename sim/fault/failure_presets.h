#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/fault/failure_rates.h"

namespace rehearse {

// A published rate of failures by its name: llama3, rsc1, opt175b; failure_presets.cc has sources and derivations.
// False for an unknown name.
bool find_failure_preset(std::string_view name, FailureRate& rate);
std::vector<std::string> failure_preset_names();

}  // namespace rehearse
