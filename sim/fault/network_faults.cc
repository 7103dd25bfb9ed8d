#include "sim/fault/network_faults.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {
namespace {

constexpr std::int64_t kToldOneByOne = 10;

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

std::string text_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

}  // namespace

const char* name_of(NetworkFaultKind kind) {
  switch (kind) {
    case NetworkFaultKind::kLinkDown:
      return "link_down";
    case NetworkFaultKind::kPartition:
      return "partition";
    case NetworkFaultKind::kBandwidth:
      return "link_bandwidth";
    case NetworkFaultKind::kLatency:
      return "link_latency";
    case NetworkFaultKind::kLoss:
      return "loss";
    case NetworkFaultKind::kDuplicate:
      return "duplicate";
    case NetworkFaultKind::kReorder:
      return "reorder";
    case NetworkFaultKind::kDelay:
      return "delay";
    case NetworkFaultKind::kCorrupt:
      return "corrupt";
  }
  check_failed(__FILE__, __LINE__, "unknown fault of the network");
}

bool LinkChoice::has(int source, int destination) const {
  const auto one_way = [this](int a, int b) {
    if (!from_set.empty()) return contains(from_set, a) && contains(to_set, b);
    return (from == kAnyRank || from == a) && (to == kAnyRank || to == b);
  };
  return one_way(source, destination) || (both_ways && one_way(destination, source));
}

std::string text_of(const LinkChoice& links) {
  if (!links.from_set.empty()) {
    return "the links " + std::string(links.both_ways ? "between " : "from ") + text_of(links.from_set) +
           (links.both_ways ? " and " : " to ") + text_of(links.to_set);
  }
  if (links.from == kAnyRank && links.to == kAnyRank) return "every link";
  if (links.from != kAnyRank && links.to != kAnyRank) {
    return "link " + std::to_string(links.from) + (links.both_ways ? " <-> " : " -> ") + std::to_string(links.to);
  }
  const std::string rank = std::to_string(links.from == kAnyRank ? links.to : links.from);
  if (links.both_ways) return "every link of rank " + rank;
  return (links.from == kAnyRank ? "every link to rank " : "every link from rank ") + rank;
}

bool NetworkFault::is_told_by_message() const {
  return strikes_single_messages() && !strikes.probability_ppb.has_value() && strikes.count.has_value() &&
         *strikes.count <= kToldOneByOne;
}

bool NetworkFault::needs_transport() const {
  switch (kind) {
    case NetworkFaultKind::kBandwidth:
    case NetworkFaultKind::kLatency:
    case NetworkFaultKind::kDelay:
      return false;
    default:
      return true;
  }
}

bool NetworkFaultPlan::needs_transport() const {
  return std::any_of(faults.begin(), faults.end(), [](const NetworkFault& fault) { return fault.needs_transport(); });
}

}  // namespace rehearse
