#include "core/runtime/communicator.h"

namespace rehearse {
namespace {

std::string describe(CommError::Kind kind, std::uint32_t group_id, std::uint32_t generation, std::uint64_t sequence,
                     int rank, int peer, Operation operation) {
  std::string text = "rank " + std::to_string(rank) + ": " + name_of(operation) + " (group " +
                     std::to_string(group_id) + ", generation " + std::to_string(generation) + ", sequence " +
                     std::to_string(sequence) + ")";
  if (peer >= 0) text += " with rank " + std::to_string(peer);
  return text + ": " + name_of(kind);
}

}  // namespace

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::kPointToPoint:
      return "point_to_point";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kReduceScatter:
      return "reduce_scatter";
    case Operation::kAllGather:
      return "all_gather";
    case Operation::kAllReduce:
      return "all_reduce";
    case Operation::kGather:
      return "gather";
    case Operation::kBarrier:
      return "barrier";
    case Operation::kReduce:
      return "reduce";
    case Operation::kScatter:
      return "scatter";
    case Operation::kAllToAll:
      return "all_to_all";
  }
  check_failed(__FILE__, __LINE__, "unknown operation");
}

std::string text_of(const Fingerprint& fingerprint) {
  std::string text = name_of(fingerprint.operation);
  if (fingerprint.elements >= 0) {
    text += " of " + std::to_string(fingerprint.elements) + " " + name_of(fingerprint.dtype) + " elements";
  }
  if (fingerprint.unit >= 0) text += ", unit " + std::to_string(fingerprint.unit);
  return text;
}

const char* name_of(CommError::Kind kind) {
  switch (kind) {
    case CommError::Kind::kPeerLost:
      return "the connection to the peer is lost";
    case CommError::Kind::kTimeout:
      return "the deadline has passed";
    case CommError::Kind::kAborted:
      return "the generation was aborted";
    case CommError::Kind::kMismatch:
      return "the two ranks call different collectives";
    case CommError::Kind::kFenced:
      return "a newer generation of the job has taken over";
  }
  check_failed(__FILE__, __LINE__, "unknown kind of communication error");
}

void Communicator::start_exchange_all(const Call&, const ExchangeSchedule&, Completion<>) {
  check_failed(__FILE__, __LINE__, "this communicator takes no schedules");
}

CommError::CommError(Kind kind, std::uint32_t group_id, std::uint32_t generation, std::uint64_t sequence, int rank,
                     int peer, Operation operation, const std::string& detail)
    : std::runtime_error(describe(kind, group_id, generation, sequence, rank, peer, operation) +
                         (detail.empty() ? "" : ": " + detail)),
      kind_(kind),
      operation_(operation),
      group_id_(group_id),
      generation_(generation),
      sequence_(sequence),
      rank_(rank),
      peer_(peer) {}

}  // namespace rehearse
