#include "sim/net/round_cost.h"

#include <algorithm>

#include "core/base/check.h"
#include "sim/net/make_topology.h"

namespace rehearse {
namespace {

// Whether `count` messages on a link of `bandwidth` take longer than `other_count` on another one.
bool takes_longer(std::int64_t count, Bandwidth bandwidth, std::int64_t other_count, Bandwidth other) {
  return static_cast<__int128>(count) * other.bits_per_second() >
         static_cast<__int128>(other_count) * bandwidth.bits_per_second();
}

}  // namespace

Duration RoundCost::alone(Bytes bytes) const {
  if (messages == 0) return Duration();
  return latency + transfers * transfer_time(bytes, slowest);
}

Duration RoundCost::busy(Bytes bytes) const {
  if (messages == 0) return Duration();
  // Each message's time is rounded up by itself, as in the fabrics.
  return messages * transfer_time(bytes, bandwidth);
}

Duration RoundCost::time(Bytes bytes) const {
  if (messages == 0) return Duration();
  return latency + busy(bytes) + (transfers - 1) * transfer_time(bytes, slowest);
}

RoundCosts::RoundCosts(const NetworkConfig& config, int ranks, const RandomStream& stream)
    : config_(config),
      topology_(topology_of(config, ranks)),
      routes_(*topology_, stream.fork("routes")),
      counts_(static_cast<std::size_t>(topology_->links())) {}

std::vector<RoundCost> RoundCosts::of_each(std::span<const std::pair<int, int>> messages) {
  std::vector<RoundCost> costs(messages.size());
  if (config_.fabric == FabricKind::kIdeal) return costs;
  const bool shares = config_.fabric != FabricKind::kAlphaBeta;
  std::fill(counts_.begin(), counts_.end(), 0);
  for (const auto& [source, destination] : messages) {
    CHECK_NE(source, destination);
    routes_.find(source, destination, 0, route_);
    for (const int index : route_) {
      std::int64_t& count = counts_[static_cast<std::size_t>(index)];
      if (shares || count == 0) ++count;
    }
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    routes_.find(messages[i].first, messages[i].second, 0, route_);
    RoundCost& cost = costs[i];
    cost.latency = 2 * config_.overhead;
    if (topology_->store_and_forward()) cost.transfers = static_cast<std::int64_t>(route_.size());
    for (const int index : route_) {
      const TopologyLink& link = topology_->link(index);
      const std::int64_t count = counts_[static_cast<std::size_t>(index)];
      cost.latency = cost.latency + link.latency;
      if (cost.messages == 0 || takes_longer(count, link.bandwidth, cost.messages, cost.bandwidth)) {
        cost.messages = count;
        cost.bandwidth = link.bandwidth;
      }
      if (cost.slowest == Bandwidth() || link.bandwidth < cost.slowest) cost.slowest = link.bandwidth;
    }
  }
  return costs;
}

RoundCost RoundCosts::of(std::span<const std::pair<int, int>> messages) {
  RoundCost round;
  for (const RoundCost& one : of_each(messages)) {
    if (one.messages == 0) continue;
    round.latency = std::max(round.latency, one.latency);
    round.transfers = std::max(round.transfers, one.transfers);
    if (round.slowest == Bandwidth() || one.slowest < round.slowest) round.slowest = one.slowest;
    if (round.messages == 0 || takes_longer(one.messages, one.bandwidth, round.messages, round.bandwidth)) {
      round.messages = one.messages;
      round.bandwidth = one.bandwidth;
    }
  }
  return round;
}

}  // namespace rehearse
