#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/device_kernel.h"
#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/model/config.h"

namespace rehearse {

enum class Direction : std::uint8_t { kForward, kBackward };

// What a device model charges for a stage: its kernels, and their sums.
struct StageCost {
  Flops flops;
  Bytes bytes;
  std::vector<DeviceKernel> kernels;
};

// Of a stage of `batch` sequences. With R = batch T rows, a multiply-add counting 2, products alone:
//   flops forward    embedding R E (the sum with learned positions);   head 2 R E V;
//                    block 2 R E (E + 2 KV) + 2 R E E + 4 R T E + (4 or 6) R E F, which is 24 R E^2 + 4 R T E for the
//                    MiniGPT: attention as a full T x T square, the usual convention; with FLASH half of it
//   flops backward   twice the forward's; with FLASH 2.5 times attention's, whose scores are computed again
//   bytes            of each kernel what it reads and writes, each array once (block_kernels.h, and cost.cc for the
//                    embedding and the head)
// `dtype`: of parameters, activations and arithmetic; `gradients`: of what backward adds the gradients of parameters
// to. Throws InputError where a figure does not fit 63 bits.
StageCost stage_cost(const ModelConfig& config, std::int64_t batch, int stage, Direction direction,
                     DType dtype = DType::kFloat32);
StageCost stage_cost(const ModelConfig& config, std::int64_t batch, int stage, Direction direction, DType dtype,
                     DType gradients);

// The costs of all stages of a microbatch: one list for all blocks, so that it takes as much memory for any number of
// layers; ranks share it.
class ModelWork {
 public:
  ModelWork(const ModelConfig& config, std::int64_t batch, DType dtype, DType gradients);

  std::int64_t batch() const { return batch_; }
  const StageCost& cost(int stage, Direction direction) const;

 private:
  std::int64_t layers_;
  std::int64_t batch_;
  std::array<StageCost, 6> costs_;  // embedding, block, head; of each forward, backward
};

}  // namespace rehearse
