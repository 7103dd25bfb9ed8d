#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "core/base/units.h"
#include "sim/kernel/event_record.h"

namespace rehearse {

// What Fabric::send returns where only what else is sent decides when the last byte leaves: the fabric then says
// on_left() when it does, before the message is delivered.
inline constexpr TimePoint kLeavesLater =
    TimePoint::at(Duration::picoseconds(std::numeric_limits<std::int64_t>::max()));

// Hears when messages reach their destination.
class FabricListener {
 public:
  virtual ~FabricListener() = default;
  virtual void on_delivered(std::uint64_t message) = 0;
  // It will be delivered soon (EventSink::expect).
  virtual void expect_delivery(std::uint64_t /*message*/) const {}
  // The last byte has left the source, of a message for which send() returned kLeavesLater. Sends nothing before it
  // returns.
  virtual void on_left(std::uint64_t /*message*/) {}
  // A record of the message, without a kind.
  virtual EventRecord record_of(std::uint64_t message) const = 0;

  // From a reliable transport. The message, which is about to be delivered, has one bit of its payload inverted, and
  // nothing noticed; bit 0 is the lowest of the first byte.
  virtual void on_corrupted(std::uint64_t /*message*/, std::uint64_t /*bit*/) {}
  // The message will never be delivered: its receiver's process is of a newer generation, or its connection broken.
  virtual void on_dropped(std::uint64_t /*message*/) {}
  // The two ranks cannot reach each other any more in this generation.
  virtual void on_broken(int /*source*/, int /*destination*/, std::uint32_t /*generation*/) {}
};

// What befalls a message on its link, beyond the fabric's ordinary times.
struct PathEffect {
  Duration added;  // so much later at the receiver's port, and what is behind it on the link no earlier
  Duration aside;  // so much later again, while what is behind it overtakes it
  std::int64_t bandwidth_ppb = 1'000'000'000;  // of the ports' bandwidth, for this message
  bool lost = false;                           // it leaves its sender and never arrives
  // A second one is made under way, that arrives as `copy` so much later.
  bool copied = false;
  Duration copy_after;
  std::uint64_t copy = 0;
};

// What a link has carried.
struct LinkLoad {
  std::int64_t messages = 0;
  Bytes bytes;
  Duration busy;  // with at least one message
};

// How long messages take: the model of links, ports and contention behind the simulated Communicator. Times only; the
// data travel beside it.
class Fabric {
 public:
  virtual ~Fabric() = default;
  // Sends `bytes` from `source` to another rank now; `message` comes back in on_delivered. Returns when the last byte
  // has left the source.
  TimePoint send(int source, int destination, Bytes bytes, std::uint64_t message) {
    return start(source, destination, bytes, message, nullptr);
  }
  // The same over a disturbed link.
  TimePoint send(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect& effect) {
    return start(source, destination, bytes, message, &effect);
  }
  // The time a message of no bytes takes when nothing is in its way.
  virtual Duration latency() const = 0;

  // By the topology's links; empty where the fabric has none.
  virtual std::span<const LinkLoad> link_loads() const { return {}; }

  // A process of `generation` now runs on the rank.
  virtual void on_started(int /*rank*/, std::uint32_t /*generation*/) {}
  // The rank's host is gone: it neither sends nor answers until a process is started again.
  virtual void on_host_lost(int /*rank*/) {}

 protected:
  // `effect` is null for an undisturbed link.
  virtual TimePoint start(int source, int destination, Bytes bytes, std::uint64_t message,
                          const PathEffect* effect) = 0;
};

}  // namespace rehearse
