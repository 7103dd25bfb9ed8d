#pragma once

#include "core/base/units.h"

namespace rehearse {

// A switch: one full-duplex port a rank; `latency` is one way, end to end; `bandwidth` is a port's. A message's latency
// is `latency` plus a seeded uniform draw from [0, jitter].
struct NetworkConfig {
  Duration latency;
  Bandwidth bandwidth;
  Duration jitter;
};

}  // namespace rehearse
