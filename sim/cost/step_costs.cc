#include "sim/cost/step_costs.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {

TimeSplit& TimeSplit::operator+=(const TimeSplit& more) {
  computing = computing + more.computing;
  overlapped = overlapped + more.overlapped;
  exposed = exposed + more.exposed;
  waiting = waiting + more.waiting;
  other = other + more.other;
  return *this;
}

StepCosts::OpenStep& StepCosts::open(std::int64_t step) {
  OpenStep& one = open_[step];
  if (one.ranks.empty()) one.ranks.resize(ranks_.size());
  return one;
}

void StepCosts::on_phase(int rank, std::int64_t step, Phase phase, TimePoint now) {
  Rank& self = rank_of(rank);
  const bool leaves = self.step > 0 && (step != self.step || phase == Phase::kEnd || phase == Phase::kLoad);
  if (leaves) end_step(rank, now);
  if (phase == Phase::kEnd || phase == Phase::kLoad || phase == Phase::kStart) {
    self.step = 0;
  } else if (self.step != step) {
    if (steps_ == 0 && open_.empty() && on_begin_) on_begin_();
    self.step = step;
    open(step).ranks[static_cast<std::size_t>(rank)].begin = now;
  }
  self.phase = phase;
}

std::size_t StepCosts::row_of(const Call& call, Phase phase, Bytes size) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const CallRow& row = rows_[i];
    const bool alike = row.operation == call.operation && row.phase == phase && row.of_model == (call.unit >= 0) &&
                       row.elements == call.elements && row.dtype == call.dtype && row.size == size;
    if (alike) return i;
  }
  CallRow row;
  row.operation = call.operation;
  row.phase = phase;
  row.of_model = call.unit >= 0;
  row.elements = call.elements;
  row.dtype = call.dtype;
  row.size = size;
  rows_.push_back(row);
  return rows_.size() - 1;
}

void StepCosts::on_collective_begin(int rank, const Call& call, Bytes size, TimePoint now) {
  Rank& self = rank_of(rank);
  if (self.step == 0) return;
  OpenCall opened;
  opened.key = CallKey{call.group->id, call.sequence};
  opened.begin = now;
  opened.step = self.step;
  self.calls.push_back(opened);
  const auto [entry, is_new] = open(self.step).calls.try_emplace(opened.key);
  CallTimes& times = entry->second;
  if (is_new) {
    times.row = row_of(call, self.phase, size);
    times.size = call.group->size();
    times.first_begin = now;
  }
  ++times.begun;
  times.last_begin = now;
  times.last_rank = rank;
}

void StepCosts::on_collective_end(int rank, const Call& call, TimePoint now) {
  Rank& self = rank_of(rank);
  const CallKey key{call.group->id, call.sequence};
  const auto opened =
      std::find_if(self.calls.begin(), self.calls.end(), [&](const OpenCall& one) { return one.key == key; });
  if (opened == self.calls.end()) return;  // it began before step 1
  OpenStep& step = open(opened->step);
  Stretch stretch;
  stretch.begin = opened->begin;
  stretch.end = now;
  stretch.is_call = true;
  stretch.call = key;
  step.ranks[static_cast<std::size_t>(rank)].stretches.push_back(stretch);
  self.calls.erase(opened);
  CallTimes& times = step.calls.at(key);
  ++times.ended;
  times.last_end = now;
}

void StepCosts::on_compute(int rank, TimePoint begin, TimePoint end) {
  const Rank& self = rank_of(rank);
  if (self.step == 0) return;
  Stretch stretch;
  stretch.begin = begin;
  stretch.end = end;
  open(self.step).ranks[static_cast<std::size_t>(rank)].stretches.push_back(stretch);
}

void StepCosts::on_restart(int ranks, TimePoint) {
  open_.clear();
  ranks_.assign(static_cast<std::size_t>(ranks), Rank());
}

void StepCosts::end_step(int rank, TimePoint now) {
  const std::int64_t step = rank_of(rank).step;
  OpenStep& one = open(step);
  one.ranks[static_cast<std::size_t>(rank)].end = now;
  if (++one.ended < ranks_.size()) return;
  count(step, one);
  open_.erase(step);
  if (on_step_) on_step_(step);
}

void StepCosts::count(std::int64_t step, OpenStep& open) {
  ++steps_;
  TimePoint begin = open.ranks.front().begin;
  TimePoint end;
  for (RankStep& rank : open.ranks) {
    begin = std::min(begin, rank.begin);
    end = std::max(end, rank.end);
    std::stable_sort(rank.stretches.begin(), rank.stretches.end(),
                     [](const Stretch& a, const Stretch& b) { return a.end < b.end; });
    split_ += split_of(rank, open);
    ++rank_steps_;
  }
  const Duration time = end - begin;
  shortest_step_ = steps_ == 1 ? time : std::min(shortest_step_, time);
  longest_step_ = std::max(longest_step_, time);
  for (const auto& [key, times] : open.calls) {
    if (times.begun < times.size || times.ended < times.size) continue;  // some rank's program went another way
    CallRow& row = rows_[times.row];
    const Duration took = std::max(times.last_end - times.last_begin, Duration());
    row.shortest = row.calls == 0 ? took : std::min(row.shortest, took);
    row.longest = std::max(row.longest, took);
    ++row.calls;
    row.late = row.late + (times.last_begin - times.first_begin);
    row.time = row.time + took;
  }
  find_path(open);
  path_step_ = step;
}

// Goes over the moments at which anything begins or ends.
TimeSplit StepCosts::split_of(const RankStep& rank, const OpenStep& open) {
  struct Edge {
    TimePoint time;
    int computes = 0;
    int calls = 0;
    int waits = 0;
  };
  std::vector<Edge> edges;
  const auto add = [&](TimePoint begin, TimePoint end, int Edge::*count) {
    begin = std::max(begin, rank.begin);
    end = std::min(end, rank.end);
    if (begin >= end) return;
    Edge first;
    first.time = begin;
    first.*count = 1;
    Edge last;
    last.time = end;
    last.*count = -1;
    edges.push_back(first);
    edges.push_back(last);
  };
  for (const Stretch& stretch : rank.stretches) {
    if (!stretch.is_call) {
      add(stretch.begin, stretch.end, &Edge::computes);
      continue;
    }
    add(stretch.begin, stretch.end, &Edge::calls);
    add(stretch.begin, std::min(stretch.end, open.calls.at(stretch.call).last_begin), &Edge::waits);
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
  TimeSplit split;
  TimePoint now = rank.begin;
  int computes = 0;
  int calls = 0;
  int waits = 0;
  const auto pass = [&](TimePoint to) {
    const Duration time = to - now;
    // In several calls at once a rank waits only where it does in all of them.
    Duration& part = computes > 0 && calls > 0 ? split.overlapped
                     : computes > 0            ? split.computing
                     : calls == 0              ? split.other
                     : waits == calls          ? split.waiting
                                               : split.exposed;
    part = part + time;
    now = to;
  };
  for (const Edge& edge : edges) {
    pass(edge.time);
    computes += edge.computes;
    calls += edge.calls;
    waits += edge.waits;
  }
  pass(rank.end);
  return split;
}

void StepCosts::find_path(const OpenStep& open) {
  path_.clear();
  const auto last = std::max_element(open.ranks.begin(), open.ranks.end(),
                                     [](const RankStep& a, const RankStep& b) { return a.end < b.end; });
  auto rank = static_cast<std::size_t>(last - open.ranks.begin());
  TimePoint now = last->end;
  // Stretches before these have not been passed yet; no rank is come back to at a later moment.
  std::vector<std::size_t> next(open.ranks.size());
  for (std::size_t r = 0; r < next.size(); ++r) next[r] = open.ranks[r].stretches.size();
  const auto add = [&](PathPiece::Kind kind, TimePoint since, Operation operation) {
    since = std::max(since, open.ranks[rank].begin);
    if (since >= now) return;
    PathPiece piece;
    piece.kind = kind;
    piece.rank = static_cast<int>(rank);
    piece.operation = operation;
    piece.time = now - since;
    path_.push_back(piece);
    now = since;
  };
  while (now > open.ranks[rank].begin) {
    const RankStep& self = open.ranks[rank];
    while (next[rank] > 0 && self.stretches[next[rank] - 1].end > now) --next[rank];
    if (next[rank] == 0) {
      add(PathPiece::Kind::kOther, self.begin, Operation::kPointToPoint);
      break;
    }
    const Stretch& stretch = self.stretches[--next[rank]];
    add(PathPiece::Kind::kOther, stretch.end, Operation::kPointToPoint);
    if (!stretch.is_call) {
      add(PathPiece::Kind::kCompute, stretch.begin, Operation::kPointToPoint);
      continue;
    }
    const CallTimes& times = open.calls.at(stretch.call);
    if (times.last_begin > now) continue;  // its end did not wait for whoever came last
    add(PathPiece::Kind::kCollective, times.last_begin, rows_[times.row].operation);
    rank = static_cast<std::size_t>(times.last_rank);
  }
}

}  // namespace rehearse
