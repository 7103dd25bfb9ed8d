#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/communicator.h"
#include "sim/check/state_memory.h"
#include "sim/config/scenario.h"

namespace rehearse {

// Messages and bytes of one operation, all ranks together.
struct Traffic {
  Operation operation = Operation::kPointToPoint;
  std::int64_t calls = 0;  // of one rank
  std::int64_t messages = 0;
  Bytes bytes;
};

// What a scenario takes, by formula: the messages and bytes of core/comm/traffic_formulas.h for the algorithms of its
// collectives, on parameters in units padded to 16 N.
//   a step, zero_stage 1   reduce_scatter and all_gather of each unit; an all_gather of four doubles a rank, by a ring
//   zero_stage 2           the same
//   zero_stage 3           the same, but that each unit is gathered as often as gathers_in_a_step() says
//                          (core/parallel/stage_units.h), once or twice a microbatch
//   a step, zero_stage 0   all_reduce of each unit; the same all_gather
//   the start              broadcast of each unit
// Saving and loading checkpoints, what guards ask for beside the sums, and messages in flight, are not in it.
struct Estimate {
  std::int64_t parameters = 0;
  std::int64_t padded_parameters = 0;
  std::int64_t units = 0;
  std::vector<Traffic> start;
  std::vector<Traffic> step;
  // Of a rank.
  StateBytes state;
  Bytes optimizer_bytes;
  Bytes activation_bytes;
  Bytes rank_bytes;  // their sum, with the most of each
  // Of all ranks together, which live in one process; that of the run for same_weights_as where it is more.
  Bytes process_bytes;
  // Products of all ranks in all steps, forward and backward, and again where gradients are computed twice; those of
  // the runs that checking resume_from and same_weights_as takes are in it.
  double flops = 0;
  std::int64_t messages = 0;  // of start and steps
  double wall_seconds = 0;
};

// What a core makes of the products of models from small to large, in float32 operations a second; half that in
// float64. An assumption, below what one core reached on small and large models, so that a run of minutes is not taken
// for one of hours.
inline constexpr double kAssumedFlopsPerSecond = 20e9;

// The same of a run in mode COST, which computes nothing: messages a second on one core, and bytes that a rank takes.
// Measured with 64 to 1,024 ranks: 0.3 to 0.8 million, and 300 to 450 KiB.
inline constexpr double kAssumedMessagesPerSecond = 500e3;
inline constexpr std::int64_t kRankBytesInCostMode = 256 * 1024;

// Throws InputError where a count leaves 64 bits.
Estimate estimate(const Scenario& scenario);

}  // namespace rehearse
