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

// Nothing is ever in a message's way, neither others nor its own sender's: it takes the latencies of its route and its
// transfer time over the narrowest link. Only those of one source and destination keep their order.
class AlphaBetaFabric : public Fabric, private EventSink {
 public:
  // `stream` is the network's.
  AlphaBetaFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config,
                  std::shared_ptr<const Topology> topology, const RandomStream& stream);

  Duration latency() const override { return config_.latency; }
  std::span<const LinkLoad> link_loads() const override { return loads_; }

 protected:
  TimePoint start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) override;

 private:
  void on_event(std::uint64_t message) override { listener_.on_delivered(message); }

  Kernel& kernel_;
  FabricListener& listener_;
  NetworkConfig config_;
  std::shared_ptr<const Topology> topology_;
  Routes routes_;
  PairOrder arrivals_;
  std::vector<int> route_;
  std::vector<LinkLoad> loads_;  // `busy` adds up what messages would take alone
};

// Messages take no time at all.
class IdealFabric : public Fabric, private EventSink {
 public:
  IdealFabric(Kernel& kernel, FabricListener& listener) : kernel_(kernel), listener_(listener) {}
  Duration latency() const override { return Duration(); }

 protected:
  TimePoint start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) override;

 private:
  void on_event(std::uint64_t message) override { listener_.on_delivered(message); }

  Kernel& kernel_;
  FabricListener& listener_;
};

}  // namespace rehearse
