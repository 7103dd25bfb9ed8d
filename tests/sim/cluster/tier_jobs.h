#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {

// A job of four ranks, a checkpoint after every second of twelve steps, all of which are kept; `faults` are those of
// its plan.
inline Scenario four_ranks(const std::string& faults, const std::vector<std::string>& overrides) {
  std::vector<std::string> all = {"cluster.ranks=4", "train.steps=12", "checkpoint.keep=0",
                                  "cluster.device.flops=100MFLOPS"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return tiny_training(faults.empty() ? "" : "faults { " + faults + " }\n", all);
}

// The same with local disks, of which one of `upload_every` checkpoints is uploaded.
inline Scenario four_ranks_with_tiers(const std::string& faults, std::vector<std::string> overrides,
                                      int upload_every = 1) {
  overrides.insert(overrides.begin(), {"checkpoint.tiers.upload_every=" + std::to_string(upload_every),
                                       "checkpoint.tiers.local_disk.latency=2us"});
  return four_ranks(faults, overrides);
}

inline std::vector<std::int64_t> saved_steps(const TrainingRecord& record) {
  std::vector<std::int64_t> steps;
  for (const CheckpointRecord& checkpoint : record.checkpoints) steps.push_back(checkpoint.step);
  return steps;
}

// How many came from own disks, from other ranks' disks, and from the shared storage.
inline std::vector<std::int64_t> shards_of(const RecoveryRecord& recovery) {
  const TierReads& reads = recovery.reads;
  return {reads.shards_from_own_disk, reads.shards_from_other_disks, reads.shards_from_remote};
}

}  // namespace rehearse
