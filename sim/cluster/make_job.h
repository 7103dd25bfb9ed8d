#pragma once

#include <optional>

#include "core/checkpoint/run_state.h"
#include "core/train/rank_main.h"
#include "sim/cluster/training_run.h"

namespace rehearse {

// The training job that a scenario describes; what watches and disturbs it outlives it.
TrainJob make_job(const Scenario& scenario, const std::optional<ResumeFrom>& resume, TrainObserver* observer,
                  Disturbance* disturbance, const RecoveryPolicy* policy);

// What a checkpoint says of the scenario that saves it: the copy of it, and its hashes.
void describe_scenario(const Scenario& scenario, CheckpointPlan& plan);

// What the plan's faults had come to when the checkpoint was saved, and when that was.
RunState run_state_of(const ResumeFrom& resume);

}  // namespace rehearse
