#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cost/collective_bench.h"
#include "tools/rehearse/command_line.h"

namespace rehearse {

// The words of `rehearse cost --collectives`, understood.
struct CollectiveTable {
  std::vector<BenchedAlgorithm> algorithms;
  std::vector<Bytes> sizes;
};
// For so many ranks. Throws InputError that says what was found and what is allowed.
CollectiveTable collective_table(const CollectiveWords& words, int ranks, const AlgorithmOptions& options);

}  // namespace rehearse
