#pragma once

#include <string>
#include <vector>

#include "tools/rehearse/console.h"

namespace rehearse {

// The command: what `rehearse WORD...` does, and its exit code (design section 4). Errors are one line on console.err.
int rehearse_main(const std::vector<std::string>& words, Console& console);

}  // namespace rehearse
