#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/runtime/communicator.h"
#include "sim/kernel/process.h"
#include "sim/net/fabric.h"

namespace rehearse {

// Messages and bytes of one rank and operation.
struct TrafficCounters {
  std::int64_t messages_sent = 0;
  std::int64_t messages_received = 0;
  Bytes bytes_sent;
  Bytes bytes_received;
};

// Every rank's mailbox: matches messages with receives by (source, group, generation, sequence), in the order they
// came. The fabric says when a message is there.
class Network : public FabricListener, private EventSink, private RowOfWaits {
 public:
  Network(Kernel& kernel, int ranks);

  // Before the first message.
  void set_fabric(std::unique_ptr<Fabric> fabric) { fabric_ = std::move(fabric); }
  // What links have carried; after set_fabric().
  const Fabric& fabric() const { return *fabric_; }
  int ranks() const { return static_cast<int>(endpoints_.size()); }
  // Hears of each message that a rank has sent.
  void set_send_listener(std::function<void(int rank)> listener) { on_sent_ = std::move(listener); }

  // Operations of a rank's process; see Communicator.
  void send(Process& process, const Call& call, int peer, Payload payload, Completion<> done);
  void recv(Process& process, const Call& call, int peer, Completion<Payload> done);
  void exchange(Process& process, const Call& call, int to, Payload payload, int from, Completion<Payload> done);
  void exchange_all(Process& process, const Call& call, const ExchangeSchedule& schedule, Completion<> done);
  void abort(Process& process, std::uint32_t generation);

  // Whether communicators take schedules: true, but where somebody hears of each operation. Without, collectives send
  // the same messages by themselves.
  bool takes_schedules() const { return takes_schedules_ && kernel_.operations() == nullptr; }
  void set_takes_schedules(bool takes) { takes_schedules_ = takes; }

  // A process of the job's `generation` now runs on the rank; it gets no message of an older one.
  void on_process_started(int rank, std::uint32_t generation);
  // The rank's process is gone, crashed or ended: what it sent still arrives; then, not before one latency from now,
  // whoever waits for it or later calls it in that generation gets CommError kPeerLost.
  void on_process_lost(int rank);
  // The same, but nobody is told: who waits for it waits.
  void on_host_lost(int rank);
  // Another process takes the rank's place while this one lives on: what it waits for, and whatever it calls from now
  // on, fails with CommError kFenced, once the ranks' new generation has started.
  void on_fenced(int rank, Process& process);

  const TrafficCounters& counters(int rank, Operation operation) const;
  // Over all ranks and operations; sent.
  std::int64_t messages() const { return messages_; }
  Bytes bytes_on_wire() const { return bytes_; }

  // What a message in flight is, but for its kind.
  EventRecord record_of(std::uint64_t message) const override;

  void on_delivered(std::uint64_t message) override;
  void expect_delivery(std::uint64_t message) const override;
  void on_left(std::uint64_t message) override;
  // From a reliable transport (fabric.h).
  void on_corrupted(std::uint64_t message, std::uint64_t bit) override;
  void on_dropped(std::uint64_t message) override;
  void on_broken(int source, int destination, std::uint32_t generation) override;

 private:
  struct Key {
    int source = 0;
    std::uint32_t group_id = 0;
    std::uint32_t generation = 0;
    std::uint64_t sequence = 0;
    bool operator==(const Key&) const = default;
  };
  struct Posted {
    Key key;
    Fingerprint about;
    OpHandle op;
  };
  struct Arrived {
    Key key;
    Fingerprint about;
    Payload payload;
  };
  struct Message {
    Key key;
    int destination = -1;  // -1: the slot is free
    Fingerprint about;
    std::int64_t offset = -1;
    Payload payload;
  };
  // The operation that waits until a message has left, where the fabric did not know when.
  struct Leaving {
    std::optional<OpHandle> op;
    std::optional<Call> exchange;  // its receiving half, from the world rank `source`
    int source = -1;
  };
  // When a message has left, or kLeavesLater; and its slot.
  struct Departure {
    TimePoint left;
    std::uint32_t slot = 0;
  };
  // A connection that the transport gave up.
  struct Broken {
    int peer;
    std::uint32_t generation;
  };
  struct Endpoint {
    std::int64_t aborted_generation = -1;
    std::int64_t known_lost_generation = -1;  // the process is gone and peers can know: one latency has passed
    bool alive = false;
    std::uint32_t incarnation = 0;
    std::uint32_t generation = 0;  // of the latest process
    // Nearly always one at most, which has its place here.
    boost::container::small_vector<Posted, 1> posted;
    boost::container::small_vector<Arrived, 1> unexpected;
    std::vector<Broken> broken;
  };

  static Key key_of(const Call& call, int source);
  Endpoint& endpoint(int rank) { return endpoints_[static_cast<std::size_t>(rank)]; }
  TrafficCounters& counters_of(int rank, Operation operation);
  // Why an operation cannot start, or null.
  std::exception_ptr refusal(const Endpoint& self, const Process& process, const Call& call, int peer) const;
  static std::exception_ptr error(CommError::Kind kind, const WaitInfo& wait, int rank);
  // Puts the message on its way. `offset`: see Call.
  Departure transmit(int source, const Call& call, std::int64_t offset, int destination, Payload payload);
  // Both halves, of an operation that has begun; world ranks.
  void exchange(PendingOp& op, const Call& call, std::int64_t offset, int destination, Payload payload, int source);
  // Of a message that was just sent.
  void tell_activities(std::uint32_t slot, TimePoint left) const;
  void begin_step(PendingOp& op);
  bool go_on(PendingOp& op, const Payload& received) override;
  Leaving& leaving(std::uint32_t slot);
  // Takes the oldest arrived message of `key`.
  bool take_unexpected(Endpoint& self, const Key& key, Arrived& message);
  void receive(const Process& process, const Call& call, int source, PendingOp& op);
  void post(Endpoint& self, const Key& key, PendingOp& op, const Call& call);
  // Finishes a receive or an exchange, whose call is `about`, with its message; inline where `from_event` and nothing
  // else is to wait for. A message of another call than the receiver's fails it.
  void give(Endpoint& self, PendingOp& op, const Fingerprint& about, Arrived message, bool from_event);
  bool anything_underway(int source, int destination) const;
  bool is_broken(const Endpoint& self, int peer, std::uint32_t generation) const;
  void fail_posted(int rank, int source, std::int64_t up_to_generation);
  void fail_waiting_for(int source, int destination, std::int64_t up_to_generation);
  void on_event(std::uint64_t argument) override;

  Kernel& kernel_;
  std::unique_ptr<Fabric> fabric_;
  std::function<void(int)> on_sent_;
  bool takes_schedules_ = true;
  std::vector<Endpoint> endpoints_;
  bool any_known_lost_ = false;                                     // whether any endpoint ever was
  std::array<std::vector<TrafficCounters>, kOperations> counters_;  // by rank; empty where nobody ever sent
  std::vector<Message> in_flight_;                                  // slots
  std::vector<std::uint32_t> free_messages_;
  std::vector<Leaving> leaving_;  // by slot, as far as any was needed
  std::int64_t messages_ = 0;
  Bytes bytes_;
  PayloadPool corrupted_{nullptr};  // copies with a wrong bit
};

// A rank's view of the network.
class SimCommunicator : public Communicator {
 public:
  // Of a job of `world_size` ranks: the network's first ones.
  SimCommunicator(Network& network, Process& process, PayloadPool& pool, int world_size)
      : network_(network), process_(process), pool_(pool), world_size_(world_size) {}
  int rank() const override { return process_.rank(); }
  int world_size() const override { return world_size_; }
  PayloadPool& pool() override { return pool_; }
  bool takes_schedules() const override { return network_.takes_schedules(); }
  void abort(std::uint32_t generation) override { network_.abort(process_, generation); }

 protected:
  void start_send(const Call& call, int peer, Payload payload, Completion<> done) override {
    network_.send(process_, call, peer, std::move(payload), std::move(done));
  }
  void start_recv(const Call& call, int peer, Completion<Payload> done) override {
    network_.recv(process_, call, peer, std::move(done));
  }
  void start_exchange(const Call& call, int to, Payload payload, int from, Completion<Payload> done) override {
    network_.exchange(process_, call, to, std::move(payload), from, std::move(done));
  }
  void start_exchange_all(const Call& call, const ExchangeSchedule& schedule, Completion<> done) override {
    network_.exchange_all(process_, call, schedule, std::move(done));
  }

 private:
  Network& network_;
  Process& process_;
  PayloadPool& pool_;
  int world_size_;
};

}  // namespace rehearse
