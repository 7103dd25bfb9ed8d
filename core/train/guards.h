#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/guard_history.h"
#include "core/train/observer.h"

namespace rehearse {

// What a job does about a step that does not look right (design section 7: what each does to the counters).
enum class Reaction : std::uint8_t { kGoOn, kSkipStep, kRollback, kRollbackAndSkipBatches, kEvict, kStop };
const char* name_of(Reaction reaction);  // as in scenarios: "SKIP_STEP"

struct GuardConfig {
  std::optional<Reaction> nonfinite;   // to a NaN or an infinity in the loss or the gradient; no guard without it
  std::optional<Reaction> loss_spike;  // to a loss over the factor times the one before; no guard without it
  std::optional<Reaction> corruption;  // to state that changed since its last update; not looked for without it
  // And to a gradient that another rank does not come to, in every so many steps and the last; 0: no rank's gradient is
  // computed twice. Only with `corruption`.
  std::int64_t recompute_every = 0;
  double spike_factor = 2;
  std::int64_t median_window = 0;  // also over the factor times the median of so many losses before; 0: no median
  std::int64_t max_consecutive_skips = 3;
  std::int64_t max_rollbacks = 3;
  bool any() const { return nonfinite.has_value() || loss_spike.has_value() || corruption.has_value(); }
};

struct Judgement {
  Reaction reaction = Reaction::kGoOn;
  std::string reason;          // in words; empty for kGoOn
  std::vector<int> convicted;  // ranks whose state changed or whose gradients are wrong, ascending
};

// The guards' verdict on a step whose gradient all ranks know, before it is used: a pure function of what every rank
// has, so that all come to the same. More skips in a row than allowed are answered with a rollback, more rollbacks with
// a stop; an eviction with a rollback where nobody is convicted.
Judgement judge_step(const GuardConfig& config, const StepReport& report, const GuardHistory& history,
                     std::int64_t rollbacks);

// What the guards remember after a step that was applied, or skipped.
void note_applied(const GuardConfig& config, double loss, GuardHistory& history);
void note_skipped(GuardHistory& history);

}  // namespace rehearse
