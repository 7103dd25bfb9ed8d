#include "sim/net/transport.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

// What an event's argument is about: the timer of a connection, an acknowledgement (a packet), or a packet whose turn
// has come.
constexpr std::uint64_t kTimerBit = std::uint64_t{1} << 62;
constexpr std::uint64_t kAckBit = std::uint64_t{1} << 61;

constexpr Duration kLeastTimeout = Duration::microseconds(1);

Duration scaled(Duration duration, std::int64_t ppb) {
  const __int128 product = static_cast<__int128>(duration.ps()) * ppb / 1'000'000'000;
  const __int128 most = std::int64_t{1} << 62;
  return Duration::picoseconds(static_cast<std::int64_t>(std::min(product, most)));
}

}  // namespace

Transport::Transport(Kernel& kernel, FabricListener& listener, const TransportConfig& config,
                     const NetworkConfig& network, int ranks, LinkConditions* conditions)
    : kernel_(kernel),
      listener_(listener),
      config_(config),
      network_(network),
      conditions_(conditions),
      generation_(static_cast<std::size_t>(ranks), 0),
      host_lost_(static_cast<std::size_t>(ranks), false) {}

std::uint32_t Transport::connection_of(int source, int destination, std::uint32_t generation) {
  const auto [place, is_new] = open_.try_emplace(ConnectionKey(source, destination, generation),
                                                 static_cast<std::uint32_t>(connections_.size()));
  if (is_new) {
    Connection& connection = connections_.emplace_back();
    connection.source = source;
    connection.destination = destination;
    connection.generation = generation;
  }
  return place->second;
}

std::uint32_t Transport::take_packet(const Packet& packet) {
  if (free_packets_.empty()) {
    packets_.push_back(packet);
    return static_cast<std::uint32_t>(packets_.size() - 1);
  }
  const std::uint32_t slot = free_packets_.back();
  free_packets_.pop_back();
  packets_[slot] = packet;
  return slot;
}

Duration Transport::first_timeout(Bytes size) const {
  if (config_.retransmission_timeout.has_value()) return *config_.retransmission_timeout;
  const Duration usual = network_.latency + network_.jitter + transfer_time(size, network_.bandwidth);
  return std::max(kLeastTimeout, 4 * usual);
}

TimePoint Transport::start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) {
  CHECK(effect == nullptr);
  Outgoing sent;
  sent.record = listener_.record_of(message);
  sent.timeout = first_timeout(bytes);
  const std::uint32_t index = connection_of(source, destination, sent.record.generation);
  Connection& connection = connections_[index];
  const std::uint64_t number = connection.first + connection.outgoing.size();
  connection.outgoing.push_back(sent);
  connection.undelivered.push_back(message);
  ++counters_.messages;
  return transmit(index, number);
}

TimePoint Transport::transmit(std::uint32_t index, std::uint64_t number) {
  Connection& connection = connections_[index];
  Outgoing& sent = connection.outgoing[number - connection.first];
  const Bytes size(sent.record.size);
  PacketFate fate;
  if (conditions_ != nullptr) {
    fate = conditions_->fate_of(LinkPacket(connection.source, connection.destination, size, false), kernel_.now());
  }
  Packet packet;
  packet.connection = index;
  packet.number = number;
  packet.record = sent.record;
  packet.corrupted = fate.corrupted;
  packet.bit = fate.bit;

  std::uint32_t slot = 0;
  if (fate.path.lost) {
    ++counters_.lost;
    record(PacketFault::kLost, sent.record);
  } else {
    slot = take_packet(packet);
    if (fate.path.copied) {
      fate.path.copy = take_packet(packet);
      ++counters_.copied;
      record(PacketFault::kCopied, sent.record);
    }
    if (fate.path.aside > Duration()) {
      ++counters_.set_aside;
      record(PacketFault::kSetAside, sent.record);
    }
    if (fate.delayed) {
      ++counters_.delayed;
      record(PacketFault::kDelayed, sent.record);
    }
    if (fate.corrupted) {
      ++counters_.bits_inverted;
      record(PacketFault::kBitInverted, sent.record);
    }
  }
  const TimePoint left = fabric_->send(connection.source, connection.destination, size, slot, fate.path);
  sent.deadline = left + sent.timeout;
  arm(index, sent.deadline);
  return left;
}

// One event a connection is enough: it comes at the earliest deadline, and asks for the next.
void Transport::arm(std::uint32_t index, TimePoint deadline) {
  Connection& connection = connections_[index];
  if (connection.armed && connection.wakes <= deadline) return;
  connection.armed = true;
  connection.wakes = deadline;
  kernel_.schedule(deadline, this, kTimerBit | index);
}

void Transport::arm_earliest(std::uint32_t index) {
  const Outgoing* earliest = nullptr;
  for (const Outgoing& sent : connections_[index].outgoing) {
    if (!sent.acknowledged && (earliest == nullptr || sent.deadline < earliest->deadline)) earliest = &sent;
  }
  if (earliest != nullptr) arm(index, earliest->deadline);
}

bool Transport::finds_corruption(const Packet& packet) const {
  return packet.corrupted && (config_.checksums || packet.record.index < 0);
}

void Transport::on_delivered(std::uint64_t slot) {
  const Packet packet = packets_[slot];
  const std::uint32_t index = packet.connection;
  Connection& connection = connections_[index];
  const auto destination = static_cast<std::size_t>(connection.destination);
  const bool outdated = connection.generation < generation_[destination];
  if (connection.gone || outdated || host_lost_[destination]) {
    record(EventKind::kPacketRefused, packet.record);
    ++counters_.refused;
    give_back(slot);
    // Nobody answers for a lost host.
    if (!connection.gone && outdated && !host_lost_[destination]) forget(index);
    return;
  }
  if (finds_corruption(packet)) {
    record(EventKind::kPacketCorrupt, packet.record);
    ++counters_.corrupt;
    give_back(slot);
    return;
  }
  if (packet.number < connection.awaited || connection.held.contains(packet.number)) {
    record(EventKind::kPacketAgain, packet.record);
    ++counters_.again;
    give_back(slot);
    acknowledge(index, packet);
    return;
  }
  ++counters_.accepted;
  if (packet.number > connection.awaited) {
    record(EventKind::kPacketHeld, packet.record);
    ++counters_.held;
    connection.held.emplace(packet.number, static_cast<std::uint32_t>(slot));
    acknowledge(index, packet);
    return;
  }
  // What is released by an event of this moment and has not come to it goes first.
  const bool at_once = connection.releasing == 0;
  if (!at_once) {
    record(EventKind::kPacketHeld, packet.record);
    connection.held.emplace(packet.number, static_cast<std::uint32_t>(slot));
  } else {
    ++connection.awaited;
  }
  while (!connection.held.empty() && connection.held.begin()->first == connection.awaited) {
    kernel_.schedule(kernel_.now(), this, connection.held.begin()->second);
    connection.held.erase(connection.held.begin());
    ++connection.releasing;
    ++connection.awaited;
  }
  // The delivery first, because it is what this event's record says; whoever waits for the message goes on at once.
  if (at_once) deliver(slot);
  acknowledge(index, packet);
}

void Transport::deliver(std::uint64_t slot) {
  const Packet packet = packets_[slot];
  give_back(slot);
  Connection& connection = connections_[packet.connection];
  const std::uint64_t message = connection.undelivered.front();
  connection.undelivered.pop_front();
  ++counters_.delivered;
  if (packet.corrupted) {
    ++counters_.corrupt_taken;
    listener_.on_corrupted(message, packet.bit);
  }
  listener_.on_delivered(message);
}

void Transport::acknowledge(std::uint32_t index, const Packet& packet) {
  const Connection& connection = connections_[index];
  ++counters_.acks;
  PacketFate fate;
  if (conditions_ != nullptr) {
    fate = conditions_->fate_of(LinkPacket(connection.destination, connection.source, Bytes(), true), kernel_.now());
  }
  Packet ack;
  ack.connection = index;
  ack.number = packet.number;
  ack.awaited = connection.awaited;
  ack.record = packet.record;
  std::swap(ack.record.rank, ack.record.peer);
  ack.record.size = 0;
  if (fate.path.lost || fate.corrupted) {
    ++counters_.acks_lost;
    record(fate.path.lost ? PacketFault::kLost : PacketFault::kBitInverted, ack.record);
    return;
  }
  const TimePoint arrival = kernel_.now() + fabric_->latency() + fate.path.added + fate.path.aside;
  kernel_.schedule(arrival, this, kAckBit | take_packet(ack));
  if (fate.path.copied) kernel_.schedule(arrival + fate.path.copy_after, this, kAckBit | take_packet(ack));
}

void Transport::on_event(std::uint64_t argument) {
  if ((argument & kTimerBit) != 0) {
    on_timer(static_cast<std::uint32_t>(argument & ~kTimerBit));
  } else if ((argument & kAckBit) != 0) {
    on_ack(argument & ~kAckBit);
  } else {
    Connection& connection = connections_[packets_[argument].connection];
    --connection.releasing;
    if (connection.gone) {
      record(EventKind::kStale, EventRecord());
      give_back(argument);
    } else {
      deliver(argument);
    }
  }
}

void Transport::on_ack(std::uint64_t slot) {
  const Packet ack = packets_[slot];
  give_back(slot);
  Connection& connection = connections_[ack.connection];
  record(EventKind::kAck, ack.record);
  if (connection.gone || host_lost_[static_cast<std::size_t>(connection.source)]) return;
  const std::uint64_t end = connection.first + connection.outgoing.size();
  if (ack.number >= connection.first && ack.number < end) {
    connection.outgoing[ack.number - connection.first].acknowledged = true;
  }
  while (!connection.outgoing.empty() && (connection.outgoing.front().acknowledged || connection.first < ack.awaited)) {
    connection.outgoing.pop_front();
    ++connection.first;
  }
}

void Transport::on_timer(std::uint32_t index) {
  Connection& connection = connections_[index];
  const bool current = connection.armed && connection.wakes == kernel_.now();
  const bool silent = connection.gone || host_lost_[static_cast<std::size_t>(connection.source)];
  if (!current || silent) {
    record(EventKind::kStale, EventRecord());
    return;
  }
  connection.armed = false;
  const auto due = std::find_if(connection.outgoing.begin(), connection.outgoing.end(), [&](const Outgoing& sent) {
    return !sent.acknowledged && sent.deadline <= kernel_.now();
  });
  if (due == connection.outgoing.end()) {
    record(EventKind::kStale, EventRecord());
    arm_earliest(index);
    return;
  }
  if (due->retries == config_.max_retries) {
    record(EventKind::kConnectionBroken, due->record);
    break_between(connection.source, connection.destination, connection.generation);
    return;
  }
  record(EventKind::kRetransmission, due->record);
  ++due->retries;
  due->timeout = std::max(due->timeout, std::min(config_.max_timeout, scaled(due->timeout, config_.backoff_ppb)));
  ++counters_.retransmitted;
  counters_.bytes_retransmitted += Bytes(due->record.size);
  transmit(index, connection.first + static_cast<std::uint64_t>(due - connection.outgoing.begin()));
  arm_earliest(index);
}

void Transport::break_between(int source, int destination, std::uint32_t generation) {
  ++counters_.broken;
  for (const auto& [from, to] : {std::pair(source, destination), std::pair(destination, source)}) {
    const auto found = open_.find(ConnectionKey(from, to, generation));
    if (found != open_.end()) forget(found->second);
  }
  listener_.on_broken(source, destination, generation);
}

void Transport::forget(std::uint32_t index) {
  Connection& connection = connections_[index];
  CHECK(!connection.gone);
  connection.gone = true;
  open_.erase(ConnectionKey(connection.source, connection.destination, connection.generation));
  for (const auto& [number, slot] : connection.held) give_back(slot);
  connection.held.clear();
  connection.outgoing.clear();
  const std::deque<std::uint64_t> undelivered = std::exchange(connection.undelivered, {});
  for (const std::uint64_t message : undelivered) listener_.on_dropped(message);
}

void Transport::on_started(int rank, std::uint32_t generation) {
  const bool host_was_lost = host_lost_[static_cast<std::size_t>(rank)];
  host_lost_[static_cast<std::size_t>(rank)] = false;
  generation_[static_cast<std::size_t>(rank)] = generation;
  std::vector<std::uint32_t> old;
  for (const auto& [key, index] : open_) {
    const Connection& connection = connections_[index];
    if (connection.generation >= generation) continue;
    // What a process sent before it crashed may still reach those of its own generation, unless its host went with it.
    if (connection.destination == rank || (connection.source == rank && host_was_lost)) old.push_back(index);
  }
  for (const std::uint32_t index : old) forget(index);
}

void Transport::on_host_lost(int rank) { host_lost_[static_cast<std::size_t>(rank)] = true; }

void Transport::record(EventKind kind, const EventRecord& of) const {
  if (!kernel_.is_heard()) return;
  EventRecord made = of;
  made.kind = kind;
  kernel_.record(made);
}

void Transport::record(PacketFault fault, EventRecord of) const {
  if (!kernel_.is_heard()) return;
  of.kind = EventKind::kPacketFault;
  of.index = static_cast<std::int32_t>(fault);
  of.offset = -1;
  kernel_.record(of);
}

}  // namespace rehearse
