#include "sim/net/fair_share.h"

#include <algorithm>
#include <functional>

#include "core/base/check.h"

namespace rehearse {

FairShare::FairShare(std::span<const Bandwidth> capacities) : links_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = links_[i].spare = Rate(capacities[i]);
}

void FairShare::note_change(std::uint32_t link) {
  if (links_[link].changed) return;
  links_[link].changed = true;
  changed_links_.push_back(link);
}

int FairShare::add(std::span<const int> route) {
  CHECK(!route.empty());
  std::uint32_t number = 0;
  if (free_flows_.empty()) {
    number = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
  } else {
    number = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& flow = flows_[number];
  flow = Flow();
  flow.hops = static_cast<std::uint32_t>(route.size());
  if (free_hops_.size() <= route.size()) free_hops_.resize(route.size() + 1);
  std::vector<std::uint32_t>& free_hops = free_hops_[route.size()];
  if (free_hops.empty()) {
    flow.first_hop = static_cast<std::uint32_t>(hops_.size());
    hops_.resize(hops_.size() + route.size());
  } else {
    flow.first_hop = free_hops.back();
    free_hops.pop_back();
  }
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const auto number_of_link = static_cast<std::uint32_t>(route[i]);
    std::vector<OnLink>& flows = links_[number_of_link].flows;
    hops_[flow.first_hop + i] = Hop{number_of_link, static_cast<std::uint32_t>(flows.size())};
    flows.push_back(OnLink{number, flow.first_hop + i});
    note_change(number_of_link);
    links_[number_of_link].gained = true;
  }
  return static_cast<int>(number);
}

void FairShare::remove(int number) {
  const Flow& flow = flows_[static_cast<std::size_t>(number)];
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const Hop hop = hops_[flow.first_hop + i];
    std::vector<OnLink>& flows = links_[hop.link].flows;
    flows[hop.place] = flows.back();
    hops_[flows[hop.place].hop].place = hop.place;
    flows.pop_back();
    note_change(hop.link);
    Link& link = links_[hop.link];
    if (!(link.freed_rate == flow.rate)) {
      take_back_freed(link);
      link.freed_rate = flow.rate;
    }
    ++link.freed;
  }
  if (!flow.rate.is_zero() && (!least_removed_.has_value() || flow.rate < *least_removed_)) least_removed_ = flow.rate;
  free_hops_[flow.hops].push_back(flow.first_hop);
  free_flows_.push_back(static_cast<std::uint32_t>(number));
}

void FairShare::take_back_freed(Link& link) {
  if (link.freed > 0) link.spare = link.spare.plus(link.freed, link.freed_rate);
  link.freed = 0;
}

Rate FairShare::first_difference() const {
  std::optional<Rate> least = least_removed_;
  for (const std::uint32_t number : changed_links_) {
    const Link& link = links_[number];
    if (!link.gained || link.flows.empty()) continue;
    const Rate share = link.capacity.over(link.flows.size());
    if (!least.has_value() || share < *least) least = share;
  }
  return least.value_or(Rate());
}

// Finds what may get another rate, and has it begin anew.
void FairShare::gather() {
  ++solution_;
  part_.clear();
  heap_.clear();
  const Rate from = first_difference();
  least_removed_.reset();
  const auto take = [this](std::uint32_t number) {
    Link& link = links_[number];
    if (link.seen == solution_) return;
    link.seen = solution_;
    part_.push_back(number);
  };
  for (const std::uint32_t number : changed_links_) {
    links_[number].changed = links_[number].gained = false;
    take(number);
  }
  changed_links_.clear();
  for (std::size_t i = 0; i < part_.size(); ++i) {
    Link& link = links_[part_[i]];
    take_back_freed(link);
    link.left = link.spare;
    link.level = -1;
    link.filled = 0;
    link.unfilled = 0;
    link.moved = false;
    Rate same;
    std::uint64_t count = 0;
    for (const OnLink& on_link : link.flows) {
      Flow& flow = flows_[on_link.flow];
      if (flow.rate < from && !flow.rate.is_zero()) continue;
      ++link.unfilled;
      if (flow.rate == same) {
        ++count;
      } else {
        if (count > 0) link.left = link.left.plus(count, same);
        same = flow.rate;
        count = 1;
      }
      if (flow.seen == solution_) continue;
      flow.seen = solution_;
      for (std::uint32_t k = 0; k < flow.hops; ++k) take(hops_[flow.first_hop + k].link);
    }
    if (count > 0) link.left = link.left.plus(count, same);
    if (link.unfilled > 0) heap_.emplace_back(link.left.over(link.unfilled), part_[i]);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void FairShare::begin_level(Link& link, int level) {
  if (link.filled > 0) link.left = link.left.minus(link.filled, levels_[static_cast<std::size_t>(link.level)]);
  link.filled = 0;
  link.level = level;
}

Rate FairShare::share_of(Link& link) const {
  Rate left = link.left;
  if (link.filled > 0) left = left.minus(link.filled, levels_[static_cast<std::size_t>(link.level)]);
  // Shares never fall while flows are filled, but for what was rounded.
  return std::max(left.over(link.unfilled), levels_.back());
}

void FairShare::fill(std::uint32_t number, const Rate& rate) {
  if (levels_.empty() || levels_.back() < rate) levels_.push_back(rate);
  const int level = static_cast<int>(levels_.size()) - 1;
  for (const OnLink& on_link : links_[number].flows) {
    Flow& flow = flows_[on_link.flow];
    if (flow.seen != solution_ || flow.filled == solution_) continue;
    flow.filled = solution_;
    if (!(flow.rate == rate)) {
      flow.rate = rate;
      changed_flows_.push_back(static_cast<int>(on_link.flow));
    }
    for (std::uint32_t k = 0; k < flow.hops; ++k) {
      Link& link = links_[hops_[flow.first_hop + k].link];
      if (link.level != level) begin_level(link, level);
      ++link.filled;
      --link.unfilled;
      link.moved = true;
    }
  }
}

const std::vector<int>& FairShare::solve() {
  changed_flows_.clear();
  if (changed_links_.empty()) return changed_flows_;
  gather();
  levels_.clear();
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const auto [noted, number] = heap_.back();
    heap_.pop_back();
    Link& link = links_[number];
    if (link.unfilled == 0) continue;
    const Rate share = link.moved ? share_of(link) : noted;
    link.moved = false;
    if (share == noted) {
      fill(number, share);
    } else {
      heap_.emplace_back(share, number);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  }
  for (const std::uint32_t number : part_) {
    Link& link = links_[number];
    begin_level(link, -1);
    link.spare = link.left;
  }
  return changed_flows_;
}

}  // namespace rehearse
