#include "tools/export/timeline_recorder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "sim/kernel/process.h"
#include "sim/net/network.h"
#include "sim/net/topology.h"

namespace rehearse {
namespace {

bool is_storage(EventKind kind) { return kind >= EventKind::kWrite && kind <= EventKind::kList; }

enum JobCounter : std::uint32_t { kInFlight, kLoss, kGoodput, kMemory };
constexpr const char* kJobCounters[] = {"bytes in flight",
                                        "loss",
                                        "goodput",
                                        "memory: parameters",
                                        "memory: gradients",
                                        "memory: optimizer",
                                        "memory: activations (peak)",
                                        "memory: communication buffers (peak)"};
constexpr std::uint32_t kFirstLink = sizeof(kJobCounters) / sizeof(kJobCounters[0]);

// Of 1, where bytes took part of what the bandwidth allows.
double utilisation(Bytes bytes, Bandwidth bandwidth, Duration time) {
  if (time.ps() <= 0 || bandwidth.bits_per_second() <= 0) return 0;
  return static_cast<double>(bytes.count()) * 8 /
         (static_cast<double>(bandwidth.bits_per_second()) * time.to_seconds());
}

}  // namespace

TimelineRecorder::TimelineRecorder(const Scenario& scenario, std::optional<StepRange> steps, std::size_t most)
    : scenario_(scenario), steps_(steps), most_(most), ranks_(static_cast<std::size_t>(scenario.known_ranks())) {
  timeline_.ranks = scenario.known_ranks();
  for (const char* name : kJobCounters) timeline_.counters.push_back(CounterName{name, "job"});
}

void TimelineRecorder::on_network(const Network& network) {
  network_ = &network;
  const Topology* topology = scenario_.network.topology.get();
  const int links = topology != nullptr ? topology->links() : timeline_.ranks;
  link_bytes_.resize(static_cast<std::size_t>(links));
  for (int link = 0; link < links; ++link) {
    const std::string name = topology != nullptr ? topology->link_name(link) : "rank " + std::to_string(link) + " out";
    timeline_.counters.push_back(CounterName{name, "links"});
  }
}

bool TimelineRecorder::shows(std::int64_t step) const {
  if (steps_.has_value() && (step < steps_->first || step > steps_->last)) return false;
  return step % timeline_.stride == 0;
}

void TimelineRecorder::keep(const Slice& slice) {
  if (!shows(slice.step)) return;
  if (timeline_.slices.size() >= most_) {
    thin_out();
    if (!shows(slice.step)) return;
    if (timeline_.slices.size() >= most_) {
      ++timeline_.dropped;
      return;
    }
  }
  timeline_.slices.push_back(slice);
}

void TimelineRecorder::thin_out() {
  std::int64_t first = timeline_.slices.front().step;
  std::int64_t last = first;
  for (const Slice& slice : timeline_.slices) {
    first = std::min(first, slice.step);
    last = std::max(last, slice.step);
  }
  if (first == last) return;  // no step is left that could go
  timeline_.stride *= 2;
  std::erase_if(timeline_.slices, [this](const Slice& slice) { return !shows(slice.step); });
  std::erase_if(timeline_.points, [this](const CounterPoint& one) { return !shows(one.step); });
}

void TimelineRecorder::point(TimePoint time, std::uint32_t counter, double value, std::int64_t step) {
  if (!shows(step)) return;
  auto& points = timeline_.points;
  // Several changes in one moment are one.
  if (!points.empty() && points.back().time == time && points.back().counter == counter) {
    points.back().value = value;
    return;
  }
  if (points.size() >= most_) thin_out();
  if (points.size() >= most_ || !shows(step)) return;
  points.push_back(CounterPoint{time, counter, value, step});
}

void TimelineRecorder::close(int rank, TimePoint now, bool cut) {
  RankState& self = state(rank);
  const auto end = [&](Slice slice) {
    slice.end = now;
    slice.cut = cut;
    keep(slice);
  };
  if (self.phase.has_value()) end(*self.phase);
  self.phase.reset();
  for (const auto& [key, slice] : self.collectives) end(slice);
  self.collectives.clear();
}

void TimelineRecorder::close_all(TimePoint now) {
  for (int rank = 0; rank < timeline_.ranks; ++rank) close(rank, now, true);
}

void TimelineRecorder::on_record(const EventRecord& record) {
  now_ = record.time;
  switch (record.kind) {
    case EventKind::kPhase: {
      RankState& self = state(record.rank);
      if (self.phase.has_value()) {
        self.phase->end = record.time;
        keep(*self.phase);
      }
      self.step = record.step;
      self.phase.reset();
      if (record.phase == Phase::kEnd) break;
      Slice slice;
      slice.begin = record.time;
      slice.step = record.step;
      slice.rank = record.rank;
      slice.phase = record.phase;
      slice.generation = record.generation;
      self.phase = slice;
      break;
    }
    case EventKind::kStart:
      close(record.rank, record.time, true);
      state(record.rank).stream_free = {};
      break;
    case EventKind::kCrash:
    case EventKind::kHang:
      if (record.rank >= 0) close(record.rank, record.time, true);
      break;
    case EventKind::kStopped:
      close_all(record.time);
      break;
    case EventKind::kRestart:
      // What is still under way of the old generation reaches nobody.
      under_way_.clear();
      in_flight_ = 0;
      count_in_flight(record.time, state(0).step);
      break;
    case EventKind::kDelivery:
      on_delivery(record);
      break;
    default:
      break;
  }
}

void TimelineRecorder::on_operation(const PendingOp& op, TimePoint now, bool /*failed*/) {
  const int rank = op.process->rank();
  Slice slice;
  slice.begin = op.since;
  slice.end = now;
  slice.step = state(rank).step;
  slice.rank = rank;
  slice.kind = op.wait.kind;
  if (op.wait.in_call) {
    slice.operation = op.wait.operation;
    slice.peer = op.wait.peer;
    slice.group = op.wait.group_id;
    slice.generation = op.wait.generation;
    slice.call = op.wait.sequence;
  }
  if (op.wait.kind == EventKind::kDevice) {
    // A stream works on one thing after the other, so this began when the one before had ended, or at once.
    const auto stream = static_cast<std::size_t>(op.stream);
    Slice work = slice;
    work.track = stream == 0 ? TrackKind::kCompute : TrackKind::kCopy;
    work.begin = std::max(op.since, state(rank).stream_free[stream]);
    work.phase = state(rank).phase.has_value() ? state(rank).phase->phase : Phase::kEnd;
    state(rank).stream_free[stream] = now;
    if (work.begin < work.end) keep(work);
  }
  if (is_storage(op.wait.kind)) {
    slice.track = TrackKind::kStorage;
    keep(slice);
  }
  if (op.activity == 0 && op.since < now) {
    slice.track = TrackKind::kProgram;
    keep(slice);
  }
}

TimelineRecorder::MessageKey TimelineRecorder::key_of(const EventRecord& message) {
  return MessageKey{message.peer, message.rank, message.group, message.generation, message.call};
}

void TimelineRecorder::count_in_flight(TimePoint now, std::int64_t step) {
  point(now, kInFlight, static_cast<double>(in_flight_), step);
}

void TimelineRecorder::on_sent(const EventRecord& message, TimePoint now, TimePoint left) {
  RankState& sender = state(message.peer);
  const Bytes size(message.size);
  sender.sent += size;
  if (message.peer == message.rank) return;
  Slice slice;
  slice.track = TrackKind::kOut;
  slice.begin = now;
  slice.end = left == kLeavesLater ? now : left;
  // Where ports serve one message after the other, this one had the port just before it left.
  if (scenario_.network.is_plain() && left != kLeavesLater) {
    const Duration transfer = transfer_time(size, scenario_.network.bandwidth);
    slice.begin = std::max(now, TimePoint::at(left.since_start() - transfer));
  }
  slice.step = sender.step;
  slice.bytes = message.size;
  slice.rank = message.peer;
  slice.peer = message.rank;
  slice.group = message.group;
  slice.generation = message.generation;
  slice.call = message.call;
  slice.unit = message.index;
  slice.operation = message.operation;
  slice.kind = EventKind::kSend;
  under_way_[key_of(message)].push_back(slice);
  in_flight_ += message.size;
  count_in_flight(now, sender.step);
}

void TimelineRecorder::on_delivery(const EventRecord& record) {
  const auto found = under_way_.find(key_of(record));
  if (found == under_way_.end()) return;
  Slice out = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) under_way_.erase(found);
  in_flight_ -= record.size;
  count_in_flight(record.time, out.step);
  if (!shows(out.step)) return;
  if (out.end == out.begin && out.bytes > 0 && !scenario_.network.is_plain()) out.end = record.time;
  Slice in = out;
  in.track = TrackKind::kIn;
  in.rank = record.rank;
  in.peer = record.peer;
  in.kind = EventKind::kDelivery;
  in.end = record.time;
  // The receiver's port has it for as long as the sender's had.
  const Duration held = out.end - out.begin;
  in.begin = std::max(out.begin, TimePoint::at(record.time.since_start() - held));
  out.arrow = in.arrow = arrows_++;
  keep(out);
  keep(in);
}

void TimelineRecorder::on_collective_begin(int rank, const Call& call, Bytes size, TimePoint now) {
  Slice slice;
  slice.track = TrackKind::kCollectives;
  slice.begin = now;
  slice.step = state(rank).step;
  slice.bytes = size.count();
  slice.rank = rank;
  slice.group = call.group->id;
  slice.generation = call.group->generation;
  slice.call = call.sequence;
  slice.unit = call.unit;
  slice.operation = call.operation;
  state(rank).collectives.insert_or_assign(CallKey{slice.group, slice.generation, slice.call}, slice);
}

void TimelineRecorder::on_collective_end(int rank, const Call& call, TimePoint now) {
  auto& open = state(rank).collectives;
  const auto found = open.find(CallKey{call.group->id, call.group->generation, call.sequence});
  if (found == open.end()) return;
  found->second.end = now;
  keep(found->second);
  open.erase(found);
}

void TimelineRecorder::record_links(TimePoint now, std::int64_t step) {
  const Duration time = now - links_since_;
  links_since_ = now;
  const Topology* topology = scenario_.network.topology.get();
  for (std::size_t link = 0; link < link_bytes_.size(); ++link) {
    const auto index = static_cast<int>(link);
    Bandwidth bandwidth = scenario_.network.bandwidth;
    Bytes carried = topology == nullptr ? ranks_[link].sent : Bytes();
    if (topology != nullptr) {
      bandwidth = topology->link(index).bandwidth;
      const auto loads = network_->fabric().link_loads();
      if (link < loads.size()) carried = loads[link].bytes;
    }
    const Bytes since = carried - link_bytes_[link];
    link_bytes_[link] = carried;
    point(now, kFirstLink + static_cast<std::uint32_t>(link), utilisation(since, bandwidth, time), step);
  }
}

void TimelineRecorder::on_step(const StepRecord& record) {
  const std::int64_t step = record.report.step;
  const TimePoint now = record.report.ended;
  if (!scenario_.cost_only && std::isfinite(record.report.loss)) point(now, kLoss, record.report.loss, step);
  for (auto one = standing_.lower_bound(step); one != standing_.end(); one = standing_.erase(one)) {
    trained_ = trained_ - one->second;
  }
  standing_[step] = record.step_seconds;
  trained_ = trained_ + record.step_seconds;
  if (now.ps() > 0) {
    point(now, kGoodput, static_cast<double>(trained_.ps()) / static_cast<double>(now.ps()), step);
  }
  std::uint32_t counter = kMemory;
  for (const Bytes bytes : {record.memory.parameters, record.memory.gradients, record.memory.optimizer,
                            record.memory.activations_peak, record.memory.communication_buffers}) {
    point(now, counter++, static_cast<double>(bytes.count()), step);
  }
  record_links(now, step);
}

void TimelineRecorder::on_checkpoint(const CheckpointRecord& checkpoint) {
  timeline_.instants.push_back(Instant{now_, -1, "checkpoint " + checkpoint.directory + " is durable"});
}

Timeline TimelineRecorder::finish(const TrainingRecord& record) {
  close_all(record.simulated);
  for (const FaultRecord& fault : record.faults) {
    timeline_.instants.push_back(Instant{fault.time, fault.at.rank, "fault: " + fault.what});
  }
  for (const GuardRecord& guard : record.guards) {
    timeline_.instants.push_back(Instant{guard.time, -1, guard.report.reaction + ": " + guard.report.reason});
  }
  const auto job = [this](TimePoint begin, TimePoint end, const std::string& what) {
    if (begin < end) timeline_.job.push_back(JobSlice{begin, end, what});
  };
  for (const RecoveryRecord& one : record.recoveries) {
    if (one.kind == RecoveryRecord::Kind::kRestart) {
      job(one.failed, one.detected, "not yet noticed: " + one.cause);
      job(one.detected, one.restarted, "ranks stop and meet again: " + one.cause);
    } else {
      timeline_.instants.push_back(Instant{one.failed, -1, "rollback: " + one.cause});
    }
    job(one.restarted, one.resumed,
        one.from_checkpoint ? "load the checkpoint of step " + std::to_string(one.resumed_step) : "start afresh");
  }
  return std::move(timeline_);
}

}  // namespace rehearse
