#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/model/config.h"

namespace rehearse {

enum class Direction : std::uint8_t { kForward, kBackward };

struct StageCost {
  Flops flops;
  Bytes bytes;
};

// What a device model charges for a stage of `batch` sequences. With R = batch T, P the stage's parameters:
//   flops forward    embedding R E;   block 24 R E^2 + 4 R T E;   head 2 R E V    (a multiply-add counts 2; products
//   alone;
//                    attention as a full T x T square, the usual convention)
//   flops backward   twice the forward's
//   bytes forward    element size * (P + what is read and written of activations), each array once:
//                    embedding 3 R E;   block 28 R E + 2 batch H T^2;   head R (3 E + 2 V)
//   bytes backward   element size * (2 P + the same activations twice): parameters read, gradients written
// Throws InputError where a figure does not fit 63 bits.
StageCost stage_cost(const ModelConfig& config, std::int64_t batch, int stage, Direction direction,
                     DType dtype = DType::kFloat32);

}  // namespace rehearse
