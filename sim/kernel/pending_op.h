#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/communicator.h"
#include "core/runtime/completion.h"
#include "core/runtime/exchange_schedule.h"
#include "core/runtime/payload.h"
#include "sim/kernel/event_record.h"

namespace rehearse {

class Process;
struct PendingOp;

// Goes on with an operation that is a row of waits, one after the other.
class RowOfWaits {
 public:
  virtual ~RowOfWaits() = default;
  // One wait has ended well, with `result`. Begins the next and returns true, or false after the last.
  virtual bool go_on(PendingOp& op, const Payload& result) = 0;
};

// What a suspended activity waits for, as the deadlock table tells it.
struct WaitInfo {
  explicit WaitInfo(EventKind wait_kind) : kind(wait_kind) {}
  WaitInfo(EventKind wait_kind, const Call& call, int wait_peer)
      : kind(wait_kind),
        operation(call.operation),
        in_call(true),
        peer(wait_peer),
        group_id(call.group->id),
        generation(call.group->generation),
        sequence(call.sequence) {}

  EventKind kind;
  Operation operation = Operation::kPointToPoint;
  bool in_call = false;  // the fields below hold
  int peer = -1;         // world rank
  std::uint32_t group_id = 0;
  std::uint32_t generation = 0;
  std::uint64_t sequence = 0;
  std::uint32_t activity = 0;  // that a join waits for
};

// One operation that a coroutine is suspended in. Lives in an OpPool slot; events and mailboxes hold OpHandles, which
// go stale when the operation is completed or its process killed.
struct PendingOp {
  Process* process = nullptr;
  std::uint32_t activity = 0;
  std::uint32_t slot = 0;
  std::uint32_t slot_generation = 0;
  WaitInfo wait{EventKind::kNone};
  TimePoint since;
  std::variant<Completion<>, Completion<Payload>> done;
  // The owner's notes between start and completion.
  std::exception_ptr error;
  Payload result;
  TimePoint not_before;          // exchange: when the sending half is done
  int stream = 0;                // device: which one
  std::function<void()> effect;  // runs at completion (storage) or when a stream gets to it (device)
  // A row of exchanges (Communicator::exchange_all): who goes on with it, and where it is.
  RowOfWaits* row = nullptr;
  const Call* call = nullptr;
  const ExchangeSchedule* schedule = nullptr;
  int step = 0;
  Bytes expected;  // what comes in this step
  // Operations of one process, in the order they were started.
  PendingOp* previous = nullptr;
  PendingOp* next = nullptr;
  // Operations with the same timeout, in the order of their deadlines.
  TimePoint deadline;
  int deadline_list = -1;
  PendingOp* deadline_previous = nullptr;
  PendingOp* deadline_next = nullptr;
};

struct OpHandle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint64_t packed() const { return std::uint64_t{generation} << 32 | slot; }
  static OpHandle unpack(std::uint64_t packed) {
    return OpHandle{static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32)};
  }
};

// Slots with stable addresses, reused last in first out.
class OpPool {
 public:
  PendingOp& take() {
    if (free_.empty()) {
      if (slots_ % kBlock == 0) blocks_.push_back(std::make_unique<PendingOp[]>(kBlock));
      PendingOp& op = at(slots_);
      op.slot = slots_++;
      return op;
    }
    PendingOp& op = at(free_.back());
    free_.pop_back();
    return op;
  }
  void give_back(PendingOp& op) {
    ++op.slot_generation;
    op.process = nullptr;
    op.error = nullptr;
    op.result = Payload();
    if (op.effect) op.effect = nullptr;
    op.row = nullptr;
    free_.push_back(op.slot);
  }
  // Null when the operation is gone.
  PendingOp* find(OpHandle handle) {
    PendingOp& op = at(handle.slot);
    return op.slot_generation == handle.generation && op.process != nullptr ? &op : nullptr;
  }

 private:
  static constexpr std::uint32_t kBlock = 64;
  PendingOp& at(std::uint32_t slot) { return blocks_[slot / kBlock][slot % kBlock]; }

  std::vector<std::unique_ptr<PendingOp[]>> blocks_;
  std::uint32_t slots_ = 0;
  std::vector<std::uint32_t> free_;
};

inline OpHandle handle_of(const PendingOp& op) { return OpHandle{op.slot, op.slot_generation}; }

}  // namespace rehearse
