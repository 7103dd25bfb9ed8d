#pragma once

#include "core/base/units.h"

namespace rehearse {

// A file system shared by all ranks: every operation takes `latency`, and reads and writes their bytes at `bandwidth`
// on top (each rank its own stream; no contention).
struct StorageConfig {
  Duration latency;
  Bandwidth bandwidth;
};

}  // namespace rehearse
