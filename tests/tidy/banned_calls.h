#pragma once

#include <vector>

#include "tests/tidy/source_text.h"
#include "tests/tidy/source_tree.h"

// Calls that would make a run depend on more than its scenario and seed: foreign random numbers, wall clocks, the
// environment, threads, containers in hash order, elementary functions that libm picks by CPU, reductions whose order
// is open. A call of the same name on an object or in a namespace of our own is none of these; a declaration neither.
//
// Names are compared, nothing is resolved: a call through a pointer or an alias is not seen.

namespace rehearse::tidy {

// One C++ file; which rules hold depends on the folder in its path.
std::vector<Finding> check_banned_calls(const SourceFile& file);

// A CMake file or the presets: flags that let the compiler change the arithmetic's bits.
std::vector<Finding> check_banned_flags(const SourceFile& file);

}  // namespace rehearse::tidy
