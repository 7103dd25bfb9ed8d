#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/kernel/kernel.h"
#include "sim/net/config.h"
#include "sim/net/fabric.h"
#include "sim/net/link_conditions.h"

namespace rehearse {

// Packets of a run, over all links. messages + retransmitted + copied = accepted + lost + again + corrupt + refused +
// what is still on its way.
struct TransportCounters {
  std::int64_t messages = 0;       // handed over; each is one packet
  std::int64_t delivered = 0;      // of them, in order
  std::int64_t retransmitted = 0;  // packets
  Bytes bytes_retransmitted;       // of payload
  std::int64_t copied = 0;         // by the network
  std::int64_t lost = 0;           // by the network
  std::int64_t set_aside = 0;      // by the network, for others to overtake
  std::int64_t delayed = 0;        // by the network, with what is behind them
  std::int64_t bits_inverted = 0;  // packets that the network inverted a bit of
  std::int64_t accepted = 0;       // at their receivers
  std::int64_t held = 0;           // of them, before one that was sent earlier
  std::int64_t again = 0;          // duplicates dropped
  std::int64_t corrupt = 0;        // found by their checksums, dropped
  std::int64_t corrupt_taken = 0;  // messages delivered with a wrong bit
  std::int64_t refused = 0;        // for a process, a host or a connection that is gone
  std::int64_t acks = 0;           // sent
  std::int64_t acks_lost = 0;      // by the network, or by their checksums
  std::int64_t broken = 0;         // connections that were given up
  std::int64_t on_their_way() const {
    return messages + retransmitted + copied - accepted - lost - again - corrupt - refused;
  }
};

// Reliable, in-order delivery over a fabric that loses, copies, reorders and corrupts; a fabric itself, for the
// Network.
//
// Each (source, destination, generation of the job) is a connection. Its packets are numbered from 0 and kept until
// they are acknowledged; a packet that is not acknowledged in time is sent again, each time with a longer timeout
// (config.h), and once too often breaks the connection: both directions between the two ranks, in that generation, as
// when both ends' keep-alives run out. The receiver delivers in the order of the numbers, holds what comes too early,
// and drops what it had before or what has a wrong checksum. It acknowledges each packet by its number, with the number
// that it waits for, so that a later acknowledgement makes up for a lost one. Acknowledgements take a latency and what
// the link adds, and no bandwidth; those with a wrong checksum count as lost.
//
// The transport belongs to the host: what a process sent before it crashed is sent again like anything else. A host
// that is lost sends nothing and answers nothing. A process that is started refuses packets of older generations.
//
// A checksum finds every inverted bit. Without checksums only the model's state (messages with a unit) is unprotected:
// the sizes and texts that ranks tell each other keep theirs, and so do acknowledgements.
class Transport : public Fabric, public FabricListener, private EventSink {
 public:
  // `conditions` may be null: whole links.
  Transport(Kernel& kernel, FabricListener& listener, const TransportConfig& config, const NetworkConfig& network,
            int ranks, LinkConditions* conditions);

  // The fabric below, whose listener this is. Before the first message.
  void set_fabric(std::unique_ptr<Fabric> fabric) { fabric_ = std::move(fabric); }

  const TransportCounters& counters() const { return counters_; }

  Duration latency() const override { return fabric_->latency(); }
  void on_started(int rank, std::uint32_t generation) override;
  void on_host_lost(int rank) override;

  // From the fabric below: a packet is there.
  void on_delivered(std::uint64_t packet) override;
  EventRecord record_of(std::uint64_t packet) const override { return packets_[packet].record; }

 protected:
  TimePoint start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) override;

 private:
  // What is on its way, is held, or is acknowledged.
  struct Packet {
    std::uint32_t connection = 0;
    std::uint64_t number = 0;
    std::uint64_t awaited = 0;  // ack: what the receiver waits for
    EventRecord record;
    bool corrupted = false;
    std::uint64_t bit = 0;
  };
  // What was sent and may have to be sent again.
  struct Outgoing {
    EventRecord record;
    Duration timeout;    // the next
    TimePoint deadline;  // when it is sent again
    int retries = 0;
    bool acknowledged = false;
  };
  struct Connection {
    int source = 0;
    int destination = 0;
    std::uint32_t generation = 0;
    bool gone = false;
    // At the source.
    std::deque<Outgoing> outgoing;
    std::uint64_t first = 0;  // number of its front
    bool armed = false;       // an event will come at `wakes`
    TimePoint wakes;
    // At the destination.
    std::uint64_t awaited = 0;
    std::map<std::uint64_t, std::uint32_t> held;  // packets by number, all above `awaited`
    std::int64_t releasing = 0;                   // packets whose turn has come, by events at this moment
    std::deque<std::uint64_t> undelivered;        // the listener's messages, in order
  };
  using ConnectionKey = std::tuple<int, int, std::uint32_t>;

  std::uint32_t connection_of(int source, int destination, std::uint32_t generation);
  std::uint32_t take_packet(const Packet& packet);
  void give_back(std::uint64_t packet) { free_packets_.push_back(static_cast<std::uint32_t>(packet)); }
  Duration first_timeout(Bytes size) const;

  // Puts a packet on its way, first or again; returns when it has left.
  TimePoint transmit(std::uint32_t index, std::uint64_t number);
  void arm(std::uint32_t index, TimePoint deadline);
  void arm_earliest(std::uint32_t index);
  void acknowledge(std::uint32_t index, const Packet& packet);
  bool finds_corruption(const Packet& packet) const;
  void deliver(std::uint64_t packet);
  void on_event(std::uint64_t argument) override;
  void on_ack(std::uint64_t packet);
  void on_timer(std::uint32_t index);
  void break_between(int source, int destination, std::uint32_t generation);
  void forget(std::uint32_t index);
  void record(EventKind kind, const EventRecord& of) const;
  void record(PacketFault fault, EventRecord of) const;

  Kernel& kernel_;
  FabricListener& listener_;
  TransportConfig config_;
  NetworkConfig network_;
  LinkConditions* conditions_;
  std::unique_ptr<Fabric> fabric_;
  std::deque<Connection> connections_;  // each has its index for ever
  std::map<ConnectionKey, std::uint32_t> open_;
  std::vector<Packet> packets_;  // slots
  std::vector<std::uint32_t> free_packets_;
  std::vector<std::uint32_t> generation_;  // of each rank's latest process
  std::vector<bool> host_lost_;
  TransportCounters counters_;
};

}  // namespace rehearse
