#pragma once

#include <cstdint>

#include "core/base/check.h"
#include "sim/kernel/event_record.h"

// The events that a supervisor schedules for itself.

namespace rehearse {

// An event's argument: what it is in the low byte; above it the generation, the rank, the index of a loss, or a rank
// and its generation.
enum class Happening : std::uint64_t {
  kHeard,
  kStop,
  kStart,
  kCrash,
  kHang,
  kPowerLoss,
  kLoss,
  kMissed,
  kStuck,
  kOrder,
  kLate,
  kOver
};

inline std::uint64_t argument_of(Happening event, std::uint64_t rest) {
  return static_cast<std::uint64_t>(event) | rest << 8;
}

inline std::uint64_t rank_of_generation(int rank, std::uint32_t generation) {
  return static_cast<std::uint64_t>(rank) << 32 | generation;
}

// Whose argument is a rank and its generation.
inline bool is_of_rank(Happening event) {
  return event == Happening::kCrash || event == Happening::kHang || event == Happening::kMissed ||
         event == Happening::kStuck || event == Happening::kOrder;
}

inline EventKind kind_of(Happening event) {
  switch (event) {
    case Happening::kHeard:
    case Happening::kMissed:
    case Happening::kStuck:
    case Happening::kLate:
      return EventKind::kDetected;
    case Happening::kStop:
    case Happening::kOrder:
    case Happening::kOver:
      return EventKind::kStopped;
    case Happening::kStart:
      return EventKind::kRestart;
    case Happening::kCrash:
    case Happening::kPowerLoss:
    case Happening::kLoss:
      return EventKind::kCrash;
    case Happening::kHang:
      return EventKind::kHang;
  }
  check_failed(__FILE__, __LINE__, "unknown event of the supervisor");
}

}  // namespace rehearse
