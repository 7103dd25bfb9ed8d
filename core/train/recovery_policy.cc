#include "core/train/recovery_policy.h"

#include <algorithm>

namespace rehearse {

Judgement StandardPolicy::judge(const StepReport& report, const GuardHistory& history, std::int64_t rollbacks) const {
  return judge_step(guards_, report, history, rollbacks);
}

std::vector<std::int64_t> StandardPolicy::order(const std::vector<RecoveryPoint>& points) const {
  std::vector<std::int64_t> steps;
  for (const RecoveryPoint& point : points) {
    if (point.trusted && !point.avoided) steps.push_back(point.step);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::vector<std::int64_t> StandardPolicy::must_keep(const std::vector<RecoveryPoint>& points) const {
  const std::vector<std::int64_t> steps = order(points);
  if (steps.empty()) return {};
  return {steps.front()};
}

RestartDecision StandardPolicy::on_failure(const JobFailure& failure) const {
  RestartDecision decision;
  decision.restart = failure.restarts < max_restarts_;
  decision.delay = restart_delay_;
  return decision;
}

}  // namespace rehearse
