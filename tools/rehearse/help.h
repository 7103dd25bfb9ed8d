#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rehearse {

// The commands that there are, in the order of the help.
const std::vector<std::string>& command_names();

// What `rehearse --help` prints.
std::string general_help();
// What `rehearse COMMAND --help` prints; for one of command_names().
std::string command_help(std::string_view command);

}  // namespace rehearse
