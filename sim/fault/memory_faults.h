#pragma once

#include <string>

#include "core/train/disturbance.h"
#include "sim/fault/config.h"

namespace rehearse {

// What faults of numbers do to a rank's memory; each returns what it did, in words. Requires elements that the rank
// has: the loader has seen to it.
// Nothing is done, and nothing said, where the rank holds none of the elements.
std::string apply(const FlipFault& flip, const StateMemory& memory);
std::string apply(const OverwriteFault& overwrite, const StateMemory& memory);
// The whole gradient; nothing is done for a loss, which is in no memory here.
std::string apply(const SpikeFault& spike, const StateMemory& memory);

}  // namespace rehearse
