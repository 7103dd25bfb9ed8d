#include "sim/net/max_min_fabric.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace rehearse {
namespace {

// Events: rates are to be worked out, the earliest message may have left, or (without these bits) a message is there.
constexpr std::uint64_t kSolve = std::uint64_t{1} << 63;
constexpr std::uint64_t kEnd = std::uint64_t{1} << 62;

// Units of work for what 1 bit/s does in 1 ps: a multiple of 1 to 16.
constexpr unsigned __int128 kFineness = 720'720;
// For a bit.
constexpr unsigned __int128 kBit = kFineness * 1'000'000'000'000;

std::vector<Bandwidth> capacities_of(const Topology& topology) {
  std::vector<Bandwidth> capacities;
  for (int i = 0; i < topology.links(); ++i) capacities.push_back(topology.link(i).bandwidth);
  return capacities;
}

}  // namespace

MaxMinFabric::MaxMinFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config,
                           std::shared_ptr<const Topology> topology, const RandomStream& stream)
    : kernel_(kernel),
      listener_(listener),
      config_(config),
      topology_(std::move(topology)),
      routes_(*topology_, stream.fork("routes")),
      shares_(capacities_of(*topology_)),
      arrivals_(config.jitter, topology_->ranks(), stream),
      by_source_(static_cast<std::size_t>(topology_->ranks())),
      loads_(static_cast<std::size_t>(topology_->links())),
      busy_since_(loads_.size()) {}

Duration MaxMinFabric::latency_of(std::span<const int> route) const {
  Duration sum;
  for (const int link : route) sum = sum + topology_->link(link).latency;
  return sum;
}

TimePoint MaxMinFabric::start(int source, int destination, Bytes bytes, std::uint64_t message,
                              const PathEffect* effect) {
  CHECK(effect == nullptr);
  CHECK_EQ(message & (kSolve | kEnd), 0U);
  Flows& flows = by_source_[static_cast<std::size_t>(source)];
  const auto found = std::lower_bound(flows.begin(), flows.end(), std::pair(destination, -1));
  if (found != flows.end() && found->first == destination) {
    flows_[static_cast<std::size_t>(found->second)].waiting.push_back(Sending{message, bytes});
    return kLeavesLater;
  }
  routes_.find(source, destination, 0, route_);
  if (bytes == Bytes()) {
    // Nothing to share: it is gone at once.
    Flow flow;
    flow.source = source;
    flow.destination = destination;
    for (const int link : route_) ++loads_[static_cast<std::size_t>(link)].messages;
    deliver(flow, message, latency_of(route_));
    return kernel_.now();
  }
  const auto place = found - flows.begin();
  const int number = begin_flow(source, destination);
  flows.insert(flows.begin() + place, std::pair(destination, number));
  Flow& flow = flows_[static_cast<std::size_t>(number)];
  flow.sending = Sending{message, bytes};
  flow.left = static_cast<Work>(bytes.count()) * 8 * kBit;
  solve_soon();
  return kLeavesLater;
}

// Over the links of route_.
int MaxMinFabric::begin_flow(int source, int destination) {
  const int number = shares_.add(route_);
  if (flows_.size() <= static_cast<std::size_t>(number)) {
    flows_.emplace_back();
    places_.push_back(-1);
  }
  Flow& flow = flows_[static_cast<std::size_t>(number)];
  flow.source = source;
  flow.destination = destination;
  flow.order = next_order_++;
  flow.latency = latency_of(route_);
  flow.rate = Rate();
  flow.since = kernel_.now();
  for (const int link : route_) {
    if (shares_.flows_on(link) == 1) busy_since_[static_cast<std::size_t>(link)] = kernel_.now();
  }
  return number;
}

void MaxMinFabric::end_flow(int number) {
  const Flow& flow = flows_[static_cast<std::size_t>(number)];
  Flows& flows = by_source_[static_cast<std::size_t>(flow.source)];
  flows.erase(std::lower_bound(flows.begin(), flows.end(), std::pair(flow.destination, -1)));
  for (int i = 0; i < shares_.hops(number); ++i) {
    const int link = shares_.link_of(number, i);
    if (shares_.flows_on(link) > 1) continue;
    LinkLoad& load = loads_[static_cast<std::size_t>(link)];
    load.busy = load.busy + (kernel_.now() - busy_since_[static_cast<std::size_t>(link)]);
  }
  shares_.remove(number);
}

void MaxMinFabric::solve_soon() {
  if (solving_soon_) return;
  solving_soon_ = true;
  kernel_.schedule(kernel_.now(), this, kSolve);
}

void MaxMinFabric::solve() {
  ++solutions_;
  const TimePoint now = kernel_.now();
  for (const int number : shares_.solve()) {
    Flow& flow = flows_[static_cast<std::size_t>(number)];
    if (flow.since < now) {
      const auto passed = static_cast<Work>((now - flow.since).ps()) * kFineness;
      flow.left -= std::min(flow.left, multiply_divide(passed, flow.rate.numerator(), flow.rate.parts()));
      flow.since = now;
    }
    flow.rate = shares_.rate(number);
    set_end(number);
  }
  arm();
}

// By what is left and the rate, from `since` on.
void MaxMinFabric::set_end(int number) {
  Flow& flow = flows_[static_cast<std::size_t>(number)];
  const Work takes = multiply_divide_up(flow.left, flow.rate.parts(), kFineness * flow.rate.numerator());
  if (takes > static_cast<Work>(std::numeric_limits<std::int64_t>::max())) virtual_time_overflow();
  End end;
  end.at = flow.since + Duration::picoseconds(static_cast<std::int64_t>(takes));
  end.order = flow.order;
  end.flow = number;
  const int place = places_[static_cast<std::size_t>(number)];
  if (place < 0) {
    heap_.push_back(end);
    sift_up(heap_.size() - 1);
  } else {
    heap_[static_cast<std::size_t>(place)] = end;
    sift_up(static_cast<std::size_t>(place));
    sift_down(static_cast<std::size_t>(places_[static_cast<std::size_t>(number)]));
  }
}

// One event is enough: it comes at the earliest end, and asks for the next.
void MaxMinFabric::arm() {
  if (heap_.empty()) return;
  const TimePoint end = heap_.front().at;
  if (armed_ && wakes_ <= end) return;
  armed_ = true;
  wakes_ = end;
  kernel_.schedule(end, this, kEnd);
}

void MaxMinFabric::deliver(const Flow& flow, std::uint64_t message, Duration latency) {
  TimePoint arrival = kernel_.now() + latency;
  if (!arrivals_.is_exact()) {
    arrival = arrivals_.in_order(flow.source, flow.destination, arrival + arrivals_.draw(flow.source), kernel_.now());
  }
  kernel_.schedule(arrival, this, message);
}

void MaxMinFabric::leave(int number) {
  Flow& flow = flows_[static_cast<std::size_t>(number)];
  for (;;) {
    for (int i = 0; i < shares_.hops(number); ++i) {
      LinkLoad& load = loads_[static_cast<std::size_t>(shares_.link_of(number, i))];
      ++load.messages;
      load.bytes += flow.sending.bytes;
    }
    listener_.on_left(flow.sending.message);
    deliver(flow, flow.sending.message, flow.latency);
    if (flow.first == flow.waiting.size()) break;
    flow.sending = flow.waiting[flow.first++];
    if (flow.sending.bytes == Bytes()) continue;
    if (flow.first > 64 && 2 * flow.first > flow.waiting.size()) {
      flow.waiting.erase(flow.waiting.begin(), flow.waiting.begin() + static_cast<std::ptrdiff_t>(flow.first));
      flow.first = 0;
    }
    flow.left = static_cast<Work>(flow.sending.bytes.count()) * 8 * kBit;
    flow.since = kernel_.now();
    set_end(number);
    return;
  }
  flow.waiting.clear();
  flow.first = 0;
  end_flow(number);
  solve_soon();
}

// Takes the flows that end now out of the heap, in order.
void MaxMinFabric::collect_due() {
  const TimePoint now = kernel_.now();
  due_.clear();
  due_places_.clear();
  // They are the top of the heap: their places, each behind its parent's.
  if (!heap_.empty() && heap_.front().at == now) due_places_.push_back(0);
  for (std::size_t i = 0; i < due_places_.size(); ++i) {
    due_.push_back(heap_[due_places_[i]]);
    for (std::size_t child = 4 * due_places_[i] + 1; child < heap_.size() && child <= 4 * due_places_[i] + 4; ++child) {
      if (heap_[child].at == now) due_places_.push_back(child);
    }
  }
  if (!std::is_sorted(due_.begin(), due_.end())) std::sort(due_.begin(), due_.end());
  for (const End& end : due_) places_[static_cast<std::size_t>(end.flow)] = -1;
  // Backwards, so that what comes into an emptied place has only places below it that are in order.
  for (auto place = due_places_.rbegin(); place != due_places_.rend(); ++place) {
    const End last = heap_.back();
    heap_.pop_back();
    if (*place == heap_.size()) continue;
    put(*place, last);
    sift_down(*place);
  }
}

void MaxMinFabric::finish_due() {
  collect_due();
  // A flow that goes on with its next message is not due again at this moment: the least message takes a picosecond.
  for (const End& end : due_) leave(end.flow);
  arm();
}

void MaxMinFabric::on_event(std::uint64_t argument) {
  if ((argument & (kSolve | kEnd)) == 0) {
    listener_.on_delivered(argument);
    return;
  }
  const bool ends = (argument & kEnd) != 0;
  const bool stale = ends && (!armed_ || wakes_ != kernel_.now());
  if (kernel_.is_heard()) kernel_.record(EventRecord(stale ? EventKind::kStale : EventKind::kFlows));
  if (stale) return;
  if (ends) {
    armed_ = false;
    finish_due();
  } else {
    solving_soon_ = false;
    solve();
  }
}

void MaxMinFabric::put(std::size_t place, const End& end) {
  heap_[place] = end;
  places_[static_cast<std::size_t>(end.flow)] = static_cast<int>(place);
}

void MaxMinFabric::sift_up(std::size_t place) {
  const End end = heap_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 4;
    if (!(end < heap_[parent])) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, end);
}

void MaxMinFabric::sift_down(std::size_t place) {
  const End end = heap_[place];
  for (;;) {
    const std::size_t first = 4 * place + 1;
    if (first >= heap_.size()) break;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < heap_.size() && child < first + 4; ++child) {
      if (heap_[child] < heap_[least]) least = child;
    }
    if (!(heap_[least] < end)) break;
    put(place, heap_[least]);
    place = least;
  }
  put(place, end);
}

}  // namespace rehearse
