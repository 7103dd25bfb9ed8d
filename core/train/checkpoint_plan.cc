#include "core/train/rank_main.h"

namespace rehearse {

CheckpointPlan make_checkpoint_plan(const TrainConfig& config) {
  CheckpointPlan plan;
  plan.keep = config.checkpoint.keep;
  if (config.checkpoint.tiers.has_value()) {
    plan.local.emplace();
    plan.local->replica_distance = config.checkpoint.tiers->replica_distance;
  }
  plan.has_guards = config.guards.any();
  plan.schedule.lr = config.adam.lr;
  plan.schedule.warmup_steps = config.schedule.warmup_steps;
  plan.schedule.cosine = config.schedule.cosine;
  plan.schedule.min_lr = config.schedule.min_lr;
  plan.schedule.total_steps = config.steps;
  if (config.lr_spike.has_value()) {
    LrSpikeRecord spike;
    spike.step = config.lr_spike->step;
    spike.factor = config.lr_spike->factor;
    plan.schedule.lr_spike = spike;
  }
  return plan;
}

}  // namespace rehearse
