#pragma once

#include <string>

namespace rehearse {

// What in this process could explain that a run differs from one that was recorded elsewhere.

// The linker's build id of the program, in hex: equal for equal binaries. "unknown" where there is none.
std::string build_id();
// The processor's name.
std::string cpu_name();

}  // namespace rehearse
