#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/tracer.h"
#include "sim/kernel/event_record.h"

namespace rehearse {

// What a timeline shows of a rank, each on tracks of its own.
enum class TrackKind : std::uint8_t {
  kPhases,   // data, forward, backward, ...
  kProgram,  // what the rank's main activity waits for
  kCompute,  // its device's streams
  kCopy,
  kCollectives,  // from begin to end, whoever of the rank's activities runs them
  kStorage,      // operations on files
  kOut,          // messages that leave its port, and that come to it
  kIn,
};
inline constexpr int kTrackKinds = 8;
const char* name_of(TrackKind kind);

// A stretch of virtual time on a rank.
struct Slice {
  TimePoint begin;
  TimePoint end;
  std::int64_t step = 0;
  std::int64_t bytes = -1;  // -1: not about bytes
  std::uint64_t call = 0;
  std::int32_t rank = 0;
  std::int32_t peer = -1;
  std::int32_t unit = -1;
  std::uint32_t group = 0;
  std::uint32_t generation = 0;
  std::int32_t arrow = -1;  // of a message: the same number on its two slices
  TrackKind track = TrackKind::kPhases;
  EventKind kind = EventKind::kNone;
  Operation operation = Operation::kPointToPoint;
  Phase phase = Phase::kStart;
  bool cut = false;  // it never ended: the rank died or the run was over
};

// A moment with words: a fault, a guard's verdict, a durable checkpoint.
struct Instant {
  TimePoint time;
  std::int32_t rank = -1;  // -1: of the job
  std::string what;
};

// A value from this moment on.
struct CounterPoint {
  TimePoint time;
  std::uint32_t counter = 0;  // index in Timeline::counters
  double value = 0;
  std::int64_t step = 0;
};

struct CounterName {
  std::string name;   // "loss"
  std::string group;  // the process that it stands in: "job", "links"
};

// Of the supervisor: how a recovery went.
struct JobSlice {
  TimePoint begin;
  TimePoint end;
  std::string what;
};

// Steps `first` to `last`, both shown.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Everything a timeline shows, in no particular order.
struct Timeline {
  int ranks = 0;
  std::vector<Slice> slices;
  std::vector<Instant> instants;
  std::vector<CounterName> counters;
  std::vector<CounterPoint> points;
  std::vector<JobSlice> job;
  std::int64_t stride = 1;    // every so many-th step is shown alone, where all were too many
  std::uint64_t dropped = 0;  // slices that were not kept although their step is shown
};

}  // namespace rehearse
