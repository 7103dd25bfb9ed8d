#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/train/config.h"

namespace rehearse {

// Bytes of a rank's parameters and gradients: what it keeps, and the most that it holds at a moment.
struct StateBytes {
  Bytes parameters;
  Bytes gradients;
  Bytes most_parameters;
  Bytes most_gradients;
  // Of units that are whole for a while.
  Bytes passing() const { return most_parameters - parameters + (most_gradients - gradients); }
};

// Kept, with P parameters in units padded to 16 ranks and s bytes an element: s P of each; gradients s P / N from
// zero_stage 2 on, parameters with 3 (Rajbhandari et al., arXiv:1910.02054, section 5). Computing gradients twice
// (guards.recompute_every) keeps s P more. The most is that and the units that are whole for a while, by
// core/parallel/unit_flow.h.
StateBytes expected_state_bytes(const TrainConfig& config, int ranks);

// What breaks the formula, or nothing. Where gradients are computed twice in some steps, the most is that of such a
// step, and found may be less: it may not have come yet.
//
// Does not cover: ranks that finished no step, jobs that went on with fewer ranks, and memory that is not in Buffers.
std::optional<std::string> check_state_memory(const TrainConfig& config, const std::vector<StateBytes>& by_rank);

}  // namespace rehearse
