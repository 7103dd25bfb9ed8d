#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/kernel/kernel.h"
#include "sim/net/config.h"
#include "sim/net/fabric.h"

namespace rehearse {

// What a message costs its ends besides its bytes, around another fabric: LogGP's o and g (Alexandrov, Ionescu,
// Schauser and Scheiman, "LogGP", SPAA 1995). A rank works o on each message that it sends, before its first byte
// leaves, and o on each that it receives, after its last byte is there; and begins to work on the next one in the same
// direction no earlier than g after it began with the one before. Messages are served in the order in which they are
// sent, or arrive. So one message takes o + alpha + t(S) + o.
class OverheadFabric : public Fabric, public FabricListener, private EventSink {
 public:
  OverheadFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config, int ranks);

  // The fabric below, whose listener this is. Before the first message.
  void set_fabric(std::unique_ptr<Fabric> fabric) { fabric_ = std::move(fabric); }

  Duration latency() const override { return fabric_->latency(); }
  std::span<const LinkLoad> link_loads() const override { return fabric_->link_loads(); }

  // From the fabric below.
  void on_delivered(std::uint64_t message) override;
  void on_left(std::uint64_t message) override { listener_.on_left(message); }
  EventRecord record_of(std::uint64_t message) const override { return listener_.record_of(message); }

 protected:
  TimePoint start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) override;

 private:
  struct Sending {
    int source = 0;
    int destination = 0;
    Bytes bytes;
  };

  // When the work on a message that is ready now is done, by who can begin the next one at `free`.
  TimePoint work(TimePoint& free) const;
  void record(EventKind kind, std::uint64_t message) const;
  void on_event(std::uint64_t argument) override;

  Kernel& kernel_;
  FabricListener& listener_;
  Duration overhead_;
  Duration between_;  // from one message's beginning to the next one's
  std::unique_ptr<Fabric> fabric_;
  std::vector<TimePoint> send_free_;  // by rank
  std::vector<TimePoint> receive_free_;
  std::vector<Sending> sending_;  // by message
};

}  // namespace rehearse
