#include "tools/export/trace_json.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "core/base/numbers.h"
#include "core/formats/json.h"
#include "tools/export/lanes.h"

namespace rehearse {
namespace {

// Processes of the trace.
constexpr int kJob = 1;
constexpr int kLinks = 2;
constexpr int kFirstRank = 10;
// Threads: of a rank `kind * kLanesOfKind + lane + 1`.
constexpr int kLanesOfKind = 1000;

std::string microseconds(std::int64_t ps) {
  char text[48];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(ps / 1'000'000),
                static_cast<long long>(ps % 1'000'000));
  return text;
}

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string with_unit(const Slice& slice) {
  const std::string text = name_of(slice.operation);
  return slice.unit < 0 ? text : text + " of unit " + std::to_string(slice.unit);
}

std::string name_of(const Slice& slice) {
  const std::string peer = "rank " + std::to_string(slice.peer);
  switch (slice.track) {
    case TrackKind::kPhases:
    case TrackKind::kCompute:
    case TrackKind::kCopy:
      return name_of(slice.phase);
    case TrackKind::kCollectives:
      return with_unit(slice);
    case TrackKind::kOut:
      return with_unit(slice) + " to " + peer;
    case TrackKind::kIn:
      return with_unit(slice) + " from " + peer;
    case TrackKind::kStorage:
      return name_of(slice.kind);
    case TrackKind::kProgram:
      break;
  }
  if (slice.peer < 0) return name_of(slice.kind);
  return std::string(name_of(slice.kind)) + " (" + name_of(slice.operation) + ") with " + peer;
}

// A line of the file, that sorts by time; at one time what lasts longer comes first, and arrows after slices.
struct Line {
  std::int64_t ts;
  int turn;
  std::int64_t shortness;
  std::size_t index;
  auto key() const { return std::tie(ts, turn, shortness, index); }
};
enum Turn { kSliceTurn, kArrowTurn, kInstantTurn, kCounterTurn };

class Writer {
 public:
  explicit Writer(const Timeline& timeline) : timeline_(timeline) {}

  std::string write(const std::vector<std::pair<std::string, std::string>>& about) {
    out_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":{";
    for (std::size_t i = 0; i < about.size(); ++i) {
      out_ += (i > 0 ? "," : "") + quoted(about[i].first) + ":" + quoted(about[i].second);
    }
    out_ += "},\"traceEvents\":[\n";
    assign_lanes(timeline_.slices, lanes_, [](const Slice& slice) {
      return static_cast<std::int64_t>(slice.rank) * kTrackKinds + static_cast<int>(slice.track);
    });
    assign_lanes(timeline_.job, job_lanes_, [](const JobSlice&) { return std::int64_t{0}; });
    write_names();
    for (const Line& line : sorted_lines()) write_line(line);
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  void event(const std::string& body) {
    if (!first_) out_ += ",\n";
    first_ = false;
    out_ += body;
  }

  static std::string place(int pid, int tid) {
    return "\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid);
  }

  void name(const char* what, int pid, int tid, const std::string& text, int order) {
    const std::string kind = what;
    event("{\"ph\":\"M\",\"name\":\"" + kind + "_name\"," + place(pid, tid) + ",\"args\":{\"name\":" + quoted(text) +
          "}}");
    event("{\"ph\":\"M\",\"name\":\"" + kind + "_sort_index\"," + place(pid, tid) +
          ",\"args\":{\"sort_index\":" + std::to_string(order) + "}}");
  }

  static int thread_of(TrackKind kind, int lane) { return static_cast<int>(kind) * kLanesOfKind + lane + 1; }

  void write_names() {
    name("process", kJob, 0, "job", 0);
    const int job_lanes = job_lanes_.empty() ? 0 : *std::max_element(job_lanes_.begin(), job_lanes_.end()) + 1;
    for (int lane = 0; lane < std::max(1, job_lanes); ++lane) {
      name("thread", kJob, lane + 1, "supervisor: recoveries", lane + 1);
    }
    name("process", kLinks, 0, "links: utilisation", 1);
    std::set<int> ranks;
    std::set<std::tuple<int, TrackKind, int>> tracks;
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      ranks.insert(slice.rank);
      tracks.emplace(slice.rank, slice.track, lanes_[i]);
    }
    for (const Instant& instant : timeline_.instants) {
      if (instant.rank >= 0) ranks.insert(instant.rank);
    }
    for (const int rank : ranks) {
      name("process", kFirstRank + rank, 0, "rank " + std::to_string(rank), kFirstRank + rank);
      // Instants stand there, too.
      if (!tracks.contains({rank, TrackKind::kPhases, 0})) tracks.emplace(rank, TrackKind::kPhases, 0);
    }
    for (const auto& [rank, kind, lane] : tracks) {
      const std::string text = name_of(kind) + (lane == 0 ? "" : " (" + std::to_string(lane + 1) + ")");
      name("thread", kFirstRank + rank, thread_of(kind, lane), text, thread_of(kind, lane));
    }
  }

  std::vector<Line> sorted_lines() const {
    std::vector<Line> lines;
    const auto add = [&](std::int64_t ts, Turn turn, std::int64_t length, std::size_t index) {
      lines.push_back(Line{ts, turn, -length, index});
    };
    const std::size_t slices = timeline_.slices.size();
    std::map<std::int32_t, int> ends;
    for (const Slice& slice : timeline_.slices) {
      if (slice.arrow >= 0) ++ends[slice.arrow];
    }
    for (std::size_t i = 0; i < slices; ++i) {
      const Slice& slice = timeline_.slices[i];
      add(slice.begin.ps(), kSliceTurn, (slice.end - slice.begin).ps(), i);
      // An arrow needs both its ends, and slices that last.
      if (slice.arrow >= 0 && slice.begin < slice.end && ends[slice.arrow] == 2) {
        add(slice.begin.ps(), kArrowTurn, 0, i);
      }
    }
    for (std::size_t i = 0; i < timeline_.job.size(); ++i) {
      const JobSlice& slice = timeline_.job[i];
      add(slice.begin.ps(), kSliceTurn, (slice.end - slice.begin).ps(), slices + i);
    }
    for (std::size_t i = 0; i < timeline_.instants.size(); ++i)
      add(timeline_.instants[i].time.ps(), kInstantTurn, 0, i);
    for (std::size_t i = 0; i < timeline_.points.size(); ++i) add(timeline_.points[i].time.ps(), kCounterTurn, 0, i);
    std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.key() < b.key(); });
    return lines;
  }

  void write_line(const Line& line) {
    switch (line.turn) {
      case kSliceTurn:
        if (line.index < timeline_.slices.size()) return write_slice(line.index);
        return write_job_slice(line.index - timeline_.slices.size());
      case kArrowTurn:
        return write_arrow(line.index);
      case kInstantTurn:
        return write_instant(timeline_.instants[line.index]);
      default:
        return write_point(timeline_.points[line.index]);
    }
  }

  std::string place_of(std::size_t index) const {
    const Slice& slice = timeline_.slices[index];
    return place(kFirstRank + slice.rank, thread_of(slice.track, lanes_[index]));
  }

  static std::string span(TimePoint begin, TimePoint end) {
    return "\"ts\":" + microseconds(begin.ps()) + ",\"dur\":" + microseconds((end - begin).ps());
  }

  void write_slice(std::size_t index) {
    const Slice& slice = timeline_.slices[index];
    std::string args = "\"step\":" + std::to_string(slice.step);
    const auto add = [&args](const char* key, auto value) {
      args += std::string(",\"") + key + "\":" + std::to_string(value);
    };
    if (slice.bytes >= 0) add("bytes", slice.bytes);
    const bool in_call = slice.track == TrackKind::kCollectives || slice.peer >= 0;
    if (in_call) {
      add("group", slice.group);
      add("generation", slice.generation);
      add("call", slice.call);
    }
    if (slice.track == TrackKind::kPhases) add("attempt", slice.generation);
    if (slice.cut) args += ",\"cut\":true";
    event("{\"ph\":\"X\"," + place_of(index) + "," + span(slice.begin, slice.end) + ",\"cat\":" +
          quoted(name_of(slice.track)) + ",\"name\":" + quoted(name_of(slice)) + ",\"args\":{" + args + "}}");
  }

  void write_job_slice(std::size_t index) {
    const JobSlice& slice = timeline_.job[index];
    event("{\"ph\":\"X\"," + place(kJob, job_lanes_[index] + 1) + "," + span(slice.begin, slice.end) +
          ",\"cat\":\"recovery\",\"name\":" + quoted(slice.what) + ",\"args\":{}}");
  }

  void write_arrow(std::size_t index) {
    const Slice& slice = timeline_.slices[index];
    const bool start = slice.track == TrackKind::kOut;
    event(std::string("{\"ph\":\"") + (start ? "s" : "f\",\"bp\":\"e") + "\"," + place_of(index) +
          ",\"ts\":" + microseconds(slice.begin.ps()) +
          ",\"cat\":\"message\",\"name\":\"message\",\"id\":" + std::to_string(slice.arrow) + "}");
  }

  void write_instant(const Instant& instant) {
    const bool of_job = instant.rank < 0;
    const std::string where =
        of_job ? place(kJob, 1) : place(kFirstRank + instant.rank, thread_of(TrackKind::kPhases, 0));
    event(std::string("{\"ph\":\"i\",\"s\":\"") + (of_job ? "g" : "p") + "\"," + where + ",\"ts\":" +
          microseconds(instant.time.ps()) + ",\"cat\":\"what happened\",\"name\":" + quoted(instant.what) + "}");
  }

  void write_point(const CounterPoint& point) {
    const CounterName& counter = timeline_.counters[point.counter];
    const int pid = counter.group == "job" ? kJob : kLinks;
    event("{\"ph\":\"C\"," + place(pid, 0) + ",\"ts\":" + microseconds(point.time.ps()) +
          ",\"name\":" + quoted(counter.name) + ",\"args\":{\"value\":" + shortest_text(point.value) + "}}");
  }

  const Timeline& timeline_;
  std::vector<int> lanes_;      // by slice
  std::vector<int> job_lanes_;  // by job slice
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string write_trace_json(const Timeline& timeline, const std::vector<std::pair<std::string, std::string>>& about) {
  return Writer(timeline).write(about);
}

}  // namespace rehearse
