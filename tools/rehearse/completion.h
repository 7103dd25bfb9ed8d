#pragma once

#include <string>
#include <vector>

namespace rehearse {

// A script that completes the command's words in a shell.
std::string bash_completion();
std::string zsh_completion();

}  // namespace rehearse
