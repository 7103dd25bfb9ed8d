#include "tools/export/goal.h"

namespace rehearse {
namespace {

constexpr std::int64_t kPsPerNs = 1000;

}  // namespace

std::string write_goal(const ProgramRecorder& program) {
  std::string out = "num_ranks " + std::to_string(program.ranks()) + "\n";
  for (int rank = 0; rank < program.ranks(); ++rank) {
    out += "\nrank " + std::to_string(rank) + " {\n";
    std::int64_t worked = 0;  // in ps, and as it was written in ns
    std::int64_t written = 0;
    const auto& nodes = program.nodes(rank);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const ProgramNode& node = nodes[i];
      const std::string label = "l" + std::to_string(i + 1);
      const std::string message = std::to_string(node.bytes) + "b ";
      const std::string tag = " tag " + std::to_string(node.tag);
      switch (node.kind) {
        case ProgramNode::Kind::kSend:
          out += label + ": send " + message + "to " + std::to_string(node.peer) + tag + "\n";
          break;
        case ProgramNode::Kind::kReceive:
          out += label + ": recv " + message + "from " + std::to_string(node.peer) + tag + "\n";
          break;
        default: {
          worked += (node.end - node.begin).ps();
          const std::int64_t whole = (worked + kPsPerNs / 2) / kPsPerNs;
          out += label + ": calc " + std::to_string(whole - written) + "\n";
          written = whole;
        }
      }
      for (const std::uint32_t need : node.needs) out += label + " requires l" + std::to_string(need + 1) + "\n";
    }
    out += "}\n";
  }
  return out;
}

}  // namespace rehearse
