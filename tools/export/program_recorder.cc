#include "tools/export/program_recorder.h"

#include <algorithm>
#include <utility>

#include "sim/kernel/process.h"

namespace rehearse {
namespace {

constexpr std::uint32_t kMainActivity = 0;

ProgramNode::Kind kind_of(EventKind kind) {
  switch (kind) {
    case EventKind::kDevice:
      return ProgramNode::Kind::kCompute;
    case EventKind::kRead:
      return ProgramNode::Kind::kRead;
    case EventKind::kWrite:
      return ProgramNode::Kind::kWrite;
    default:
      return ProgramNode::Kind::kOther;
  }
}

}  // namespace

ProgramRecorder::CallKey ProgramRecorder::key_of(const PendingOp& op) {
  return CallKey{op.wait.group_id, op.wait.generation, op.wait.sequence};
}

std::uint32_t ProgramRecorder::tag_of(const CallKey& key) {
  return tags_.emplace(key, static_cast<std::uint32_t>(tags_.size())).first->second;
}

std::vector<std::uint32_t>& ProgramRecorder::needs_of(Rank& rank, std::uint32_t activity, TimePoint since) {
  const auto [last, is_new] = rank.last.try_emplace(activity);
  if (is_new && activity != kMainActivity) {
    // It was started by what the main activity had come to.
    const auto node = std::find_if(rank.main_nodes.rbegin(), rank.main_nodes.rend(),
                                   [&](std::uint32_t index) { return rank.nodes[index].end <= since; });
    if (node != rank.main_nodes.rend()) last->second.push_back(*node);
  }
  return last->second;
}

void ProgramRecorder::add(Rank& rank, std::uint32_t activity, std::vector<ProgramNode> nodes) {
  std::vector<std::uint32_t>& last = needs_of(rank, activity, nodes.front().begin);
  std::vector<std::uint32_t> added;
  for (ProgramNode& node : nodes) {
    node.needs = last;
    added.push_back(static_cast<std::uint32_t>(rank.nodes.size()));
    if (activity == kMainActivity) rank.main_nodes.push_back(added.back());
    rank.nodes.push_back(std::move(node));
  }
  last = std::move(added);
}

void ProgramRecorder::on_sent(const EventRecord& message, TimePoint /*now*/, TimePoint /*left*/) {
  const CallKey key{message.group, message.generation, message.call};
  rank_of(message.peer).sent[key].push_back(Sent{message.rank, message.size});
  under_way_[PairKey{message.peer, message.rank, key}].push_back(message.size);
  ++unreceived_;
}

void ProgramRecorder::add_messages(Rank& rank, const PendingOp& op, ProgramNode node) {
  const CallKey key = key_of(op);
  std::vector<ProgramNode> nodes;
  node.operation = op.wait.operation;
  node.group = op.wait.group_id;
  node.tag = tag_of(key);
  const EventKind kind = op.wait.kind;
  if (kind == EventKind::kSend || kind == EventKind::kExchange) {
    std::deque<Sent>& sent = rank.sent[key];
    const auto mine = std::find_if(sent.begin(), sent.end(), [&](const Sent& one) {
      return kind == EventKind::kExchange || one.destination == op.wait.peer;
    });
    if (mine != sent.end()) {
      node.kind = ProgramNode::Kind::kSend;
      node.peer = mine->destination;
      node.bytes = mine->bytes;
      nodes.push_back(node);
      sent.erase(mine);
    }
  }
  if (kind == EventKind::kRecv || kind == EventKind::kExchange) {
    const auto found = under_way_.find(PairKey{op.wait.peer, op.process->rank(), key});
    if (found != under_way_.end() && !found->second.empty()) {
      node.kind = ProgramNode::Kind::kReceive;
      node.peer = op.wait.peer;
      node.bytes = found->second.front();
      nodes.push_back(node);
      found->second.pop_front();
      if (found->second.empty()) under_way_.erase(found);
      --unreceived_;
    }
  }
  const auto collective = rank.collectives.find(key);
  if (collective != rank.collectives.end()) collective->second.activity = op.activity;
  if (level_ == Level::kCollectives && node.operation != Operation::kPointToPoint) return;
  if (!nodes.empty()) add(rank, op.activity, std::move(nodes));
}

void ProgramRecorder::on_operation(const PendingOp& op, TimePoint now, bool failed) {
  // A file that is not there is no trouble to a program that looks for it.
  if (failed && op.wait.in_call) ++failed_;
  Rank& rank = rank_of(op.process->rank());
  if (op.wait.kind == EventKind::kJoin) {
    const std::vector<std::uint32_t> joined = needs_of(rank, op.wait.activity, op.since);
    rank.last.erase(op.wait.activity);  // its number may be another activity's from now on
    std::vector<std::uint32_t>& last = needs_of(rank, op.activity, op.since);
    last.insert(last.end(), joined.begin(), joined.end());
    std::sort(last.begin(), last.end());
    last.erase(std::unique(last.begin(), last.end()), last.end());
    return;
  }
  ProgramNode node;
  node.operation_kind = op.wait.kind;
  node.begin = op.since;
  node.end = now;
  if (op.wait.in_call) return add_messages(rank, op, node);
  node.kind = kind_of(op.wait.kind);
  if (op.wait.kind == EventKind::kDevice) {
    TimePoint& free = rank.stream_free[op.stream == 0 ? 0 : 1];
    node.begin = std::max(op.since, free);
    free = now;
  }
  if (node.begin < node.end) add(rank, op.activity, {node});
}

void ProgramRecorder::on_collective_begin(int rank, const Call& call, Bytes size, TimePoint now) {
  OpenCollective open;
  open.begin = now;
  open.bytes = size.count();
  const CallKey key{call.group->id, call.group->generation, call.sequence};
  rank_of(rank).collectives.insert_or_assign(key, open);
}

void ProgramRecorder::on_collective_end(int rank, const Call& call, TimePoint now) {
  Rank& self = rank_of(rank);
  const CallKey key{call.group->id, call.group->generation, call.sequence};
  const auto open = self.collectives.find(key);
  if (open == self.collectives.end()) return;
  if (level_ == Level::kCollectives) {
    ProgramNode node;
    node.kind = ProgramNode::Kind::kCollective;
    node.operation = call.operation;
    node.group = call.group->id;
    node.tag = tag_of(key);
    node.bytes = open->second.bytes;
    node.begin = open->second.begin;
    node.end = now;
    add(self, open->second.activity, {node});
  }
  self.collectives.erase(open);
}

std::string ProgramRecorder::problem(const TrainingRecord& record) const {
  if (!record.recoveries.empty()) return "the job failed and came back, which no such schedule can say";
  if (record.outcome != Outcome::kDone) return std::string("the run ended ") + name_of(record.outcome);
  if (failed_ > 0) return std::to_string(failed_) + " sends and receives failed";
  if (unreceived_ > 0) return std::to_string(unreceived_) + " messages were sent and never received";
  return "";
}

}  // namespace rehearse
