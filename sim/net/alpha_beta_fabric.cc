#include "sim/net/alpha_beta_fabric.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {

AlphaBetaFabric::AlphaBetaFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config,
                                 std::shared_ptr<const Topology> topology, const RandomStream& stream)
    : kernel_(kernel),
      listener_(listener),
      config_(config),
      topology_(std::move(topology)),
      routes_(*topology_, stream.fork("routes")),
      arrivals_(config.jitter, topology_->ranks(), stream),
      loads_(static_cast<std::size_t>(topology_->links())) {}

TimePoint AlphaBetaFabric::start(int source, int destination, Bytes bytes, std::uint64_t message,
                                 const PathEffect* effect) {
  CHECK(effect == nullptr);
  routes_.find(source, destination, 0, route_);
  Duration latency = arrivals_.draw(source);
  Duration transfer;
  for (const int index : route_) {
    const TopologyLink& link = topology_->link(index);
    const Duration alone = transfer_time(bytes, link.bandwidth);
    latency = latency + link.latency;
    transfer = std::max(transfer, alone);
    LinkLoad& load = loads_[static_cast<std::size_t>(index)];
    ++load.messages;
    load.bytes += bytes;
    load.busy = load.busy + alone;
  }
  const TimePoint left = kernel_.now() + transfer;
  kernel_.schedule(arrivals_.in_order(source, destination, left + latency, kernel_.now()), this, message);
  return left;
}

TimePoint IdealFabric::start(int source, int destination, Bytes, std::uint64_t message, const PathEffect* effect) {
  CHECK(effect == nullptr);
  CHECK_NE(source, destination);
  kernel_.schedule(kernel_.now(), this, message);
  return kernel_.now();
}

}  // namespace rehearse
