#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/units.h"
#include "core/parallel/program_error.h"
#include "core/runtime/tracer.h"
#include "sim/fault/failure_domains.h"
#include "sim/fault/failure_rates.h"
#include "sim/fault/network_faults.h"
#include "sim/fault/storage_faults.h"
#include "sim/fault/supervisor_links.h"

namespace rehearse {

// A place in a run: a rank begins the phase of a step. For LOAD the step is the number of the load, from 1.
struct FaultAddress {
  int rank = 0;
  std::int64_t step = 0;
  Phase phase = Phase::kData;
  bool operator==(const FaultAddress&) const = default;
};

// Every rank at once, as the rank of an address.
inline constexpr int kAllRanks = -1;

// When a fault strikes. Each place strikes at most once in a run, so a step that is done again after a rollback or a
// restart is not struck again, unless `always`.
struct FaultWhen {
  FaultAddress at;                           // the first place; with `time`, the rank alone
  int ranks = 1;                             // from at.rank on: the first of them that comes there counts for all
  std::optional<TimePoint> time;             // of the simulation, instead of a place
  std::int64_t message = 0;                  // 0: as the phase begins; n: as the rank has sent its n-th message in it
  std::int64_t every = 0;                    // again every so many steps; 0: never again
  std::int64_t until_step = 0;               // the last step; 0: no end
  std::int64_t count = 1;                    // how often at most; 0: no limit
  std::int64_t probability = 1'000'000'000;  // at each place, in billionths
  bool always = false;                       // on every attempt at a step
  bool operator==(const FaultWhen&) const = default;
};

// What of a rank's memory a fault of numbers strikes.
enum class FaultTarget : std::uint8_t { kGradient, kParameter, kMaster, kFirstMoment, kSecondMoment, kActivation };
const char* name_of(FaultTarget target);

// Elements of one tensor, one after the other in row-major order.
struct FaultElements {
  FaultTarget target = FaultTarget::kGradient;
  int tensor = 0;           // index in the layout, or among the activations
  std::string tensor_name;  // for reports
  std::int64_t index = 0;
  std::int64_t count = 1;
};

// One bit of each element is inverted.
struct FlipFault {
  FaultElements elements;
  int bit = 0;  // 0 is the lowest of the mantissa
};

// The elements get another value.
enum class WrittenValue : std::uint8_t { kNan, kInfinity, kNegativeInfinity, kZero };
struct OverwriteFault {
  FaultElements elements;
  WrittenValue value = WrittenValue::kNan;
};

// The rank's loss, or its whole gradient before the reduction, times a factor: what a bad batch does.
enum class SpikeTarget : std::uint8_t { kLoss, kGradient };
struct SpikeFault {
  SpikeTarget target = SpikeTarget::kGradient;
  double factor = 1;
};

// The learning rate of one step times a factor, on all ranks.
struct LrSpikeFault {
  double factor = 1;
};

// What of a rank is gone: its process, which its peers notice; or its whole host, with all ranks on it, which says
// nothing any more.
enum class CrashKind : std::uint8_t { kProcess, kHost };
struct CrashFault {
  CrashKind kind = CrashKind::kProcess;
  FailureDomain domain;  // more than a rank for kHost alone
  PowerLoss unsynced;    // what a lost host leaves of what it had not synced
};

// The rank stops without dying.
struct HangFault {};

// The rank's program goes wrong in its next collective.
struct ProgramFault {
  ProgramError error = ProgramError::kSkip;
};

// The rank's device takes numerator/denominator times as long, while it works on the steps of the window.
struct StragglerFault {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
};

struct Fault {
  FaultWhen when;
  std::variant<FlipFault, OverwriteFault, SpikeFault, LrSpikeFault, CrashFault, HangFault, ProgramFault, StragglerFault>
      kind;
};

// Everything that goes wrong in a run, decided before it starts.
struct FaultPlan {
  std::vector<Fault> faults;
  StorageFaultPlan storage;
  NetworkFaultPlan network;
  std::vector<SupervisorLinkFault> supervisor_links;
  std::vector<FailureRate> rates;
  bool empty() const {
    return faults.empty() && storage.empty() && network.empty() && supervisor_links.empty() && rates.empty();
  }
};

}  // namespace rehearse
