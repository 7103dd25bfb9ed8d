#pragma once

#include "core/base/dtype.h"

namespace rehearse {

// Element types of a rank's state. All the same where numbers are computed; in cost-only mode they may differ, as in
// mixed-precision training (Micikevicius et al., arXiv:1710.03740): with two bytes, two bytes and four, P parameters
// take 2 P + 2 P + 12 P = 16 P bytes, and 4 P + 12 P / N where N ranks share the optimizer's (Rajbhandari et al.,
// arXiv:1910.02054, section 3).
struct StateTypes {
  StateTypes() = default;
  explicit StateTypes(DType all) : parameters(all), gradients(all), optimizer(all) {}
  StateTypes(DType of_parameters, DType of_gradients, DType of_optimizer)
      : parameters(of_parameters), gradients(of_gradients), optimizer(of_optimizer) {}

  DType parameters = DType::kFloat32;  // and activations; what is gathered and broadcast
  DType gradients = DType::kFloat32;   // what is reduced
  DType optimizer = DType::kFloat32;   // master weights and moments; what checkpoints hold
};

}  // namespace rehearse
