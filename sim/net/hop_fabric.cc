#include "sim/net/hop_fabric.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {
namespace {

// An event's argument is a slot of underway_ with this bit (a first byte is at a link) or a message (it is there).
constexpr std::uint64_t kAtLink = std::uint64_t{1} << 63;

}  // namespace

HopFabric::HopFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config,
                     std::shared_ptr<const Topology> topology, const RandomStream& stream)
    : kernel_(kernel),
      listener_(listener),
      config_(config),
      topology_(std::move(topology)),
      routes_(*topology_, stream.fork("routes")),
      arrivals_(config.jitter, topology_->ranks(), stream),
      free_(static_cast<std::size_t>(topology_->links())),
      last_begun_(static_cast<std::size_t>(topology_->ranks())),
      loads_(free_.size()) {}

std::uint32_t HopFabric::take_slot() {
  if (free_slots_.empty()) {
    underway_.emplace_back();
    return static_cast<std::uint32_t>(underway_.size() - 1);
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

TimePoint HopFabric::start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) {
  CHECK(effect == nullptr);
  CHECK_EQ(message & kAtLink, 0U);
  const std::uint32_t slot = take_slot();
  Underway& sent = underway_[slot];
  routes_.find(source, destination, 0, sent.route);
  sent.message = message;
  sent.bytes = bytes;
  sent.next = 0;
  sent.last_byte = kernel_.now();
  const TimePoint begins = std::max(kernel_.now(), free_[static_cast<std::size_t>(sent.route.front())]);
  const TimePoint left = serve(slot, begins);
  TimePoint first_byte = begins;
  if (!arrivals_.is_exact()) {
    // Nothing overtakes what its sender sent before: by its first byte, or where whole messages go on, by its last.
    TimePoint& last = last_begun_[static_cast<std::size_t>(source)];
    const Duration late = arrivals_.draw(source);
    if (topology_->store_and_forward()) {
      sent.last_byte = last = std::max(sent.last_byte + late, last);
    } else {
      first_byte = last = std::max(first_byte + late, last);
      sent.last_byte = sent.last_byte + (first_byte - begins);
    }
    if (sent.route.size() == 1) {
      sent.last_byte = arrivals_.in_order(source, destination, sent.last_byte, kernel_.now());
    }
  }
  go_on(slot, first_byte);
  return left;
}

TimePoint HopFabric::serve(std::uint32_t slot, TimePoint now) {
  Underway& message = underway_[slot];
  const auto index = static_cast<std::size_t>(message.route[message.next]);
  const TimePoint begins = std::max(now, free_[index]);
  const TimePoint ends = std::max(
      begins + transfer_time(message.bytes, topology_->link(static_cast<int>(index)).bandwidth), message.last_byte);
  free_[index] = message.last_byte = ends;
  LinkLoad& load = loads_[index];
  ++load.messages;
  load.bytes += message.bytes;
  load.busy = load.busy + (ends - begins);
  return ends;
}

void HopFabric::go_on(std::uint32_t slot, TimePoint first_byte) {
  Underway& message = underway_[slot];
  const Duration latency = topology_->link(message.route[message.next]).latency;
  message.last_byte = message.last_byte + latency;
  if (++message.next == message.route.size()) {
    kernel_.schedule(message.last_byte, this, message.message);
    free_slots_.push_back(slot);
    return;
  }
  kernel_.schedule(topology_->store_and_forward() ? message.last_byte : first_byte + latency, this, kAtLink | slot);
}

void HopFabric::on_event(std::uint64_t argument) {
  if ((argument & kAtLink) == 0) {
    listener_.on_delivered(argument);
    return;
  }
  const auto slot = static_cast<std::uint32_t>(argument & ~kAtLink);
  const Underway& message = underway_[slot];
  if (kernel_.is_heard()) {
    EventRecord record = listener_.record_of(message.message);
    record.kind = EventKind::kArrival;
    kernel_.record(record);
  }
  const TimePoint begins = std::max(kernel_.now(), free_[static_cast<std::size_t>(message.route[message.next])]);
  serve(slot, begins);
  go_on(slot, begins);
}

}  // namespace rehearse
