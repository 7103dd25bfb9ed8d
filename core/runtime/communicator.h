#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/runtime/completion.h"
#include "core/runtime/exchange_schedule.h"
#include "core/runtime/group.h"
#include "core/runtime/payload.h"

namespace rehearse {

// What a message belongs to: names counters, traces and error messages; takes no part in matching.
enum class Operation : std::uint8_t {
  kPointToPoint,
  kBroadcast,
  kReduceScatter,
  kAllGather,
  kAllReduce,
  kGather,
  kBarrier,
  kReduce,
  kScatter,
  kAllToAll,
};
inline constexpr int kOperations = 10;
const char* name_of(Operation operation);

// What a call is about: the same on all ranks of its group. Transports carry it with every message and compare, so that
// a rank whose program went another way is found out before its numbers are added to others.
struct Fingerprint {
  Operation operation = Operation::kPointToPoint;
  std::int64_t elements = -1;  // of the whole buffer; -1 where ranks may differ
  DType dtype = DType::kFloat32;
  std::int32_t unit = -1;  // of the model's state that the buffer is, -1 for none
  bool operator==(const Fingerprint&) const = default;
};
// "reduce_scatter of 4096 F32 elements, unit 0".
std::string text_of(const Fingerprint& fingerprint);

// No deadline.
inline constexpr Duration kForever = Duration::picoseconds(-1);

// One call on a group. (group id, generation, sequence) is the tag that messages match on, so that several calls may be
// in flight. An operation that is still waiting `timeout` after it was started fails with CommError kTimeout.
struct Call {
  Call(const Group& call_group, std::uint64_t call_sequence, Operation call_operation, Duration call_timeout = kForever)
      : group(&call_group), sequence(call_sequence), operation(call_operation), timeout(call_timeout) {}

  const Group* group;
  std::uint64_t sequence;
  Operation operation;
  Duration timeout;
  std::int64_t elements = -1;
  DType dtype = DType::kFloat32;
  std::int32_t unit = -1;
  // For traces alone: the first of the unit's elements that a message carries.
  std::int64_t offset = -1;

  Fingerprint fingerprint() const {
    Fingerprint fingerprint;
    fingerprint.operation = operation;
    fingerprint.elements = elements;
    fingerprint.dtype = dtype;
    fingerprint.unit = unit;
    return fingerprint;
  }

  // The same call for a message, or a part of the buffer, that begins so many elements after where this one does.
  Call at(std::int64_t element) const {
    Call call = *this;
    call.offset = offset < 0 ? element : offset + element;
    return call;
  }
};

// How communication fails, the one exception type of every transport.
class CommError : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t { kPeerLost, kTimeout, kAborted, kMismatch, kFenced };
  CommError(Kind kind, std::uint32_t group_id, std::uint32_t generation, std::uint64_t sequence, int rank, int peer,
            Operation operation, const std::string& detail = "");

  Kind kind() const { return kind_; }
  std::uint32_t group_id() const { return group_id_; }
  std::uint32_t generation() const { return generation_; }
  std::uint64_t sequence() const { return sequence_; }
  int rank() const { return rank_; }
  // World rank of the other side; -1 where there is none.
  int peer() const { return peer_; }
  Operation operation() const { return operation_; }

 private:
  Kind kind_;
  Operation operation_;
  std::uint32_t group_id_;
  std::uint32_t generation_;
  std::uint64_t sequence_;
  int rank_;
  int peer_;
};
const char* name_of(CommError::Kind kind);

// Point-to-point messages: the seam between the simulator and a real cluster. Messages of one (source, group,
// generation, sequence) arrive in the order they were sent. Peers are ranks in the call's group. There is no wildcard
// receive.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  // Where payloads of this rank's messages come from.
  virtual PayloadPool& pool() = 0;

  // Done when the data have left this rank; the payload is immutable, so its maker may go on at once.
  auto send(const Call& call, int peer, Payload payload) {
    return make_operation<>([this, call, peer, payload = std::move(payload)](Completion<> done) mutable {
      start_send(call, peer, std::move(payload), std::move(done));
    });
  }
  // Done when a message of this call from `peer` is here.
  auto recv(const Call& call, int peer) {
    return make_operation<Payload>(
        [this, call, peer](Completion<Payload> done) { start_recv(call, peer, std::move(done)); });
  }
  // A send and a receive at the same time, done when both are; cannot deadlock however ranks are ordered.
  auto exchange(const Call& call, int to, Payload payload, int from) {
    return make_operation<Payload>(
        [this, call, to, payload = std::move(payload), from](Completion<Payload> done) mutable {
          start_exchange(call, to, std::move(payload), from, std::move(done));
        });
  }

  // Whether this transport takes schedules of messages without payload; a collective then need not wake its coroutine
  // for each of them.
  virtual bool takes_schedules() const { return false; }
  // All exchanges of the schedule, one after the other; done when the last is, and fails as the one of them that fails.
  // Requires takes_schedules(). Both arguments must outlive the operation: make them locals before the co_await
  // statement.
  auto exchange_all(const Call& call, const ExchangeSchedule& schedule) {
    return make_operation<>(
        [this, &call, &schedule](Completion<> done) { start_exchange_all(call, schedule, std::move(done)); });
  }

  // Fails every operation of `generation` or an older one that is pending or comes later on this rank with kAborted.
  virtual void abort(std::uint32_t generation) = 0;

 protected:
  virtual void start_send(const Call& call, int peer, Payload payload, Completion<> done) = 0;
  virtual void start_recv(const Call& call, int peer, Completion<Payload> done) = 0;
  virtual void start_exchange(const Call& call, int to, Payload payload, int from, Completion<Payload> done) = 0;
  virtual void start_exchange_all(const Call& call, const ExchangeSchedule& schedule, Completion<> done);
};

}  // namespace rehearse
