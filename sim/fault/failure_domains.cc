#include "sim/fault/failure_domains.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {
namespace {

RankRange clipped(std::int64_t first, std::int64_t count, int ranks) {
  const std::int64_t begin = std::min<std::int64_t>(first, ranks);
  const std::int64_t end = std::min<std::int64_t>(first + count, ranks);
  return RankRange{static_cast<int>(begin), static_cast<int>(end - begin)};
}

// "rank 2", "ranks 2, 3", "hosts 0 to 7"
std::string words_of(const std::string& one, int first, int count) {
  if (count == 1) return one + " " + std::to_string(first);
  const int last = first + count - 1;
  return one + "s " + std::to_string(first) + (count == 2 ? ", " : " to ") + std::to_string(last);
}

}  // namespace

int HostLayout::racks_of(int ranks) const {
  CHECK_GT(hosts_per_rack, 0);
  return (hosts_of(ranks) + hosts_per_rack - 1) / hosts_per_rack;
}

RankRange HostLayout::ranks_of_host(int host, int ranks) const {
  return clipped(static_cast<std::int64_t>(host) * ranks_per_host, ranks_per_host, ranks);
}

RankRange HostLayout::ranks_of_rack(int rack, int ranks) const {
  CHECK_GT(hosts_per_rack, 0);
  const std::int64_t ranks_per_rack = static_cast<std::int64_t>(hosts_per_rack) * ranks_per_host;
  return clipped(rack * ranks_per_rack, ranks_per_rack, ranks);
}

DomainLoss loss_of(const FailureDomain& domain, int rank, const HostLayout& hosts, int ranks) {
  DomainLoss loss;
  if (domain.kind == DomainKind::kRack) {
    loss.ranks = hosts.ranks_of_rack(domain.index, ranks);
    const int first = hosts.host_of(loss.ranks.first);
    const int count = hosts.hosts_of(loss.ranks.end()) - first;
    loss.who = "rack " + std::to_string(domain.index) + " (" + words_of("host", first, count) + " with " +
               words_of(loss.ranks) + ")";
    return loss;
  }
  const int host = domain.kind == DomainKind::kHost ? domain.index : hosts.host_of(rank);
  loss.ranks = hosts.ranks_of_host(host, ranks);
  const bool named = domain.kind == DomainKind::kHost || hosts.ranks_per_host > 1;
  if (named) loss.who = "host " + std::to_string(host) + " (" + words_of(loss.ranks) + ")";
  return loss;
}

std::string words_of(const RankRange& ranks) { return words_of("rank", ranks.first, ranks.count); }

std::string event_words(const DomainLoss& loss) { return (loss.who.empty() ? "the host" : loss.who) + " is lost"; }

std::string cause_words(const DomainLoss& loss) {
  return loss.who.empty() ? words_of(loss.ranks) + " was lost with its host" : loss.who + " was lost";
}

}  // namespace rehearse
