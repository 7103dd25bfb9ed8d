#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/train/recovery_policy.h"

namespace rehearse {

// The checkpoints of a job that is counted, and what its policy does with them: which it goes back to, and which
// rotation leaves. As core/train/recovery_points.h, without disk and ranks; all are trusted.
class JobCheckpoints {
 public:
  // `keep`: the newest ones that rotation leaves, 0 for all. The policy outlives this.
  JobCheckpoints(const RecoveryPolicy& policy, std::int64_t keep) : policy_(policy), keep_(keep) {}

  // The step's checkpoint counts from now on.
  void publish(std::int64_t step);
  // Its save is over, and so is whatever was held against an earlier one of the same step.
  void saved(std::int64_t step) { avoided_.erase(step); }
  // It led to the same failure twice.
  void avoid(std::int64_t step) { avoided_.insert(step); }
  // The job goes back: to the step of the checkpoint that it loads, or to the start.
  std::optional<std::int64_t> go_back();

 private:
  std::vector<RecoveryPoint> points() const;
  // Of the checkpoints up to `last`: newer ones wait until the job comes to their steps again.
  void rotate(std::int64_t last);

  const RecoveryPolicy& policy_;
  std::int64_t keep_;
  std::set<std::int64_t> steps_;
  std::set<std::int64_t> avoided_;
};

}  // namespace rehearse
