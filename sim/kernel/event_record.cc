#include "sim/kernel/event_record.h"

#include "core/base/check.h"

namespace rehearse {

bool is_event_kind(std::uint32_t number) {
  const auto within = [number](EventKind first, EventKind last) {
    return number >= static_cast<std::uint32_t>(first) && number <= static_cast<std::uint32_t>(last);
  };
  return within(EventKind::kStart, EventKind::kFlows) || within(EventKind::kPhase, EventKind::kPacketFault);
}

const char* name_of(EventKind kind) {
  switch (kind) {
    case EventKind::kNone:
      return "nothing";
    case EventKind::kStart:
      return "start";
    case EventKind::kDevice:
      return "device";
    case EventKind::kStream:
      return "turn on the device";
    case EventKind::kSleep:
      return "sleep";
    case EventKind::kSend:
      return "send";
    case EventKind::kRecv:
      return "recv";
    case EventKind::kExchange:
      return "exchange";
    case EventKind::kJoin:
      return "join";
    case EventKind::kWrite:
      return "write";
    case EventKind::kRead:
      return "read";
    case EventKind::kFsync:
      return "fsync";
    case EventKind::kFsyncDirectory:
      return "fsync of a directory";
    case EventKind::kRename:
      return "rename";
    case EventKind::kRemove:
      return "remove";
    case EventKind::kMakeDirectory:
      return "make_directory";
    case EventKind::kList:
      return "list";
    case EventKind::kArrival:
      return "first byte of a message";
    case EventKind::kDelivery:
      return "message";
    case EventKind::kPeerLost:
      return "news of a lost process";
    case EventKind::kDeadline:
      return "deadline";
    case EventKind::kStale:
      return "end of something that is gone";
    case EventKind::kCrash:
      return "crash";
    case EventKind::kDetected:
      return "failure is detected";
    case EventKind::kStopped:
      return "stop of all ranks";
    case EventKind::kRestart:
      return "restart of all ranks";
    case EventKind::kFaultDue:
      return "time of a fault";
    case EventKind::kHang:
      return "hang";
    case EventKind::kPacketHeld:
      return "packet before its turn";
    case EventKind::kPacketAgain:
      return "packet once more";
    case EventKind::kPacketCorrupt:
      return "packet with a wrong checksum";
    case EventKind::kPacketRefused:
      return "packet for what is gone";
    case EventKind::kAck:
      return "acknowledgement";
    case EventKind::kRetransmission:
      return "retransmission";
    case EventKind::kConnectionBroken:
      return "end of a connection";
    case EventKind::kFlows:
      return "change of flows";
    case EventKind::kPhase:
      return "phase";
    case EventKind::kState:
      return "state";
    case EventKind::kFault:
      return "fault";
    case EventKind::kPacketFault:
      return "fault of a link";
  }
  check_failed(__FILE__, __LINE__, "unknown kind of event");
}

const char* name_of(PacketFault fault) {
  switch (fault) {
    case PacketFault::kLost:
      return "lost";
    case PacketFault::kCopied:
      return "copied";
    case PacketFault::kSetAside:
      return "set aside";
    case PacketFault::kDelayed:
      return "delayed";
    case PacketFault::kBitInverted:
      return "changed in a bit";
  }
  check_failed(__FILE__, __LINE__, "unknown fault of a packet");
}

const char* name_of(StateComponent component) {
  switch (component) {
    case StateComponent::kNone:
      return "nothing";
    case StateComponent::kParameters:
      return "parameters";
    case StateComponent::kGradients:
      return "gradients";
    case StateComponent::kFirstMoment:
      return "m";
    case StateComponent::kSecondMoment:
      return "v";
    case StateComponent::kLearningRate:
      return "learning rate";
    case StateComponent::kBatchIndex:
      return "batch index";
    case StateComponent::kAppliedSteps:
      return "applied steps";
    case StateComponent::kLoss:
      return "loss";
  }
  check_failed(__FILE__, __LINE__, "unknown component");
}

}  // namespace rehearse
