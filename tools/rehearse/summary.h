#pragma once

#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"

namespace rehearse {

// What is known when a run is over.
struct FinishedRun {
  const Scenario* scenario = nullptr;
  TrainingRecord record;
  std::vector<Verdict> verdicts;
  ExitCode exit_code = ExitCode::kDone;
  double wall_seconds = 0;
};

// summary.json (design section 5): a function of scenario and seed, but for wall_seconds. What a run does not have is
// absent, never null or empty.
std::string write_summary(const FinishedRun& run);

// A line of metrics.jsonl, without its newline. `has_numbers`: false in mode COST.
std::string write_metrics_line(const StepRecord& step, bool has_numbers = true);

// The SHA-256 of a checkpoint's manifest, and the bytes of its files.
std::string manifest_sha256(const CheckpointRecord& checkpoint);
Bytes total_bytes(const CheckpointRecord& checkpoint);

}  // namespace rehearse
