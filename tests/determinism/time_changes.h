#pragma once

#include <string>
#include <vector>

namespace rehearse::testing_determinism {

// D2 of a shipped scenario with overrides: another network, device, straggler or disk, one after the other, gives other
// times and events and the same states, weights and checkpoints. Prints how many changes and states were compared.
void expect_time_changes_no_bit(const std::string& name, const std::vector<std::string>& overrides = {});

}  // namespace rehearse::testing_determinism
