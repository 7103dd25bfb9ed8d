#pragma once

#include <bit>
#include <cstdint>

#include "core/base/digest.h"
#include "core/base/units.h"
#include "core/runtime/communicator.h"
#include "core/runtime/tracer.h"

namespace rehearse {

// What an event of the simulation is, or what an operation waits for.
enum class EventKind : std::uint8_t {
  kNone = 0,
  // Events of the kernel: each gives exactly one record of these kinds.
  kStart = 1,  // a process begins
  kDevice,     // a computation is done
  kStream,     // a device's stream has come to a computation that queued
  kSleep,      // a sleep is over
  kSend,       // a message has left its sender
  kRecv,       // a receive is done whose message was there before
  kExchange,   // the same for an exchange
  kJoin,       // an activity is joined
  kWrite,      // storage operations are done
  kRead,
  kFsync,
  kFsyncDirectory,
  kRename,
  kRemove,
  kMakeDirectory,
  kList,
  kArrival,   // a message's first byte is at the receiver's port
  kDelivery,  // a message is there
  kPeerLost,  // the news that a process is gone arrives everywhere
  kDeadline,  // an operation has waited too long
  kStale,     // what the event was about is gone
  kCrash,     // a rank's process or host goes
  kDetected,  // the supervisor hears of a failure
  kStopped,   // all ranks are stopped
  kRestart,   // the ranks of a new generation are about to start
  kFaultDue,  // the time of a fault has come
  kHang,      // a rank's process stops without dying
  // Of the reliable transport (sim/net/transport.h), between what was sent and its delivery.
  kPacketHeld,        // a packet is there before one that left earlier, and waits for it
  kPacketAgain,       // a packet is there that was there before, and is dropped
  kPacketCorrupt,     // a packet is there whose checksum is wrong, and is dropped
  kPacketRefused,     // a packet is there for a process or a connection that is gone
  kAck,               // an acknowledgement is there
  kRetransmission,    // no acknowledgement came in time: a packet is sent again
  kConnectionBroken,  // it was sent again too often
  kFlows,             // flows that share links have begun, ended, or come to their next message
  // What is seen from outside while an event is handled; any number of records.
  kPhase = 64,   // a rank goes on to another phase
  kState,        // the digest of a part of a rank's state
  kFault,        // a fault strikes
  kPacketFault,  // a fault strikes a packet on its link; `index` is a PacketFault
};
// Whether a record may have this number as its kind.
bool is_event_kind(std::uint32_t number);
// In words: "fsync of a directory".
const char* name_of(EventKind kind);

// What becomes of a packet that is struck.
enum class PacketFault : std::uint8_t { kLost, kCopied, kSetAside, kDelayed, kBitInverted };
const char* name_of(PacketFault fault);

// What a kState record is the digest of.
enum class StateComponent : std::uint8_t {
  kNone = 0,
  kParameters,
  kGradients,    // as they enter the update: summed over ranks, not yet divided; of what the rank holds
  kFirstMoment,  // of what the rank holds
  kSecondMoment,
  kLearningRate,  // the digest's low half is the double's bits
  kBatchIndex,    // the digest's low half is the number
  kAppliedSteps,
  kLoss,  // of this rank's batch; the double's bits
};
const char* name_of(StateComponent component);

// One record of the event log, the same bytes everywhere: this is its layout (sim/trace/README.md), little-endian,
// without padding. What does not apply is 0, or -1 where 0 means something.
struct EventRecord {
  EventRecord() = default;
  explicit EventRecord(EventKind record_kind) : kind(record_kind) {}

  TimePoint time;              // virtual, ps
  std::uint64_t sequence = 0;  // of the event, from 1; records made while it is handled share it
  std::uint64_t call = 0;      // with group and generation: the tag of a message or of what an operation waited for
  std::int64_t step = 0;       // that the rank works on
  std::int64_t size = 0;       // bytes
  std::int64_t offset = -1;    // first element: of the unit that a message is about, or of the tensor
  Digest128 digest;            // XXH3-128 of the payload or of the state
  std::int32_t rank = -1;
  std::int32_t peer = -1;  // world rank of the other side
  std::uint32_t group = 0;
  std::uint32_t generation = 0;
  std::int32_t index = -1;  // the unit that a message is about, or the tensor that a digest is of
  EventKind kind = EventKind::kNone;
  Operation operation = Operation::kPointToPoint;
  Phase phase = Phase::kStart;  // that the rank is in
  StateComponent component = StateComponent::kNone;

  bool operator==(const EventRecord&) const = default;
};
static_assert(sizeof(EventRecord) == 88 && std::endian::native == std::endian::little);

// Hears every record as it is made.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void on_record(const EventRecord& record) = 0;
};

}  // namespace rehearse
