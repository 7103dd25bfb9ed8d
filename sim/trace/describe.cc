#include "sim/trace/describe.h"

#include "core/base/digest.h"

namespace rehearse {
namespace {

std::string rank_name(int rank) { return rank < 0 ? "no rank" : "rank " + std::to_string(rank); }

// From `peer` to `rank`.
bool is_message(EventKind kind) {
  return kind == EventKind::kDelivery || kind == EventKind::kArrival || kind == EventKind::kPacketFault ||
         (kind >= EventKind::kPacketHeld && kind <= EventKind::kRetransmission);
}

std::string tag_of(const EventRecord& record) {
  std::string text = std::string(" of ") + name_of(record.operation) + " (group " + std::to_string(record.group) +
                     ", generation " + std::to_string(record.generation) + ", call " + std::to_string(record.call) +
                     ")";
  return text;
}

std::string what_of(const EventRecord& record, const ParameterLayout* layout) {
  const std::string rank = rank_name(record.rank);
  if (is_message(record.kind)) {
    std::string text = name_of(record.kind) + tag_of(record) + " from " + rank_name(record.peer) + " to " + rank;
    if (record.kind == EventKind::kPacketFault) {
      return text + ": it is " + name_of(static_cast<PacketFault>(record.index));
    }
    if (record.index >= 0) text += ", unit " + std::to_string(record.index);
    if (record.offset >= 0) text += " from element " + std::to_string(record.offset);
    return text;
  }
  if (record.kind == EventKind::kConnectionBroken) {
    return name_of(record.kind) + (" from " + rank_name(record.peer) + " to " + rank);
  }
  if (record.kind == EventKind::kState) return describe_state(record, layout) + " on " + rank;
  if (record.kind == EventKind::kPhase) return rank + " goes on to " + name_of(record.phase);
  if (record.kind == EventKind::kFault && record.rank < 0) return "fault of the network";
  if (record.kind == EventKind::kPeerLost) return name_of(record.kind) + (" on " + rank);
  std::string text = std::string(name_of(record.kind)) + " on " + rank;
  if (record.peer >= 0) text += tag_of(record) + " with " + rank_name(record.peer);
  return text;
}

}  // namespace

std::string describe_state(const EventRecord& record, const ParameterLayout* layout) {
  std::string text = name_of(record.component);
  if (record.index < 0) return text;
  const auto tensor = static_cast<std::size_t>(record.index);
  if (layout != nullptr && tensor < layout->tensors().size()) {
    text += " of " + layout->tensors()[tensor].name;
  } else {
    text += " of tensor " + std::to_string(record.index);
  }
  if (record.offset > 0) text += " from element " + std::to_string(record.offset);
  return text;
}

std::string describe(const EventRecord& record, const ParameterLayout* layout) {
  std::string text = "event " + std::to_string(record.sequence) + " at " + to_string(record.time.since_start()) + ": " +
                     what_of(record, layout);
  if (record.size > 0) text += ", " + std::to_string(record.size) + " bytes";
  if (record.digest != Digest128()) text += ", digest " + to_hex(record.digest);
  if (record.rank >= 0 && record.kind != EventKind::kPhase) {
    text += "; step " + std::to_string(record.step) + ", " + name_of(record.phase);
  } else if (record.kind == EventKind::kPhase) {
    text += " of step " + std::to_string(record.step);
  }
  return text;
}

std::string differing_fields(const EventRecord& a, const EventRecord& b) {
  std::vector<std::string> names;
  const auto compare = [&names](const char* name, const auto& one, const auto& other) {
    if (!(one == other)) names.emplace_back(name);
  };
  compare("kind", a.kind, b.kind);
  compare("time", a.time, b.time);
  compare("event number", a.sequence, b.sequence);
  compare("rank", a.rank, b.rank);
  compare("peer", a.peer, b.peer);
  compare("operation", a.operation, b.operation);
  compare("group", a.group, b.group);
  compare("generation", a.generation, b.generation);
  compare("call", a.call, b.call);
  compare("step", a.step, b.step);
  compare("phase", a.phase, b.phase);
  compare("component", a.component, b.component);
  compare("unit or tensor", a.index, b.index);
  compare("first element", a.offset, b.offset);
  compare("size", a.size, b.size);
  compare("digest", a.digest, b.digest);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace rehearse
