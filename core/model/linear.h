#pragma once

#include <cstdint>
#include <span>

#include "core/tensor/matmul.h"

namespace rehearse {

// A linear layer y = x W^T + bias as three products. x: (rows, inputs); W: (outputs, inputs); y: (rows, outputs).
template <class T>
struct Linear {
  std::int64_t rows;
  std::int64_t outputs;
  std::int64_t inputs;
  std::span<T> scratch;

  // y = x W^T + bias + residual; bias (outputs) and residual (rows, outputs) may be null.
  void forward(const T* x, const T* weight, const T* bias, const T* residual, T* y) const {
    matmul<T>(rows, outputs, inputs, {x, inputs, 1}, {weight, 1, inputs}, {y, outputs},
              {.bias = bias, .residual = {residual, outputs, 1}}, scratch);
  }
  // dx = dy W.
  void input_gradient(const T* dy, const T* weight, T* dx) const {
    matmul<T>(rows, inputs, outputs, {dy, outputs, 1}, {weight, inputs, 1}, {dx, inputs}, {}, scratch);
  }
  // dW += dy^T x.
  void add_weight_gradient(const T* dy, const T* x, T* dweight) const {
    matmul_add<T>(outputs, inputs, rows, {dy, 1, outputs}, {x, inputs, 1}, {dweight, inputs}, scratch);
  }
};

}  // namespace rehearse
