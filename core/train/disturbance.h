#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/dtype.h"
#include "core/model/activations.h"
#include "core/model/layout.h"
#include "core/parallel/program_error.h"
#include "core/parallel/shard_piece.h"
#include "core/runtime/tracer.h"

namespace rehearse {

// A rank's state as something outside may reach into it. Tensors by index in the layout.
struct StateMemory {
  // Not in cost-only mode, in which all of this is empty.
  bool has_numbers() const { return layout != nullptr; }
  const ParameterLayout* layout = nullptr;
  DType dtype = DType::kFloat32;
  std::vector<std::byte*> parameters;  // null with zero_stage 3; `pieces` has the rank's own parts
  std::vector<std::byte*> gradients;   // null where zero_stage 2 and 3 have them not whole just now
  std::span<const ShardPiece> pieces;
  std::span<const ActivationTensor> activations;  // of the microbatch that the rank works on
};

// A rank begins a phase of a step. `attempt` is the same on all ranks and another after every restart and every
// rollback, so that what strikes all ranks can strike all of them in one attempt.
struct TrainMoment {
  int rank = 0;
  std::int64_t step = 0;
  Phase phase = Phase::kStart;
  std::uint64_t attempt = 0;
};

// What may strike a rank from outside: a faulty device, a mistake in its program, or a test. Asked at the beginning of
// each phase of a step, which is also the end of the one before: at REDUCE the gradients are the rank's own, at
// OPTIMIZER those of its pieces are summed and no others are of use. Costs no virtual time and no message.
class Disturbance {
 public:
  virtual ~Disturbance() = default;
  virtual void strike(const TrainMoment& moment, const StateMemory& memory) = 0;
  // What the rank's loss is multiplied with before it tells the others; asked at REDUCE.
  virtual double loss_factor(const TrainMoment&) { return 1; }
  // The same of the learning rate; asked at OPTIMIZER.
  virtual double lr_factor(const TrainMoment&) { return 1; }
  // What the rank does wrong in the collectives of REDUCE or GATHER.
  virtual ProgramError program_error(const TrainMoment&) { return ProgramError::kNone; }
};

}  // namespace rehearse
