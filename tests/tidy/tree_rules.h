#pragma once

#include <vector>

#include "tests/tidy/source_text.h"
#include "tests/tidy/source_tree.h"

// What holds between files.

namespace rehearse::tidy {

// Every *_test.cc is named in the CMakeLists.txt of its folder. (The configure step refuses others too; this holds as
// well for a build folder configured without tests.)
std::vector<Finding> check_tests_are_registered(const SourceTree& tree);

// Every folder with files under core, sim, scenarios, tests and tools has a README.md. Excepted: data below tests/data,
// and a test folder that mirrors a folder with a README (tests/core/base is described by core/base).
std::vector<Finding> check_folders_have_readmes(const SourceTree& tree);

// scenarios/README.md names every scenario, as `name`, and no other.
std::vector<Finding> check_scenarios_are_listed(const SourceTree& tree);

}  // namespace rehearse::tidy
