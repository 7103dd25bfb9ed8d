#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"
#include "sim/net/config.h"
#include "sim/net/routes.h"

namespace rehearse {

// What a round of messages of the same size takes that leave different places at once.
struct RoundCost {
  Duration latency;  // of the longest way, with what messages cost their ends
  // The link that takes longest: so many of the messages go over it.
  Bandwidth bandwidth;
  std::int64_t messages = 0;
  // Of the slowest link that any of them takes, and the most links with a transfer of their own: 1, or where switches
  // send on only whole messages the longest way's.
  Bandwidth slowest;
  std::int64_t transfers = 1;

  // latency + messages x t(bytes) on that link, and t(bytes) on the slowest for each further transfer.
  Duration time(Bytes bytes) const;
  // The same of a message that has every link for itself.
  Duration alone(Bytes bytes) const;
  // How long the link is busy.
  Duration busy(Bytes bytes) const;
};

// Counts, without simulating anything, how many messages of a round share a link of a network: the ways are those that
// the simulated messages take. Nothing is shared with FabricKind::kAlphaBeta, and nothing takes time with kIdeal.
// Jitter and transports are not in it.
class RoundCosts {
 public:
  // Of a run's network with that stream (RandomStream(seed).fork("network")). The config outlives it.
  RoundCosts(const NetworkConfig& config, int ranks, const RandomStream& stream);

  // Of messages from one rank to another one. Without any: no time.
  RoundCost of(std::span<const std::pair<int, int>> messages);
  // Of each of them among the others: its own latency, and the link on its own way that takes longest.
  std::vector<RoundCost> of_each(std::span<const std::pair<int, int>> messages);

 private:
  const NetworkConfig& config_;
  std::shared_ptr<const Topology> topology_;
  Routes routes_;
  std::vector<std::int64_t> counts_;  // by link, of the round; at most 1 where nothing is shared
  std::vector<int> route_;
};

}  // namespace rehearse
