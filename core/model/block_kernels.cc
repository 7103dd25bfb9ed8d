#include "core/model/block_kernels.h"

#include <limits>

#include "core/base/error.h"

namespace rehearse {
namespace {

std::int64_t checked(__int128 value, const char* what) {
  if (value > std::numeric_limits<std::int64_t>::max()) {
    throw InputError(std::string("model: the ") + what + " of one kernel do not fit 63 bits");
  }
  return static_cast<std::int64_t>(value);
}

// Sizes that the kernels of both directions have.
struct Sizes {
  explicit Sizes(const BlockShape& s)
      : rows(s.batch * s.positions),
        queries(s.heads * s.head_dim),
        keys(s.kv_heads * s.head_dim),
        qkv(queries + 2 * keys),
        mlp_in(s.mlp == Mlp::kSwiGlu ? 2 * s.ffn : s.ffn),
        wide(static_cast<__int128>(rows) * s.embed),
        inner(static_cast<__int128>(rows) * s.ffn),
        scores(static_cast<__int128>(s.batch) * s.heads * s.positions * s.positions),
        products(s.batch * s.heads),
        in_projection(rows, qkv, s.embed, s.attention_bias),
        out_projection(rows, s.embed, queries, s.attention_bias),
        mlp_input(rows, mlp_in, s.embed, s.mlp_bias),
        mlp_output(rows, s.embed, s.ffn, s.mlp_bias) {}

  std::int64_t rows;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t qkv;
  std::int64_t mlp_in;
  __int128 wide;    // R E
  __int128 inner;   // R F
  __int128 scores;  // B H T^2
  std::int64_t products;
  LinearShape in_projection;
  LinearShape out_projection;
  LinearShape mlp_input;
  LinearShape mlp_output;

  __int128 of(std::int64_t width) const { return static_cast<__int128>(rows) * width; }
};

// Queries and keys are read and written.
void add_rotation(const BlockShape& s, const Sizes& sizes, KernelBuilder& kernels) {
  if (s.positions_kind == Positions::kRotary) kernels.elementwise(2 * sizes.of(sizes.queries + sizes.keys));
}

void add_attention(const BlockShape& s, const Sizes& sizes, KernelBuilder& kernels) {
  const std::int64_t t = s.positions;
  const std::int64_t d = s.head_dim;
  if (s.attention == Attention::kFlash) {
    kernels.product(t, d, t, sizes.products, sizes.of(sizes.qkv + sizes.queries));
    return;
  }
  kernels.product(t, t, d, sizes.products, sizes.of(sizes.queries + sizes.keys) + sizes.scores);
  kernels.elementwise(2 * sizes.scores);
  kernels.product(t, d, t, sizes.products, sizes.scores + sizes.of(sizes.keys + sizes.queries));
}

void add_attention_backward(const BlockShape& s, const Sizes& sizes, KernelBuilder& kernels) {
  const std::int64_t t = s.positions;
  const std::int64_t d = s.head_dim;
  const __int128 queries = sizes.of(sizes.queries);
  const __int128 keys = sizes.of(sizes.keys);
  if (s.attention == Attention::kFlash) {
    // Reads queries, keys, values, the output and its gradient; writes the gradients of the three.
    kernels.product(t, d, (5 * t + 1) / 2, sizes.products, 2 * sizes.of(sizes.qkv) + 2 * queries);
    return;
  }
  kernels.product(t, d, t, sizes.products, sizes.scores + queries + keys);  // of values
  kernels.product(t, t, d, sizes.products, queries + keys + sizes.scores);  // of probabilities
  kernels.elementwise(3 * sizes.scores);                                    // of scores
  kernels.product(t, d, t, sizes.products, sizes.scores + keys + queries);  // of queries
  kernels.product(t, d, t, sizes.products, sizes.scores + queries + keys);  // of keys
}

}  // namespace

void KernelBuilder::elementwise(__int128 elements, __int128 gradient_elements, __int128 flops) {
  DeviceKernel kernel;
  kernel.dtype = dtype_;
  kernel.flops = Flops(checked(flops, "operations"));
  kernel.bytes = Bytes(checked(elements * size_of(dtype_) + gradient_elements * size_of(gradients_), "bytes"));
  kernels_.push_back(kernel);
}

void KernelBuilder::product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, __int128 elements,
                            __int128 gradient_elements) {
  elementwise(elements, gradient_elements);
  DeviceKernel& kernel = kernels_.back();
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.count = count;
  // Sizes are below 2^31 but for a SwiGLU's double width and k of attention, and counts below 2^62.
  __int128 flops = __int128{2} * m * n * k;
  if (__builtin_mul_overflow(flops, static_cast<__int128>(count), &flops)) flops = __int128{1} << 64;
  kernel.flops = Flops(checked(flops, "operations"));
}

void KernelBuilder::linear(const LinearShape& s) {
  const __int128 weight = static_cast<__int128>(s.outputs) * s.inputs + (s.bias ? s.outputs : 0);
  product(s.rows, s.outputs, s.inputs, 1,
          static_cast<__int128>(s.rows) * (static_cast<__int128>(s.inputs) + s.outputs) + weight);
}

void KernelBuilder::linear_backward(const LinearShape& s) {
  const __int128 weight = static_cast<__int128>(s.outputs) * s.inputs;
  const __int128 rows = static_cast<__int128>(s.rows) * (static_cast<__int128>(s.inputs) + s.outputs);
  product(s.rows, s.inputs, s.outputs, 1, rows + weight);
  product(s.outputs, s.inputs, s.rows, 1, rows, 2 * weight);
  if (s.bias) elementwise(static_cast<__int128>(s.rows) * s.outputs, 2 * static_cast<__int128>(s.outputs));
}

BlockShape::BlockShape(const ModelConfig& config, std::int64_t sequences)
    : batch(sequences),
      positions(config.context),
      embed(config.embed),
      heads(config.heads),
      kv_heads(config.kv_heads > 0 ? config.kv_heads : config.heads),
      head_dim(config.head_dim()),
      ffn(config.ffn_width()),
      mlp(config.mlp),
      positions_kind(config.positions),
      attention(config.attention),
      attention_bias(config.attention_bias),
      mlp_bias(config.mlp_bias) {}

std::vector<DeviceKernel> block_forward_kernels(const BlockShape& s) {
  const Sizes sizes(s);
  KernelBuilder kernels(s.dtype, s.gradients);
  kernels.elementwise(2 * sizes.wide);
  kernels.linear(sizes.in_projection);
  add_rotation(s, sizes, kernels);
  add_attention(s, sizes, kernels);
  kernels.linear(sizes.out_projection);
  kernels.elementwise(3 * sizes.wide);
  kernels.elementwise(2 * sizes.wide);
  kernels.linear(sizes.mlp_input);
  kernels.elementwise(sizes.of(sizes.mlp_in) + sizes.inner);
  kernels.linear(sizes.mlp_output);
  kernels.elementwise(3 * sizes.wide);
  return kernels.take();
}

std::vector<DeviceKernel> block_backward_kernels(const BlockShape& s) {
  const Sizes sizes(s);
  KernelBuilder kernels(s.dtype, s.gradients);
  kernels.linear_backward(sizes.mlp_output);
  // Reads the gradient of its output and its inputs, writes the gradients of these.
  kernels.elementwise(sizes.inner + 2 * sizes.of(sizes.mlp_in));
  kernels.linear_backward(sizes.mlp_input);
  kernels.elementwise(3 * sizes.wide);
  kernels.elementwise(3 * sizes.wide);
  kernels.linear_backward(sizes.out_projection);
  add_attention_backward(s, sizes, kernels);
  add_rotation(s, sizes, kernels);
  kernels.linear_backward(sizes.in_projection);
  kernels.elementwise(3 * sizes.wide);
  kernels.elementwise(3 * sizes.wide);
  return kernels.take();
}

}  // namespace rehearse
