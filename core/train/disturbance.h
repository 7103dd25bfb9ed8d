#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/dtype.h"
#include "core/model/layout.h"
#include "core/parallel/shard_piece.h"
#include "core/runtime/tracer.h"

namespace rehearse {

// A rank's state as something outside may reach into it. Tensors by index in the layout.
struct StateMemory {
  const ParameterLayout* layout = nullptr;
  DType dtype = DType::kFloat32;
  std::vector<std::byte*> parameters;
  std::vector<std::byte*> gradients;
  std::span<const ShardPiece> pieces;
};

// What may strike a rank's memory from outside: a faulty device, or a test. Asked at the beginning of each phase of a
// step, which is also the end of the one before: at REDUCE the gradients are the rank's own, at OPTIMIZER those of its
// pieces are summed and no others are of use. Costs no virtual time and no message.
class Disturbance {
 public:
  virtual ~Disturbance() = default;
  virtual void strike(int rank, std::int64_t step, Phase phase, const StateMemory& memory) = 0;
};

}  // namespace rehearse
