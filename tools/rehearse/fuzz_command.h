#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/rehearse/command_line.h"

namespace rehearse {

// The options of `fuzz`: "--seeds".
std::vector<std::string> fuzz_option_names();

// The words after `fuzz`; nothing where help is asked for. Throws InputError that says what is wrong and what would be
// right.
std::optional<FuzzCommand> parse_fuzz(const std::vector<std::string>& words);

}  // namespace rehearse
