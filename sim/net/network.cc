#include "sim/net/network.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

// What boost's containers have under another name.
template <class Container, class Predicate>
void erase_if(Container& container, Predicate predicate) {
  container.erase(std::remove_if(container.begin(), container.end(), predicate), container.end());
}

// Events of this sink: a message to oneself (this bit and its slot), or the news that a process is gone (its rank and
// incarnation).
constexpr std::uint64_t kSelfBit = std::uint64_t{1} << 63;

}  // namespace

Network::Network(Kernel& kernel, int ranks) : kernel_(kernel), endpoints_(static_cast<std::size_t>(ranks)) {}

Network::Key Network::key_of(const Call& call, int source) {
  Key key;
  key.source = source;
  key.group_id = call.group->id;
  key.generation = call.group->generation;
  key.sequence = call.sequence;
  return key;
}

std::exception_ptr Network::error(CommError::Kind kind, const WaitInfo& wait, int rank) {
  return std::make_exception_ptr(
      CommError(kind, wait.group_id, wait.generation, wait.sequence, rank, wait.peer, wait.operation));
}

std::exception_ptr Network::refusal(const Endpoint& self, const Process& process, const Call& call, int peer) const {
  const auto generation = static_cast<std::int64_t>(call.group->generation);
  CommError::Kind kind = CommError::Kind::kPeerLost;
  if (process.is_fenced()) [[unlikely]] {
    kind = CommError::Kind::kFenced;
  } else if (generation <= self.aborted_generation) [[unlikely]] {
    kind = CommError::Kind::kAborted;
  } else if (any_known_lost_ && generation <= endpoints_[static_cast<std::size_t>(peer)].known_lost_generation &&
             !anything_underway(peer, process.rank())) [[unlikely]] {
    kind = CommError::Kind::kPeerLost;
  } else if (self.broken.empty() || !is_broken(self, peer, call.group->generation)) [[likely]] {
    return nullptr;
  }
  return error(kind, WaitInfo(EventKind::kNone, call, peer), process.rank());
}

bool Network::is_broken(const Endpoint& self, int peer, std::uint32_t generation) const {
  return std::any_of(self.broken.begin(), self.broken.end(),
                     [&](const Broken& broken) { return broken.peer == peer && generation <= broken.generation; });
}

TrafficCounters& Network::counters_of(int rank, Operation operation) {
  std::vector<TrafficCounters>& counters = counters_[static_cast<std::size_t>(operation)];
  if (counters.empty()) [[unlikely]] {
    counters.resize(endpoints_.size());
  }
  return counters[static_cast<std::size_t>(rank)];
}

Network::Departure Network::transmit(int source, const Call& call, std::int64_t offset, int destination,
                                     Payload payload) {
  const Bytes size = payload.size();
  TrafficCounters& counters = counters_of(source, call.operation);
  ++counters.messages_sent;
  counters.bytes_sent += size;
  ++messages_;
  bytes_ += size;
  std::uint32_t slot = 0;
  if (free_messages_.empty()) {
    slot = static_cast<std::uint32_t>(in_flight_.size());
    in_flight_.emplace_back();
  } else {
    slot = free_messages_.back();
    free_messages_.pop_back();
  }
  Message& message = in_flight_[slot];
  message.key = key_of(call, source);
  message.destination = destination;
  message.about = call.fingerprint();
  message.offset = offset;
  message.payload = std::move(payload);
  if (source == destination) {
    kernel_.schedule(kernel_.now(), this, kSelfBit | slot);
    tell_activities(slot, kernel_.now());
    if (on_sent_) on_sent_(source);
    return Departure{kernel_.now(), slot};
  }
  const TimePoint left = fabric_->send(source, destination, size, slot);
  tell_activities(slot, left);
  if (on_sent_) on_sent_(source);
  return Departure{left, slot};
}

void Network::tell_activities(std::uint32_t slot, TimePoint left) const {
  if (kernel_.operations() == nullptr) [[likely]] {
    return;
  }
  kernel_.operations()->on_sent(record_of(slot), kernel_.now(), left);
}

Network::Leaving& Network::leaving(std::uint32_t slot) {
  if (leaving_.size() <= slot) leaving_.resize(std::max<std::size_t>(2 * leaving_.size(), slot + std::size_t{1}));
  return leaving_[slot];
}

void Network::send(Process& process, const Call& call, int peer, Payload payload, Completion<> done) {
  const int destination = call.group->world_rank(peer);
  PendingOp& op = process.begin(WaitInfo(EventKind::kSend, call, destination), std::move(done));
  op.error = refusal(endpoint(process.rank()), process, call, destination);
  if (op.error != nullptr) {
    kernel_.complete_at(kernel_.now(), op);
    return;
  }
  const Departure departure = transmit(process.rank(), call, call.offset, destination, std::move(payload));
  if (departure.left == kLeavesLater) {
    leaving(departure.slot).op = handle_of(op);
  } else {
    kernel_.complete_at(departure.left, op);
  }
  kernel_.arm_deadline(op, call.timeout);
}

bool Network::take_unexpected(Endpoint& self, const Key& key, Arrived& message) {
  const auto found = std::find_if(self.unexpected.begin(), self.unexpected.end(),
                                  [&key](const Arrived& arrived) { return arrived.key == key; });
  if (found == self.unexpected.end()) return false;
  message = std::move(*found);
  self.unexpected.erase(found);
  return true;
}

void Network::recv(Process& process, const Call& call, int peer, Completion<Payload> done) {
  const int source = call.group->world_rank(peer);
  PendingOp& op = process.begin(WaitInfo(EventKind::kRecv, call, source), std::move(done));
  op.not_before = kernel_.now();
  kernel_.arm_deadline(op, call.timeout);
  receive(process, call, source, op);
}

void Network::exchange(Process& process, const Call& call, int to, Payload payload, int from,
                       Completion<Payload> done) {
  const int source = call.group->world_rank(from);
  PendingOp& op = process.begin(WaitInfo(EventKind::kExchange, call, source), std::move(done));
  exchange(op, call, call.offset, call.group->world_rank(to), std::move(payload), source);
}

void Network::exchange(PendingOp& op, const Call& call, std::int64_t offset, int destination, Payload payload,
                       int source) {
  const Process& process = *op.process;
  op.error = refusal(endpoint(process.rank()), process, call, destination);
  if (op.error != nullptr) {
    kernel_.complete_at(kernel_.now(), op);
    return;
  }
  const Departure departure = transmit(process.rank(), call, offset, destination, std::move(payload));
  op.not_before = departure.left;
  kernel_.arm_deadline(op, call.timeout);
  if (departure.left == kLeavesLater) {
    Leaving& later = leaving(departure.slot);
    later.op = handle_of(op);
    later.exchange = call;
    later.source = source;
    return;
  }
  receive(process, call, source, op);
}

// The receiving half of both: takes a message that is here, or waits for one.
void Network::receive(const Process& process, const Call& call, int source, PendingOp& op) {
  Endpoint& self = endpoint(process.rank());
  const Key key = key_of(call, source);
  Arrived arrived;
  if (take_unexpected(self, key, arrived)) {
    give(self, op, call.fingerprint(), std::move(arrived), false);
    return;
  }
  op.error = refusal(self, process, call, source);
  if (op.error != nullptr) {
    kernel_.complete_at(kernel_.now(), op);
    return;
  }
  post(self, key, op, call);
}

void Network::post(Endpoint& self, const Key& key, PendingOp& op, const Call& call) {
  if (call.timeout != kForever) {
    // What timed out before goes, so that polling does not pile it up.
    erase_if(self.posted,
             [&](const Posted& posted) { return posted.key == key && kernel_.ops().find(posted.op) == nullptr; });
  }
  self.posted.push_back(Posted{key, call.fingerprint(), handle_of(op)});
}

void Network::give(Endpoint& self, PendingOp& op, const Fingerprint& about, Arrived message, bool from_event) {
  if (!(message.about == about)) {
    const int rank = op.process->rank();
    const std::string detail = "rank " + std::to_string(rank) + " calls " + text_of(about) + ", rank " +
                               std::to_string(message.key.source) + " " + text_of(message.about);
    const WaitInfo& wait = op.wait;
    op.error = std::make_exception_ptr(CommError(CommError::Kind::kMismatch, wait.group_id, wait.generation,
                                                 wait.sequence, rank, wait.peer, wait.operation, detail));
    kernel_.disarm_deadline(op);
    kernel_.complete_at(kernel_.now(), op);
    return;
  }
  if (from_event && op.not_before <= kernel_.now()) {
    kernel_.complete(op, nullptr, std::move(message.payload));
    return;
  }
  const TimePoint when = std::max(op.not_before, kernel_.now());
  if (op.deadline_list >= 0 && when > op.deadline) {
    // It will time out before its own message has left; the one that came is for the next receive.
    self.unexpected.push_back(std::move(message));
    return;
  }
  kernel_.disarm_deadline(op);
  op.result = std::move(message.payload);
  kernel_.complete_at(when, op);
}

void Network::on_delivered(std::uint64_t slot) {
  Message& message = in_flight_[slot];
  if (kernel_.is_heard()) {
    EventRecord record = record_of(slot);
    record.kind = EventKind::kDelivery;
    record.digest = message.payload.digest();
    kernel_.record(record);
  }
  const Key key = message.key;
  const int destination = message.destination;
  const Fingerprint about = message.about;
  Payload payload = std::move(message.payload);
  message.destination = -1;
  free_messages_.push_back(static_cast<std::uint32_t>(slot));

  Endpoint& self = endpoint(destination);
  // A dead process receives nothing, and a message of an old or aborted generation reaches nobody. One of a generation
  // that this rank has not started yet waits for it.
  const bool heard = (self.alive ? key.generation >= self.generation : key.generation > self.generation) &&
                     static_cast<std::int64_t>(key.generation) > self.aborted_generation;
  if (heard) {
    TrafficCounters& counters = counters_of(destination, about.operation);
    ++counters.messages_received;
    counters.bytes_received += payload.size();
    PendingOp* waiting = nullptr;
    Fingerprint expected;
    for (auto posted = self.posted.begin(); posted != self.posted.end();) {
      if (!(posted->key == key)) {
        ++posted;
        continue;
      }
      waiting = kernel_.ops().find(posted->op);
      expected = posted->about;
      posted = self.posted.erase(posted);
      if (waiting != nullptr) break;  // else it timed out: the next one of the key
    }
    if (waiting != nullptr) {
      give(self, *waiting, expected, Arrived{key, about, std::move(payload)}, true);
    } else {
      self.unexpected.push_back(Arrived{key, about, std::move(payload)});
    }
  }
  if (!any_known_lost_) return;
  const std::int64_t lost = endpoint(key.source).known_lost_generation;
  if (lost >= 0) fail_waiting_for(key.source, destination, lost);
}

// A send is done; an exchange can take its message from now on. What came before waits for it meanwhile.
void Network::on_left(std::uint64_t slot) {
  if (slot >= leaving_.size()) return;
  const Leaving left = std::exchange(leaving_[slot], Leaving());
  if (!left.op.has_value()) return;
  PendingOp* op = kernel_.ops().find(*left.op);
  if (op == nullptr || op->error != nullptr) return;  // it timed out, failed, or died with its rank
  op->not_before = kernel_.now();
  if (left.exchange.has_value()) {
    receive(*op->process, *left.exchange, left.source, *op);
  } else {
    kernel_.disarm_deadline(*op);
    kernel_.complete_at(kernel_.now(), *op);
  }
}

void Network::on_corrupted(std::uint64_t slot, std::uint64_t bit) {
  Message& message = in_flight_[slot];
  if (!message.payload.has_data()) return;  // a shape
  const std::span<const std::byte> right = message.payload.bytes();
  auto [wrong, bytes] = corrupted_.make(message.payload.size());
  std::copy(right.begin(), right.end(), bytes.begin());
  bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  message.payload = std::move(wrong);
}

void Network::on_dropped(std::uint64_t slot) {
  Message& message = in_flight_[slot];
  const int source = message.key.source;
  const int destination = message.destination;
  message.payload = Payload();
  message.destination = -1;
  free_messages_.push_back(static_cast<std::uint32_t>(slot));
  const std::int64_t lost = endpoint(source).known_lost_generation;
  if (lost >= 0) fail_waiting_for(source, destination, lost);
}

void Network::on_broken(int source, int destination, std::uint32_t generation) {
  endpoint(source).broken.push_back(Broken{destination, generation});
  endpoint(destination).broken.push_back(Broken{source, generation});
  fail_posted(source, destination, generation);
  fail_posted(destination, source, generation);
}

EventRecord Network::record_of(std::uint64_t slot) const {
  const Message& message = in_flight_[slot];
  EventRecord record;
  record.rank = message.destination;
  record.peer = message.key.source;
  record.group = message.key.group_id;
  record.generation = message.key.generation;
  record.call = message.key.sequence;
  record.operation = message.about.operation;
  record.size = message.payload.size().count();
  record.index = message.about.unit;
  record.offset = message.offset;
  return record;
}

void Network::abort(Process& process, std::uint32_t generation) {
  Endpoint& self = endpoint(process.rank());
  self.aborted_generation = std::max(self.aborted_generation, static_cast<std::int64_t>(generation));
  process.for_each_pending([&](PendingOp& op) {
    if (!op.wait.in_call || op.wait.generation > generation || op.error != nullptr) return;
    process.fail(op, error(CommError::Kind::kAborted, op.wait, process.rank()));
  });
  erase_if(self.posted, [&](const Posted& posted) { return posted.key.generation <= generation; });
  erase_if(self.unexpected, [&](const Arrived& arrived) { return arrived.key.generation <= generation; });
}

void Network::on_process_started(int rank, std::uint32_t generation) {
  Endpoint& self = endpoint(rank);
  CHECK(!self.alive);
  // A message of the old incarnation must not match a receive of the new one.
  CHECK(self.incarnation == 0 || generation > self.generation);
  self.alive = true;
  ++self.incarnation;
  self.generation = generation;
  std::erase_if(self.broken, [generation](const Broken& broken) { return broken.generation < generation; });
  fabric_->on_started(rank, generation);
  self.known_lost_generation = std::min(self.known_lost_generation, static_cast<std::int64_t>(generation) - 1);
  self.posted.clear();
  erase_if(self.unexpected, [&](const Arrived& arrived) { return arrived.key.generation < generation; });
}

void Network::on_process_lost(int rank) {
  Endpoint& self = endpoint(rank);
  CHECK(self.alive);
  self.alive = false;
  kernel_.schedule(kernel_.now() + fabric_->latency(), this,
                   std::uint64_t{self.incarnation} << 32 | static_cast<std::uint32_t>(rank));
}

void Network::on_host_lost(int rank) {
  Endpoint& self = endpoint(rank);
  CHECK(self.alive);
  self.alive = false;
  fabric_->on_host_lost(rank);
}

void Network::on_fenced(int rank, Process& process) {
  on_host_lost(rank);
  process.for_each_pending([&](PendingOp& op) {
    if (!op.wait.in_call || op.error != nullptr) return;
    process.fail(op, error(CommError::Kind::kFenced, op.wait, rank));
  });
  endpoint(rank).posted.clear();
}

void Network::on_event(std::uint64_t argument) {
  if ((argument & kSelfBit) != 0) {
    on_delivered(argument & ~kSelfBit);
    return;
  }
  const int gone = static_cast<int>(argument & 0xffffffff);
  if (kernel_.is_heard()) {
    EventRecord record(EventKind::kPeerLost);
    record.rank = gone;
    kernel_.record(record);
  }
  any_known_lost_ = true;
  Endpoint& peer = endpoint(gone);
  std::int64_t generation = peer.generation;
  if (peer.incarnation == static_cast<std::uint32_t>(argument >> 32)) {
    peer.known_lost_generation = generation;
  } else {
    --generation;  // it has been started again meanwhile; who waits in an older generation waits in vain
    peer.known_lost_generation = std::max(peer.known_lost_generation, generation);
  }
  for (int rank = 0; rank < ranks(); ++rank) fail_waiting_for(gone, rank, generation);
}

bool Network::anything_underway(int source, int destination) const {
  return std::any_of(in_flight_.begin(), in_flight_.end(), [&](const Message& message) {
    return message.destination == destination && message.key.source == source;
  });
}

// Unless a message is still on its way that may satisfy them: its delivery asks again.
void Network::fail_waiting_for(int source, int destination, std::int64_t up_to_generation) {
  Endpoint& self = endpoint(destination);
  const auto waits = [&](const Posted& posted) {
    return posted.key.source == source && static_cast<std::int64_t>(posted.key.generation) <= up_to_generation;
  };
  if (std::none_of(self.posted.begin(), self.posted.end(), waits) || anything_underway(source, destination)) return;
  fail_posted(destination, source, up_to_generation);
}

void Network::fail_posted(int rank, int source, std::int64_t up_to_generation) {
  erase_if(endpoint(rank).posted, [&](const Posted& posted) {
    if (posted.key.source != source || static_cast<std::int64_t>(posted.key.generation) > up_to_generation) {
      return false;
    }
    if (PendingOp* op = kernel_.ops().find(posted.op); op != nullptr) {
      op->error = error(CommError::Kind::kPeerLost, op->wait, rank);
      kernel_.complete_at(kernel_.now(), *op);
    }
    return true;
  });
}

const TrafficCounters& Network::counters(int rank, Operation operation) const {
  static const TrafficCounters kNone;
  const std::vector<TrafficCounters>& counters = counters_[static_cast<std::size_t>(operation)];
  return counters.empty() ? kNone : counters[static_cast<std::size_t>(rank)];
}

}  // namespace rehearse
