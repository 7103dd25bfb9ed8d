#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "sim/kernel/event_record.h"

namespace rehearse {

// Hears when messages reach their destination.
class FabricListener {
 public:
  virtual ~FabricListener() = default;
  virtual void on_delivered(std::uint64_t message) = 0;
  // A record of the message, without a kind.
  virtual EventRecord record_of(std::uint64_t message) const = 0;
};

// How long messages take: the model of links, ports and contention behind the simulated Communicator. Times only; the
// data travel beside it.
class Fabric {
 public:
  virtual ~Fabric() = default;
  // Sends `bytes` from `source` to another rank now; `message` comes back in on_delivered. Returns when the last byte
  // has left the source.
  virtual TimePoint send(int source, int destination, Bytes bytes, std::uint64_t message) = 0;
  // The time a message of no bytes takes when nothing is in its way.
  virtual Duration latency() const = 0;
};

}  // namespace rehearse
