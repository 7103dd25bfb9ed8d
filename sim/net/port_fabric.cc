#include "sim/net/port_fabric.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {
namespace {

// An event's argument is a slot of underway_ with this bit (a first byte arrives) or a message (its last byte does).
constexpr std::uint64_t kArrivalBit = std::uint64_t{1} << 63;

}  // namespace

PortFabric::PortFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config, int ranks,
                       const RandomStream& stream)
    : kernel_(kernel), listener_(listener), config_(config), ports_(static_cast<std::size_t>(ranks)) {
  CHECK_GE(config.latency.ps(), 0);
  CHECK_GT(config.bandwidth.bits_per_second(), 0);
  CHECK_GE(config.jitter.ps(), 0);
  if (config.jitter.ps() > 0) {
    for (int rank = 0; rank < ranks; ++rank) jitter_.push_back(stream.fork(static_cast<std::uint64_t>(rank)));
  }
}

Bandwidth PortFabric::bandwidth_of(const PathEffect& effect) const {
  constexpr std::int64_t kWhole = 1'000'000'000;
  if (effect.bandwidth_ppb == kWhole) return config_.bandwidth;
  const __int128 bits = static_cast<__int128>(config_.bandwidth.bits_per_second()) * effect.bandwidth_ppb / kWhole;
  return Bandwidth::bits_per_second(std::max<std::int64_t>(1, static_cast<std::int64_t>(bits)));
}

TimePoint PortFabric::over_link(int source, int destination, TimePoint arrival, const PathEffect* effect) {
  const auto last = last_on_link_.find({source, destination});
  if (effect != nullptr) arrival = arrival + effect->added;
  if (last != last_on_link_.end()) arrival = last->second = std::max(arrival, last->second);
  if (effect == nullptr) return arrival;
  if (last == last_on_link_.end() && effect->added > Duration()) last_on_link_[{source, destination}] = arrival;
  return arrival + effect->aside;
}

void PortFabric::count(int source, int destination, Bytes bytes, Duration transfer, const PathEffect& effect) {
  const Duration whole = transfer_time(bytes, config_.bandwidth);
  LinkTimes& times = link_times_[{source, destination}];
  if (effect.added > Duration() || transfer > whole) ++times.slow_messages;
  times.seconds_on_whole_link += (config_.latency + whole).to_seconds();
  times.seconds += (config_.latency + effect.added + transfer).to_seconds();
}

TimePoint PortFabric::start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) {
  CHECK_NE(source, destination);
  CHECK_EQ(message & kArrivalBit, 0U);
  Port& from = ports_[static_cast<std::size_t>(source)];
  Port& to = ports_[static_cast<std::size_t>(destination)];
  const Duration transfer = transfer_time(bytes, effect == nullptr ? config_.bandwidth : bandwidth_of(*effect));
  const TimePoint start = std::max(kernel_.now(), from.send_free);
  from.send_free = start + transfer;
  TimePoint arrival = start + config_.latency;
  if (!jitter_.empty()) {
    RandomStream& stream = jitter_[static_cast<std::size_t>(source)];
    arrival = arrival + Duration::picoseconds(static_cast<std::int64_t>(
                            stream.below(static_cast<std::uint64_t>(config_.jitter.ps()) + 1)));
    arrival = std::max(arrival, from.last_arrival);
    from.last_arrival = arrival;
  }
  if (effect != nullptr && effect->lost) return from.send_free;
  if (effect != nullptr) count(source, destination, bytes, transfer, *effect);
  const TimePoint undisturbed = arrival;
  if (effect != nullptr || !last_on_link_.empty()) arrival = over_link(source, destination, arrival, effect);
  // Without jitter, a message from an idle port cannot be overtaken by one that is sent later, so that it may reserve
  // the receiver's port at once, unless one is still on its way that left earlier: the times are those of the long way,
  // for one event less. (tests/sim/net holds the two equal.)
  if (jitter_.empty() && start == kernel_.now() && arrival == undisturbed && to.unreserved == 0) {
    reserve(destination, arrival, transfer, message);
  } else {
    launch(arrival, destination, transfer, message);
  }
  if (effect != nullptr && effect->copied) {
    launch(arrival + effect->copy_after, destination, transfer, effect->copy);
  }
  return from.send_free;
}

void PortFabric::launch(TimePoint arrival, int destination, Duration transfer, std::uint64_t message) {
  ++ports_[static_cast<std::size_t>(destination)].unreserved;
  std::uint32_t slot = 0;
  const Underway underway{destination, transfer, message};
  if (free_underway_.empty()) {
    slot = static_cast<std::uint32_t>(underway_.size());
    underway_.push_back(underway);
  } else {
    slot = free_underway_.back();
    free_underway_.pop_back();
    underway_[slot] = underway;
  }
  kernel_.schedule(arrival, this, kArrivalBit | slot);
}

void PortFabric::reserve(int destination, TimePoint arrival, Duration transfer, std::uint64_t message) {
  Port& port = ports_[static_cast<std::size_t>(destination)];
  port.receive_free = std::max(arrival, port.receive_free) + transfer;
  kernel_.schedule(port.receive_free, this, message);
}

void PortFabric::expect(std::uint64_t argument) const {
  if ((argument & kArrivalBit) == 0) {
    listener_.expect_delivery(argument);
    return;
  }
  __builtin_prefetch(&ports_[static_cast<std::size_t>(underway_[argument & ~kArrivalBit].destination)], 1);
}

void PortFabric::on_event(std::uint64_t argument) {
  if ((argument & kArrivalBit) == 0) {
    listener_.on_delivered(argument);
    return;
  }
  const auto slot = static_cast<std::uint32_t>(argument & ~kArrivalBit);
  const Underway arrived = underway_[slot];
  free_underway_.push_back(slot);
  --ports_[static_cast<std::size_t>(arrived.destination)].unreserved;
  if (kernel_.is_heard()) {
    EventRecord record = listener_.record_of(arrived.message);
    record.kind = EventKind::kArrival;
    kernel_.record(record);
  }
  reserve(arrived.destination, kernel_.now(), arrived.transfer, arrived.message);
}

}  // namespace rehearse
