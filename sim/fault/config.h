#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/tracer.h"
#include "sim/fault/failure_rates.h"

namespace rehearse {

// When a fault strikes: the first time that the rank begins the phase of the step.
struct FaultAddress {
  int rank = 0;
  std::int64_t step = 0;
  Phase phase = Phase::kData;
  bool operator==(const FaultAddress&) const = default;
};

// What of a rank's memory a fault of numbers strikes.
enum class FaultTarget : std::uint8_t { kGradient, kParameter, kMaster, kFirstMoment, kSecondMoment };
const char* name_of(FaultTarget target);

// One bit of one element of a tensor is inverted.
struct FlipFault {
  FaultAddress at;
  FaultTarget target = FaultTarget::kGradient;
  int tensor = 0;           // index in the layout
  std::string tensor_name;  // for reports
  std::int64_t index = 0;   // of the element in the tensor, row-major
  int bit = 0;              // 0 is the lowest of the mantissa
};

// What of a rank is gone: its process, which its peers notice; or its whole host, which says nothing any more.
enum class CrashKind : std::uint8_t { kProcess, kHost };

// A rank dies: when it begins the phase, or at a time.
struct CrashFault {
  FaultAddress at;                // without `time`, all of it; with it, the rank
  std::optional<TimePoint> time;  // of the simulation
  CrashKind kind = CrashKind::kProcess;
};

// Everything that goes wrong in a run, decided before it starts.
struct FaultPlan {
  std::vector<FlipFault> flips;
  std::vector<CrashFault> crashes;
  std::vector<FailureRate> rates;
  bool empty() const { return flips.empty() && crashes.empty() && rates.empty(); }
};

}  // namespace rehearse
