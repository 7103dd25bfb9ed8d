#include "core/model/cost.h"

#include <limits>
#include <string>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/model/block_kernels.h"

namespace rehearse {
namespace {

// Rows of the table are gathered, positions added; backward adds the stream's gradient to the rows.
void add_embedding(const ModelConfig& c, __int128 wide, bool forward, KernelBuilder& kernels) {
  const bool learned = c.positions == Positions::kLearned;
  const __int128 sums = learned ? wide : 0;
  if (forward) {
    kernels.elementwise(2 * wide + sums, 0, sums);
  } else {
    kernels.elementwise(wide, 2 * wide + (learned ? 2 * static_cast<__int128>(c.context) * c.embed : 0), 2 * sums);
  }
}

// Norm, logits, and the loss with the probabilities in the place of the logits.
void add_head(const ModelConfig& c, std::int64_t rows, __int128 wide, bool forward, KernelBuilder& kernels) {
  const LinearShape head(rows, c.vocab, c.embed, false);
  const __int128 logits = static_cast<__int128>(rows) * c.vocab;
  if (forward) {
    kernels.elementwise(2 * wide);
    kernels.linear(head);
    kernels.elementwise(2 * logits);
  } else {
    kernels.elementwise(2 * logits);
    kernels.linear_backward(head);
    kernels.elementwise(3 * wide);
  }
}

std::int64_t checked(__int128 value, const char* what) {
  if (value > std::numeric_limits<std::int64_t>::max()) {
    throw InputError(std::string("model: the ") + what + " of one stage do not fit 63 bits");
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

StageCost stage_cost(const ModelConfig& c, std::int64_t batch, int stage, Direction direction, DType dtype) {
  return stage_cost(c, batch, stage, direction, dtype, dtype);
}

StageCost stage_cost(const ModelConfig& c, std::int64_t batch, int stage, Direction direction, DType dtype,
                     DType gradients) {
  CHECK(batch >= 1 && batch < std::int64_t{1} << 31);
  CHECK(stage >= 0 && stage <= c.layers + 1);
  const bool forward = direction == Direction::kForward;
  const std::int64_t rows = batch * c.context;
  const __int128 wide = static_cast<__int128>(rows) * c.embed;
  StageCost cost;
  if (stage == 0 || stage > c.layers) {
    KernelBuilder kernels(dtype, gradients);
    if (stage == 0) {
      add_embedding(c, wide, forward, kernels);
    } else {
      add_head(c, rows, wide, forward, kernels);
    }
    cost.kernels = kernels.take();
  } else {
    BlockShape block(c, batch);
    block.dtype = dtype;
    block.gradients = gradients;
    cost.kernels = forward ? block_forward_kernels(block) : block_backward_kernels(block);
  }
  __int128 flops = 0;
  __int128 bytes = 0;
  for (const DeviceKernel& kernel : cost.kernels) {
    flops += kernel.flops.count();
    bytes += kernel.bytes.count();
  }
  cost.flops = Flops(checked(flops, "operations"));
  cost.bytes = Bytes(checked(bytes, "bytes"));
  return cost;
}

ModelWork::ModelWork(const ModelConfig& config, std::int64_t batch, DType dtype, DType gradients)
    : layers_(config.layers), batch_(batch) {
  const std::array<int, 3> stages = {0, 1, static_cast<int>(config.layers) + 1};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    costs_[2 * i] = stage_cost(config, batch, stages[i], Direction::kForward, dtype, gradients);
    costs_[2 * i + 1] = stage_cost(config, batch, stages[i], Direction::kBackward, dtype, gradients);
  }
}

const StageCost& ModelWork::cost(int stage, Direction direction) const {
  CHECK(stage >= 0 && stage <= layers_ + 1);
  const std::size_t kind = stage == 0 ? 0 : stage <= layers_ ? 1 : 2;
  return costs_[2 * kind + (direction == Direction::kForward ? 0 : 1)];
}

}  // namespace rehearse
