#pragma once

#include <cstdint>
#include <string>

#include "tools/rehearse/command_line.h"

// What stands behind an option, read. Each throws InputError that names command and option, what was found and what is
// allowed.

namespace rehearse {

[[noreturn]] void refuse(const std::string& command, const std::string& what);

std::uint64_t parse_seed(const std::string& command, const std::string& text, const std::string& option = "--seed");
// Of --jobs.
int parse_jobs(const std::string& command, const std::string& text);
// "3..7", of steps from 1.
ExportOptions::Steps parse_steps(const std::string& command, const std::string& text);
// "path=a,b,c".
Sweep parse_sweep(const std::string& command, const std::string& text);
// "1..16", into the sweep.
void parse_seeds(const std::string& command, const std::string& text, Sweep& sweep);

}  // namespace rehearse
