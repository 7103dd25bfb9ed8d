#pragma once

#include <optional>

#include "core/base/units.h"

namespace rehearse {

// A file system shared by all ranks: every operation takes `latency`, and reads and writes their bytes at `bandwidth`
// on top (each rank its own stream; no contention). It holds `capacity` bytes of files; without one it never fills.
struct StorageConfig {
  Duration latency;
  Bandwidth bandwidth;
  std::optional<Bytes> capacity = std::nullopt;
};

}  // namespace rehearse
