#pragma once

#include <cstdint>
#include <optional>

#include "core/base/dtype.h"
#include "core/checkpoint/config.h"
#include "core/data/config.h"
#include "core/model/config.h"
#include "core/optim/config.h"
#include "core/parallel/collective_choice.h"
#include "core/parallel/state_types.h"
#include "core/train/guards.h"

namespace rehearse {

// What a training job computes: everything that decides its bits, and nothing that decides only its time.
struct TrainConfig {
  std::uint64_t seed = 0;
  ModelConfig model;
  std::optional<InputFile> init_file;  // safetensors with the initial parameters; drawn from the seed without one
  DataConfig data;
  DType dtype = DType::kFloat32;  // of parameters and activations
  // Of gradients, and of master weights and moments; nothing: as dtype. In cost-only mode alone.
  std::optional<DType> gradient_dtype;
  std::optional<DType> optimizer_dtype;
  std::int64_t steps = 0;
  std::int64_t batch = 0;         // sequences per data-parallel rank and step, of a job of `data_ranks`
  std::int64_t data_ranks = 0;    // a batch is that of so many ranks (batch_share.h); 0: of as many as there are
  std::int64_t accumulate = 1;    // equal consecutive microbatches that `batch` is cut in
  int zero_stage = 1;             // 0: all_reduce, full Adam; 1: sharded optimizer; 2: gradients too; 3: parameters too
  std::int64_t bucket_bytes = 0;  // size of the gradient units (design section 7); 0: one unit
  // Units are reduced, and with stage 3 gathered, beside the computation. Decides times and memory, and no bits.
  bool overlap = false;
  // Activations of blocks are computed again for backward. Decides times and memory, and no bits.
  bool recompute_blocks = false;
  // Of gradients and parameters. How gradients are summed decides bits; how parameters are gathered only times.
  CollectiveChoice collectives;
  std::optional<double> clip_norm;
  AdamConfig adam;
  ScheduleConfig schedule;
  std::optional<LrSpike> lr_spike;
  // The loss on a fixed held-out batch is measured before step 1 and after every `eval_every` steps; 0: never.
  std::int64_t eval_every = 0;
  CheckpointConfig checkpoint;
  GuardConfig guards;

  StateTypes state_types() const {
    return StateTypes(dtype, gradient_dtype.value_or(dtype), optimizer_dtype.value_or(dtype));
  }
  // Elements of a gradient unit; 0: one unit.
  std::int64_t bucket_elements() const { return bucket_bytes / size_of(gradient_dtype.value_or(dtype)); }
};

}  // namespace rehearse
