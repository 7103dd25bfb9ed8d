#include "tools/export/phase_times.h"

#include <algorithm>
#include <tuple>

#include "core/base/check.h"

namespace rehearse {

const char* name_of(TimeUse use) {
  switch (use) {
    case TimeUse::kCompute:
      return "compute";
    case TimeUse::kCommunication:
      return "exposed communication";
    case TimeUse::kCheckpoint:
      return "checkpoint";
    case TimeUse::kStart:
      return "start and load";
  }
  check_failed(__FILE__, __LINE__, "unknown use of time");
}

TimeUse use_of(Phase phase) {
  switch (phase) {
    case Phase::kData:
    case Phase::kForward:
    case Phase::kBackward:
    case Phase::kOptimizer:
      return TimeUse::kCompute;
    case Phase::kReduce:
    case Phase::kGather:
      return TimeUse::kCommunication;
    case Phase::kCheckpoint:
      return TimeUse::kCheckpoint;
    case Phase::kStart:
    case Phase::kLoad:
    case Phase::kEnd:
      return TimeUse::kStart;
  }
  check_failed(__FILE__, __LINE__, "unknown phase");
}

namespace {

class Reader {
 public:
  Reader(int ranks, std::int64_t detailed_step) : open_(static_cast<std::size_t>(ranks)) {
    out_.ranks = ranks;
    out_.detailed_step = detailed_step;
  }

  PhaseTimes read(RecordSource& records) {
    EventRecord record;
    while (records.next(record)) on_record(record);
    close_all();
    for (auto& [key, times] : times_) out_.steps.push_back(times);
    return std::move(out_);
  }

 private:
  struct Open {
    std::int64_t step;
    std::uint32_t attempt;
    PhaseSpan span;
  };

  void on_record(const EventRecord& record) {
    out_.end = record.time;
    const auto rank = static_cast<std::size_t>(record.rank);
    switch (record.kind) {
      case EventKind::kPhase:
        close(rank);
        if (record.phase != Phase::kEnd) {
          open_[rank] = Open{record.step, record.generation, {record.rank, record.phase, record.time, record.time}};
        }
        break;
      case EventKind::kDelivery:
        if (record.peer != record.rank) out_.bytes[{record.peer, record.rank}] += record.size;
        break;
      case EventKind::kStart:
      case EventKind::kCrash:
      case EventKind::kHang:
        if (record.rank >= 0) close(rank);
        break;
      case EventKind::kStopped:
        close_all();
        break;
      default:
        break;
    }
  }

  void close_all() {
    for (std::size_t rank = 0; rank < open_.size(); ++rank) close(rank);
  }

  void close(std::size_t rank) {
    if (!open_[rank].has_value()) return;
    Open& open = *open_[rank];
    open.span.end = out_.end;
    StepTimes& times = times_[{open.attempt, open.step}];
    times.step = open.step;
    times.attempt = open.attempt;
    Duration& sum = times.times[static_cast<std::size_t>(use_of(open.span.phase))];
    sum = sum + (open.span.end - open.span.begin);
    if (open.step == out_.detailed_step) {
      if (open.attempt != detailed_attempt_) out_.detail.clear();
      detailed_attempt_ = open.attempt;
      out_.detail.push_back(open.span);
    }
    open_[rank].reset();
  }

  PhaseTimes out_;
  std::vector<std::optional<Open>> open_;
  std::map<std::pair<std::uint32_t, std::int64_t>, StepTimes> times_;  // by attempt and step
  std::uint32_t detailed_attempt_ = 0;
};

}  // namespace

PhaseTimes phase_times(RecordSource& records, int ranks, std::int64_t detailed_step) {
  return Reader(ranks, detailed_step).read(records);
}

}  // namespace rehearse
