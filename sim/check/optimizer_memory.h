#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/train/config.h"

namespace rehearse {

// Bytes of optimizer state a rank must hold: master weights and two moments of P parameters in units padded to 16
// ranks, 3 * size(dtype) * P / ranks with ZeRO-1 (12 P / N in float32), 3 * size(dtype) * P with zero_stage 0.
Bytes expected_optimizer_bytes(const TrainConfig& config, int ranks);

// What breaks the formula, or nothing: every rank's account holds exactly those bytes.
//
// Does not cover: memory that is not in Buffers.
std::optional<std::string> check_optimizer_memory(const TrainConfig& config,
                                                  const std::vector<Bytes>& optimizer_by_rank,
                                                  const std::vector<int>& earlier_ranks = {});

}  // namespace rehearse
