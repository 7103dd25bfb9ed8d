#pragma once

#include <cstdint>

#include "core/base/units.h"

namespace rehearse {

struct CheckpointConfig {
  std::int64_t every_steps = 0;  // 0: not by steps
  std::int64_t keep = 0;         // newest checkpoints that rotation keeps; 0: all
  Duration every_time;           // after the first step that ends so long after the last save; 0: not by time
  bool asynchronous = false;     // the files are written while training goes on
  bool any() const { return every_steps > 0 || every_time > Duration(); }
};

}  // namespace rehearse
