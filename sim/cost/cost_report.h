#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/config/scenario.h"
#include "sim/cost/step_costs.h"

namespace rehearse {

// The collectives of one kind in a step: same operation, phase and size. Numbers are of a step, or of a call, on
// average over all steps that counted.
struct CollectiveCost {
  Operation operation = Operation::kPointToPoint;
  Phase phase = Phase::kStart;
  bool of_model = false;  // gradients or parameters
  std::string algorithm;  // "ring"; empty where no formula knows it
  double calls = 0;       // a step
  Bytes size;             // what the formula is about: the buffer of a rank
  // By formula, of a call, all ranks together; nothing where there is none.
  std::optional<std::int64_t> messages;
  std::optional<Bytes> bytes;
  // Of a call.
  Duration time;      // from the last rank's coming to the last one's end
  Duration shortest;  // of all calls
  Duration longest;
  Duration late;  // from the first rank's coming to the last one's
  // By closed form, from the scenario's numbers alone.
  std::optional<Duration> formula;
  // Why time is not formula; empty where it is.
  std::string difference;
  // As nccl-tests define them (doc/PERFORMANCE.md there): size / time, and that times 2(n-1)/n for all_reduce,
  // (n-1)/n for reduce_scatter and all_gather, 1 for broadcast and reduce. Bytes a second; 0 where no time passes.
  double algorithm_bandwidth = 0;
  double bus_bandwidth = 0;
  double share = 0;  // of the step's time, calls x time
};

// Messages of one operation in a step, all ranks together, as they were counted.
struct OperationCount {
  Operation operation = Operation::kPointToPoint;
  double messages = 0;
  double bytes = 0;
};

struct StepLink {
  std::string name;  // "rank 3 -> switch"
  Bandwidth bandwidth;
  double bytes = 0;        // a step
  double utilisation = 0;  // of its bandwidth over a step
};

// What the steps of a run cost.
struct CostReport {
  TrainingRecord record;
  int ranks = 0;
  std::int64_t steps = 0;  // that counted; 0: none did, and nothing below means anything
  // Of a rank and a step, on average: the parts of `split` add up to `step`, but for the rounding of each part.
  Duration step;
  TimeSplit split;
  Duration shortest_step;  // from the first rank's beginning to the last one's end
  Duration longest_step;
  std::vector<CollectiveCost> collectives;
  std::vector<OperationCount> counted;
  std::vector<StepLink> links;  // the busiest first
  std::vector<PathPiece> path;
  std::int64_t path_step = 0;
  double tokens_per_second = 0;
  double flops_per_second = 0;  // of a rank: products of the model, forward and backward, once, over the step's time
  double rank_hours_per_step = 0;
  double rank_hours = 0;  // of the whole run, recoveries and saves included
  std::optional<double> price_per_step;
  std::optional<double> price;
};

// Runs the scenario without its numbers (mode COST), whatever its mode is. Throws as run_training.
CostReport cost_of(const Scenario& scenario, const std::function<bool()>& interrupted = {},
                   const std::function<void(std::int64_t step)>& on_step = {});

}  // namespace rehearse
