#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/units.h"

namespace rehearse {

class Topology;

// How messages share links.
enum class FabricKind : std::uint8_t {
  kPorts,      // each link serves them one after the other (port_fabric.h, hop_fabric.h)
  kMaxMin,     // those under way share each link fairly (max_min_fabric.h)
  kAlphaBeta,  // nothing is ever in their way (alpha_beta_fabric.h)
  kIdeal,      // they take no time
};

// Without a topology a switch: one full-duplex port a rank; `latency` is one way, end to end; `bandwidth` is a port's.
// A message's latency is that of its way plus a seeded uniform draw from [0, jitter]. With a topology `latency` is what
// the news of a broken connection takes.
struct NetworkConfig {
  Duration latency;
  Bandwidth bandwidth;
  Duration jitter;
  // What a rank works on each message that it sends or receives, and at least between two in one direction
  // (overhead_fabric.h).
  Duration overhead;
  Duration gap;
  FabricKind fabric = FabricKind::kPorts;
  std::shared_ptr<const Topology> topology;  // null: a switch

  // The switch whose links can fail.
  bool is_plain() const {
    return fabric == FabricKind::kPorts && topology == nullptr && overhead == Duration() && gap == Duration();
  }
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
