#pragma once

#include <string>

namespace rehearse {

// A word as a POSIX shell reads it back.
std::string shell_word(const std::string& word);

}  // namespace rehearse
