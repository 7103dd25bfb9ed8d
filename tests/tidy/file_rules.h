#pragma once

#include <cstddef>
#include <vector>

#include "tests/tidy/source_text.h"
#include "tests/tidy/source_tree.h"

// What holds for one file at a time, by its text alone.

namespace rehearse::tidy {

inline constexpr int kMaxColumns = 120;
inline constexpr int kMaxSourceLines = 450;
inline constexpr std::size_t kMaxFileBytes = 5'000'000;

// .h, .cc, .proto, CMakeLists.txt: at most 120 characters a line, no tab, no blank at the end of a line, no carriage
// return, a newline at the end of the file.
std::vector<Finding> check_layout(const SourceFile& file);

// The first line of a header is #pragma once.
std::vector<Finding> check_pragma_once(const SourceFile& file);

// A .h or .cc a reader can hold: at most 450 lines.
std::vector<Finding> check_source_length(const SourceFile& file);

// Any file: at most 5 MB, and no path of the machine it was written on.
std::vector<Finding> check_contents(const SourceFile& file);

// Sources and scripts hold no reminders to finish them; an open point is an issue.
std::vector<Finding> check_reminders(const SourceFile& file);

// A scenario tells its story in the first line, and expects weights or a number.
std::vector<Finding> check_scenario(const SourceFile& file);

}  // namespace rehearse::tidy
