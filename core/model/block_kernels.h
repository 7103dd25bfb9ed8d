#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/device_kernel.h"
#include "core/model/config.h"

namespace rehearse {

// The part of a transformer block that one device computes. Its heads and its part of the MLP may be fewer than the
// model's: what tensor parallelism leaves to a rank (Shoeybi et al., arXiv:1909.08053).
struct BlockShape {
  BlockShape() = default;
  // All of it.
  BlockShape(const ModelConfig& config, std::int64_t sequences);

  std::int64_t batch = 0;      // B sequences
  std::int64_t positions = 0;  // T of each; R = B T
  std::int64_t embed = 0;      // E
  std::int64_t heads = 0;      // H
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  // D; H D is E but for tensor parallelism
  std::int64_t ffn = 0;       // F
  Mlp mlp = Mlp::kGelu;
  Positions positions_kind = Positions::kLearned;
  Attention attention = Attention::kUnfused;
  bool attention_bias = false;
  bool mlp_bias = true;
  DType dtype = DType::kFloat32;      // of activations, parameters and arithmetic
  DType gradients = DType::kFloat32;  // of the parameters' gradients
};

// Forward: norm, product with qkv, [rotation], attention, product with proj, residual sum, norm, product(s) with the
// MLP's input, activation, product with its output, residual sum. UNFUSED attention is scores (T, T, D), softmax, sum
// of values (T, D, T); FLASH is one kernel that reads queries, keys and values and writes the output, as products
// (T, D, T): each of the T^2 / 2 pairs takes 4 D operations, and a tile of outputs goes through its keys.
// Biases are added by the products before them.
std::vector<DeviceKernel> block_forward_kernels(const BlockShape& shape);

// Backward, from the end: of each product the gradient of its input and that of its weight, which is added to what is
// there; of a bias the sum of rows; of activation, softmax and norm one kernel each; FLASH computes the scores again:
// 5 products instead of 4, (T, D, 5 T / 2).
std::vector<DeviceKernel> block_backward_kernels(const BlockShape& shape);

// A product with a weight (outputs, inputs) of `rows` rows, as the kernels above have it; for heads too.
struct LinearShape {
  LinearShape(std::int64_t its_rows, std::int64_t its_outputs, std::int64_t its_inputs, bool has_bias)
      : rows(its_rows), outputs(its_outputs), inputs(its_inputs), bias(has_bias) {}
  std::int64_t rows;
  std::int64_t outputs;
  std::int64_t inputs;
  bool bias;
};

// Kernels of one data type, in the order they are launched. Throws InputError where a figure does not fit 63 bits.
class KernelBuilder {
 public:
  KernelBuilder(DType dtype, DType gradients) : dtype_(dtype), gradients_(gradients) {}

  // Reads and writes `elements` in all of `dtype`, and `gradient_elements` of the gradients' type.
  void elementwise(__int128 elements, __int128 gradient_elements = 0, __int128 flops = 0);
  // `count` products (m, k) by (k, n), with the elements they touch.
  void product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, __int128 elements,
               __int128 gradient_elements = 0);
  void linear(const LinearShape& shape);
  void linear_backward(const LinearShape& shape);
  std::vector<DeviceKernel> take() { return std::move(kernels_); }

 private:
  DType dtype_;
  DType gradients_;
  std::vector<DeviceKernel> kernels_;
};

}  // namespace rehearse
