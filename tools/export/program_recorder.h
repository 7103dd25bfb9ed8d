#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/kernel/activity_listener.h"

namespace rehearse {

// One thing that a rank did, and what it had to wait for.
struct ProgramNode {
  enum class Kind : std::uint8_t { kCompute, kRead, kWrite, kOther, kSend, kReceive, kCollective };
  Kind kind = Kind::kCompute;
  EventKind operation_kind = EventKind::kNone;
  Operation operation = Operation::kPointToPoint;
  int peer = -1;
  std::uint32_t tag = 0;  // the same number for all messages of one call, on all ranks
  std::uint32_t group = 0;
  std::int64_t bytes = 0;
  TimePoint begin;
  TimePoint end;
  std::vector<std::uint32_t> needs;  // earlier nodes of the same rank, by index
};

// What every rank did, as a program that other simulators can run: work and messages, each after what it needs. What an
// activity of a rank does comes in its order; an activity begins after what the main one had done by then, and a join
// waits for what it joins. It listens to a run.
class ProgramRecorder : public ActivityListener {
 public:
  enum class Level : std::uint8_t {
    kMessages,     // collectives as the messages they send
    kCollectives,  // as one node each
  };
  ProgramRecorder(int ranks, Level level) : level_(level), ranks_(static_cast<std::size_t>(ranks)) {}

  void on_operation(const PendingOp& op, TimePoint now, bool failed) override;
  void on_sent(const EventRecord& message, TimePoint now, TimePoint left) override;
  void on_collective_begin(int rank, const Call& call, Bytes size, TimePoint now) override;
  void on_collective_end(int rank, const Call& call, TimePoint now) override;

  int ranks() const { return static_cast<int>(ranks_.size()); }
  const std::vector<ProgramNode>& nodes(int rank) const { return ranks_[static_cast<std::size_t>(rank)].nodes; }

  // Why what was recorded is no program that ends: messages that nobody received, operations that failed, recoveries.
  // Empty where it is one.
  std::string problem(const TrainingRecord& record) const;

 private:
  struct CallKey {
    std::uint32_t group;
    std::uint32_t generation;
    std::uint64_t call;
    auto operator<=>(const CallKey&) const = default;
  };
  struct PairKey {
    int source;
    int destination;
    CallKey call;
    auto operator<=>(const PairKey&) const = default;
  };
  struct Sent {
    int destination;
    std::int64_t bytes;
  };
  struct OpenCollective {
    TimePoint begin;
    std::int64_t bytes = 0;
    std::uint32_t activity = 0;
  };
  struct Rank {
    std::vector<ProgramNode> nodes;
    std::vector<std::uint32_t> main_nodes;                     // of the main activity, in order
    std::map<std::uint32_t, std::vector<std::uint32_t>> last;  // by activity: what its next node needs
    std::map<CallKey, std::deque<Sent>> sent;                  // that no operation has ended for yet
    std::map<CallKey, OpenCollective> collectives;
    TimePoint stream_free[2];
  };

  static CallKey key_of(const PendingOp& op);
  Rank& rank_of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  std::uint32_t tag_of(const CallKey& key);
  std::vector<std::uint32_t>& needs_of(Rank& rank, std::uint32_t activity, TimePoint since);
  // Adds nodes that are side by side.
  void add(Rank& rank, std::uint32_t activity, std::vector<ProgramNode> nodes);
  void add_messages(Rank& rank, const PendingOp& op, ProgramNode node);

  Level level_;
  std::vector<Rank> ranks_;
  std::map<CallKey, std::uint32_t> tags_;
  std::map<PairKey, std::deque<std::int64_t>> under_way_;  // bytes
  std::int64_t unreceived_ = 0;
  std::int64_t failed_ = 0;
};

}  // namespace rehearse
