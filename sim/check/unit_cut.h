#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/model/layout.h"
#include "core/train/config.h"

namespace rehearse {

// A unit of a model's state: elements with their padding, and the stages that have a tensor in it.
struct PaddedUnit {
  std::int64_t padded = 0;
  std::set<int> stages;
};

// The cut of the model's state into units for so many ranks, from design section 7. Written apart from core/parallel on
// purpose: memory is held to it.
std::vector<PaddedUnit> cut_units(const ParameterLayout& layout, const TrainConfig& config, int ranks);

}  // namespace rehearse
