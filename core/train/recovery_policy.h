#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/checkpoint/trust.h"
#include "core/train/guards.h"

namespace rehearse {

// What is asked when a rank of a job has failed.
struct JobFailure {
  std::string cause;          // in words
  std::int64_t restarts = 0;  // so far
};

struct RestartDecision {
  bool restart = false;  // false: the job is given up
  Duration delay;        // from the stop of the ranks to their start
};

// A checkpoint that a job may go back to.
struct RecoveryPoint {
  std::int64_t step = 0;
  bool trusted = false;
  bool avoided = false;  // it led to the same failure twice
};

// Everything that a job decides when something goes wrong. The rank program, the supervisor and the job-level model ask
// it; who wants other rules brings another one. Its answers are pure functions of what it is asked: all ranks ask the
// same and must hear the same.
class RecoveryPolicy {
 public:
  virtual ~RecoveryPolicy() = default;
  // Of a step, when its gradient is known to all ranks and before it is used. `rollbacks`: so far.
  virtual Judgement judge(const StepReport& report, const GuardHistory& history, std::int64_t rollbacks) const = 0;
  // Whether a checkpoint may be gone back to as soon as it is committed, or only once a later step was judged well.
  virtual bool trusts_at_once() const = 0;
  // Which of the checkpoints that are there to try, the first one first; `points` ascends by step. Where none of them
  // loads the job starts afresh.
  virtual std::vector<std::int64_t> order(const std::vector<RecoveryPoint>& points) const = 0;
  // Which checkpoints rotation must leave, besides the newest ones that the job keeps.
  virtual std::vector<std::int64_t> must_keep(const std::vector<RecoveryPoint>& points) const = 0;
  // After a failure that a restart may mend.
  virtual RestartDecision on_failure(const JobFailure& failure) const = 0;
};

// The rules that a scenario writes down.
class StandardPolicy : public RecoveryPolicy {
 public:
  StandardPolicy(const GuardConfig& guards, std::int64_t max_restarts, Duration restart_delay)
      : guards_(guards), max_restarts_(max_restarts), restart_delay_(restart_delay) {}

  Judgement judge(const StepReport& report, const GuardHistory& history, std::int64_t rollbacks) const override;
  // With guards a checkpoint waits for the next step: a learning rate that was too large shows one step late.
  bool trusts_at_once() const override { return !guards_.any(); }
  // The trusted ones, newest first.
  std::vector<std::int64_t> order(const std::vector<RecoveryPoint>& points) const override;
  // The newest trusted one.
  std::vector<std::int64_t> must_keep(const std::vector<RecoveryPoint>& points) const override;
  RestartDecision on_failure(const JobFailure& failure) const override;

 private:
  GuardConfig guards_;
  std::int64_t max_restarts_;
  Duration restart_delay_;
};

}  // namespace rehearse
