#pragma once

#include <string>

#include "core/train/rank_main.h"
#include "sim/cluster/generation_gate.h"

namespace rehearse {

// What the ranks of one generation run. It stays as they began with it: one of them may live on when the job is
// another.
struct RunningJob {
  RunningJob(const TrainJob& as_now, TrainObserver& observer) : job(as_now), gate(observer, as_now.disturbance) {
    job.observer = &gate;
    if (job.disturbance != nullptr) job.disturbance = &gate;
  }
  TrainJob job;
  GenerationGate gate;
  std::string stopped;  // why a guard ended the job
};

inline Task<> rank_program(RankContext& context, RunningJob& running) {
  const RunResult result = co_await rank_main(context, running.job);
  if (!result.stopped.empty()) running.stopped = result.stopped;
}

}  // namespace rehearse
