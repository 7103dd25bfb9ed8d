#pragma once

#include <string>

namespace rehearse::testing_determinism {

// D1 of a shipped scenario: the program, run in processes that differ in all that a run may not depend on, gives the
// digests of a plain run. Prints how many processes were compared.
void expect_processes_agree(const std::string& name);

// The same of the scenario's newest checkpoint and the command `resume`.
void expect_resumed_processes_agree(const std::string& name);

}  // namespace rehearse::testing_determinism
