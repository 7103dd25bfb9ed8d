#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/train/disturbance.h"
#include "sim/fault/config.h"

namespace rehearse {

// A fault that struck.
struct FaultRecord {
  TimePoint time;
  FaultAddress at;
  std::string what;  // in words
};

// Carries a fault plan out, from outside the ranks. Each fault strikes once in the whole run, however often its address
// is reached.
class FaultInjector : public Disturbance {
 public:
  struct Hooks {
    // Hears of each fault when it has struck, without its time.
    std::function<void(const FaultRecord&)> on_fault;
    // Has the rank die, not before this call is over; nothing more that it does counts.
    std::function<void(int rank, CrashKind kind, const PowerLoss& unsynced)> crash;
    // False for a rank that is down, or about to die: no fault strikes it.
    std::function<bool(int rank)> is_up;
  };
  FaultInjector(const FaultPlan& plan, Hooks hooks)
      : plan_(plan),
        flips_fired_(plan.flips.size(), false),
        crashes_fired_(plan.crashes.size(), false),
        hooks_(std::move(hooks)) {}

  void strike(int rank, std::int64_t step, Phase phase, const StateMemory& memory) override;
  // The plan's n-th crash, which has a time, is due. It finds nobody where the rank is down.
  void strike_in_time(std::size_t crash);
  // What never struck, in words.
  std::vector<std::string> not_struck() const;

 private:
  void fire(const CrashFault& crash);

  const FaultPlan& plan_;
  std::vector<bool> flips_fired_;
  std::vector<bool> crashes_fired_;
  Hooks hooks_;
};

}  // namespace rehearse
