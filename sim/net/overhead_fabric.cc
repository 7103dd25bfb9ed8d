#include "sim/net/overhead_fabric.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {
namespace {

// Events: the sender's work on a message is done, the message has left, or (without these bits) the receiver's work.
constexpr std::uint64_t kSend = std::uint64_t{1} << 61;
constexpr std::uint64_t kLeft = std::uint64_t{1} << 60;

}  // namespace

OverheadFabric::OverheadFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config, int ranks)
    : kernel_(kernel),
      listener_(listener),
      overhead_(config.overhead),
      between_(std::max(config.overhead, config.gap)),
      send_free_(static_cast<std::size_t>(ranks)),
      receive_free_(static_cast<std::size_t>(ranks)) {}

TimePoint OverheadFabric::work(TimePoint& free) const {
  const TimePoint begins = std::max(kernel_.now(), free);
  free = begins + between_;
  return begins + overhead_;
}

TimePoint OverheadFabric::start(int source, int destination, Bytes bytes, std::uint64_t message,
                                const PathEffect* effect) {
  CHECK(effect == nullptr);
  CHECK_EQ(message & (kSend | kLeft), 0U);
  if (sending_.size() <= message) sending_.resize(std::max<std::size_t>(2 * sending_.size(), message + 1));
  Sending& sent = sending_[message];
  sent.source = source;
  sent.destination = destination;
  sent.bytes = bytes;
  kernel_.schedule(work(send_free_[static_cast<std::size_t>(source)]), this, kSend | message);
  return kLeavesLater;
}

void OverheadFabric::on_delivered(std::uint64_t message) {
  record(EventKind::kArrival, message);
  const auto destination = static_cast<std::size_t>(sending_[message].destination);
  kernel_.schedule(work(receive_free_[destination]), this, message);
}

void OverheadFabric::record(EventKind kind, std::uint64_t message) const {
  if (!kernel_.is_heard()) return;
  EventRecord made = listener_.record_of(message);
  made.kind = kind;
  kernel_.record(made);
}

void OverheadFabric::on_event(std::uint64_t argument) {
  const std::uint64_t message = argument & ~(kSend | kLeft);
  if ((argument & (kSend | kLeft)) == 0) {
    listener_.on_delivered(message);
    return;
  }
  record(EventKind::kFlows, message);
  if ((argument & kLeft) != 0) {
    listener_.on_left(message);
    return;
  }
  const Sending sent = sending_[message];
  const TimePoint left = fabric_->send(sent.source, sent.destination, sent.bytes, message);
  if (left != kLeavesLater) kernel_.schedule(left, this, kLeft | message);
}

}  // namespace rehearse
