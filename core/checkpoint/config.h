#pragma once

#include <cstdint>

namespace rehearse {

struct CheckpointConfig {
  std::int64_t every_steps = 0;  // 0: no checkpoints
  std::int64_t keep = 0;         // newest checkpoints that rotation keeps; 0: all
};

}  // namespace rehearse
