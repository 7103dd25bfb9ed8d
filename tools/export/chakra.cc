#include "tools/export/chakra.h"

#include "core/base/check.h"
#include "tools/export/wire.h"

namespace rehearse {
namespace {

// Field numbers of et_def.proto.
enum MetadataField { kVersion = 1 };
enum NodeField { kId = 1, kName = 2, kType = 3, kDataDeps = 5, kStartMicros = 6, kDurationMicros = 7, kAttr = 10 };
enum AttributeField { kAttrName = 1, kInt32 = 7, kInt64 = 9, kUint64 = 13, kBool = 27, kString = 29 };
enum NodeType { kMemLoad = 2, kMemStore = 3, kComp = 4, kCommSend = 5, kCommRecv = 6, kCommColl = 7 };

int node_type(ProgramNode::Kind kind) {
  switch (kind) {
    case ProgramNode::Kind::kRead:
      return kMemLoad;
    case ProgramNode::Kind::kWrite:
      return kMemStore;
    case ProgramNode::Kind::kSend:
      return kCommSend;
    case ProgramNode::Kind::kReceive:
      return kCommRecv;
    case ProgramNode::Kind::kCollective:
      return kCommColl;
    case ProgramNode::Kind::kCompute:
    case ProgramNode::Kind::kOther:
      return kComp;
  }
  check_failed(__FILE__, __LINE__, "unknown kind of node");
}

// CollectiveCommType.
int collective_type(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return 0;
    case Operation::kReduce:
      return 1;
    case Operation::kAllGather:
      return 2;
    case Operation::kGather:
      return 3;
    case Operation::kScatter:
      return 4;
    case Operation::kBroadcast:
      return 5;
    case Operation::kAllToAll:
      return 6;
    case Operation::kReduceScatter:
      return 7;
    case Operation::kBarrier:
      return 9;
    case Operation::kPointToPoint:
      break;
  }
  check_failed(__FILE__, __LINE__, "no collective");
}

WireMessage attribute(const char* name) {
  WireMessage one;
  one.text(kAttrName, name);
  return one;
}

std::string name_of(const ProgramNode& node) {
  switch (node.kind) {
    case ProgramNode::Kind::kSend:
      return "send to " + std::to_string(node.peer);
    case ProgramNode::Kind::kReceive:
      return "recv from " + std::to_string(node.peer);
    case ProgramNode::Kind::kCollective:
      return name_of(node.operation);
    default:
      return name_of(node.operation_kind);
  }
}

std::uint64_t micros(std::int64_t ps) { return static_cast<std::uint64_t>((ps + 999'999) / 1'000'000); }

}  // namespace

std::string write_chakra(const ProgramRecorder& program, int rank, FlopRate rate) {
  WireMessage metadata;
  metadata.text(kVersion, "0.0.4");
  std::string out = metadata.delimited();
  const auto& nodes = program.nodes(rank);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ProgramNode& node = nodes[i];
    const Duration time = node.end - node.begin;
    WireMessage message;
    message.number(kId, i).text(kName, name_of(node)).integer(kType, node_type(node.kind));
    for (const std::uint32_t need : node.needs) message.number(kDataDeps, need);
    message.number(kStartMicros, micros(node.begin.ps())).number(kDurationMicros, micros(time.ps()));
    const bool on_cpu = node.kind == ProgramNode::Kind::kOther;
    message.message(kAttr, attribute("is_cpu_op").number(kBool, on_cpu ? 1 : 0));
    const auto add = [&](const char* name, AttributeField type, std::int64_t value) {
      message.message(kAttr, attribute(name).integer(type, value));
    };
    switch (node.kind) {
      case ProgramNode::Kind::kCompute:
      case ProgramNode::Kind::kOther: {
        const __int128 ops = static_cast<__int128>(time.ps()) * rate.per_second() / 1'000'000'000'000;
        add("num_ops", kInt64, on_cpu ? 0 : static_cast<std::int64_t>(ops));
        add("tensor_size", kUint64, 0);
        break;
      }
      case ProgramNode::Kind::kRead:
      case ProgramNode::Kind::kWrite:
        add("tensor_size", kUint64, node.bytes);
        break;
      case ProgramNode::Kind::kCollective:
        add("comm_type", kInt64, collective_type(node.operation));
        add("comm_size", kInt64, node.bytes);
        message.message(kAttr, attribute("comm_group").text(kString, std::to_string(node.group)));
        break;
      case ProgramNode::Kind::kSend:
      case ProgramNode::Kind::kReceive: {
        const bool sends = node.kind == ProgramNode::Kind::kSend;
        add("comm_src", kInt32, sends ? rank : node.peer);
        add("comm_dst", kInt32, sends ? node.peer : rank);
        add("comm_tag", kInt32, node.tag);
        add("comm_size", kInt64, node.bytes);
        break;
      }
    }
    out += message.delimited();
  }
  return out;
}

}  // namespace rehearse
