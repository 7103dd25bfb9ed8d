#pragma once

#include <cstdint>

namespace rehearse {

// The sizes of a MiniGPT.
struct ModelConfig {
  std::int64_t layers = 0;   // L
  std::int64_t embed = 0;    // E
  std::int64_t heads = 0;    // H, divides E
  std::int64_t vocab = 0;    // V
  std::int64_t context = 0;  // T, positions of every sequence

  std::int64_t head_dim() const { return embed / heads; }
  bool operator==(const ModelConfig&) const = default;
};

// Throws InputError naming the field, the value found and the values allowed: each size from 1 to 2^31 - 1, heads that
// divide embed, and a parameter count below 2^48.
void validate(const ModelConfig& config);

}  // namespace rehearse
