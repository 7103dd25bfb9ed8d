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

// Carries a fault plan out, from outside the ranks. Each fault strikes once.
class FaultInjector : public Disturbance {
 public:
  // `on_fault` hears of each fault when it has struck, without its time.
  FaultInjector(const FaultPlan& plan, std::function<void(const FaultRecord&)> on_fault)
      : plan_(plan), fired_(plan.flips.size(), false), on_fault_(std::move(on_fault)) {}

  void strike(int rank, std::int64_t step, Phase phase, const StateMemory& memory) override;

 private:
  const FaultPlan& plan_;
  std::vector<bool> fired_;
  std::function<void(const FaultRecord&)> on_fault_;
};

}  // namespace rehearse
