#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/tracer.h"
#include "sim/trace/log_reader.h"

namespace rehearse {

// What ranks do with their time, by the phase that they are in.
enum class TimeUse : std::uint8_t {
  kCompute,        // data, forward, backward, optimizer
  kCommunication,  // reduce, gather: what training waits for, and so exposed
  kCheckpoint,
  kStart,  // start, load
};
inline constexpr int kTimeUses = 4;
const char* name_of(TimeUse use);
TimeUse use_of(Phase phase);

// One attempt at a step, all ranks' times added up; virtual time.
struct StepTimes {
  std::int64_t step = 0;
  std::uint32_t attempt = 0;  // restarts and rollbacks before it
  std::array<Duration, kTimeUses> times;
  Duration total() const {
    Duration sum;
    for (const Duration time : times) sum = sum + time;
    return sum;
  }
};

// A phase of a rank in the step that is shown in detail.
struct PhaseSpan {
  int rank = 0;
  Phase phase = Phase::kStart;
  TimePoint begin;
  TimePoint end;
};

// What an event log tells of its run.
struct PhaseTimes {
  int ranks = 0;
  std::vector<StepTimes> steps;  // by attempt, then step; only those in which a rank was
  std::int64_t detailed_step = 0;
  std::vector<PhaseSpan> detail;  // of its latest attempt
  // Bytes by (source, destination).
  std::map<std::pair<int, int>, std::int64_t> bytes;
  TimePoint end;  // of the last record
};

// Reads all records. `detailed_step` is the one to keep phase by phase.
PhaseTimes phase_times(RecordSource& records, int ranks, std::int64_t detailed_step);

}  // namespace rehearse
