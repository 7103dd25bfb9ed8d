#pragma once

#include <cstdint>
#include <optional>

#include "core/base/units.h"

namespace rehearse {

// A switch: one full-duplex port a rank; `latency` is one way, end to end; `bandwidth` is a port's. A message's latency
// is `latency` plus a seeded uniform draw from [0, jitter].
struct NetworkConfig {
  Duration latency;
  Bandwidth bandwidth;
  Duration jitter;
};

// The reliable transport: when it sends again, and when it gives up (transport.h).
struct TransportConfig {
  // From when a packet's last byte has left to when it is sent again; by default 4 latencies, 4 jitters and 4 times its
  // own transfer time, and at least a microsecond.
  std::optional<Duration> retransmission_timeout;
  std::int64_t backoff_ppb = 2'000'000'000;                // each further timeout is so many billionths as long
  Duration max_timeout = Duration::microseconds(100'000);  // as long as it gets; never shorter than the first
  int max_retries = 100;                                   // of one message; then the connection is broken
  bool checksums = true;                                   // false: a payload with a wrong bit is taken for right
};

}  // namespace rehearse
