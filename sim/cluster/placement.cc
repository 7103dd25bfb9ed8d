#include "sim/cluster/placement.h"

#include <algorithm>
#include <span>

namespace rehearse {
namespace {

std::vector<int> ranks_of(const HostLayout& hosts, int ranks, std::span<const int> some) {
  std::vector<int> all;
  for (const int host : some) {
    const RankRange on_host = hosts.ranks_of_host(host, ranks);
    for (int rank = on_host.first; rank < on_host.end(); ++rank) all.push_back(rank);
  }
  return all;
}

}  // namespace

std::optional<Placement> place_ranks(const RecoveryConfig& config, const HostLayout& hosts, int ranks, int spares,
                                     const std::vector<int>& lost, const std::function<bool(int)>& fits) {
  const std::span all(lost);
  const std::span replaced = all.first(std::min(static_cast<std::size_t>(spares), lost.size()));
  const std::span rest = all.subspan(replaced.size());
  Placement placement;
  placement.on_spares = ranks_of(hosts, ranks, replaced);
  placement.hosts_on_spares = static_cast<int>(replaced.size());
  placement.spares = spares - placement.hosts_on_spares;
  placement.ranks = ranks;
  placement.at_once = !lost.empty() && rest.empty();
  if (rest.empty() || config.mode == RecoveryMode::kRestart) return placement;

  placement.gone = ranks_of(hosts, ranks, rest);
  placement.hosts_gone = static_cast<int>(rest.size());
  const int left = ranks - static_cast<int>(placement.gone.size());
  const int hosts_left = hosts.hosts_of(ranks) - placement.hosts_gone;
  for (int next = left; next >= std::max(config.min_ranks, 1); --next) {
    if (!fits(next)) continue;
    placement.ranks = next;
    placement.spares += hosts_left - hosts.hosts_of(next);
    return placement;
  }
  return std::nullopt;
}

}  // namespace rehearse
