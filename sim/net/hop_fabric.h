#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "sim/kernel/kernel.h"
#include "sim/net/config.h"
#include "sim/net/fabric.h"
#include "sim/net/pair_order.h"
#include "sim/net/routes.h"

namespace rehearse {

// The ports of a PortFabric at every link of a topology: each serves messages whole, in the order in which their first
// bytes come to it, ties in the order of the events that brought them there. A link holds a message for its transfer
// time, and no shorter than until its last byte is there to be sent. The first byte is at the next link when it has
// passed this one and its latency (cut-through), or, with store-and-forward, the last. So an idle network takes alpha +
// t(S) over its narrowest link, or with store-and-forward alpha + the t(S) of all links; a topology of one switch gives
// the times of a PortFabric. Jitter is added on the first link.
class HopFabric : public Fabric, private EventSink {
 public:
  // `stream` is the network's.
  HopFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config,
            std::shared_ptr<const Topology> topology, const RandomStream& stream);

  Duration latency() const override { return config_.latency; }
  std::span<const LinkLoad> link_loads() const override { return loads_; }

 protected:
  TimePoint start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) override;

 private:
  struct Underway {
    std::uint64_t message = 0;
    Bytes bytes;
    std::size_t next = 0;  // link of the route
    TimePoint last_byte;   // where it is, or will be
    std::vector<int> route;
  };

  std::uint32_t take_slot();
  // Serves the message at its next link, where its first byte is at `now`; returns when the last byte has passed.
  TimePoint serve(std::uint32_t slot, TimePoint now);
  // Has it come to the next link, or be there.
  void go_on(std::uint32_t slot, TimePoint first_byte);
  void on_event(std::uint64_t argument) override;

  Kernel& kernel_;
  FabricListener& listener_;
  NetworkConfig config_;
  std::shared_ptr<const Topology> topology_;
  Routes routes_;
  PairOrder arrivals_;
  std::vector<TimePoint> free_;  // by link
  // By source: the latest first byte behind a first link, or last one where whole messages go on; with jitter alone.
  std::vector<TimePoint> last_begun_;
  std::vector<LinkLoad> loads_;
  std::vector<Underway> underway_;  // slots
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace rehearse
