#include "core/model/activations.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/tensor/matmul.h"

namespace rehearse {
namespace {

constexpr std::int64_t kLargestCount = std::int64_t{1} << 48;

std::int64_t scratch_elements(const ModelConfig& c, std::int64_t batch) {
  if (!c.is_mini_gpt()) return 0;
  const std::int64_t rows = batch * c.context;
  const std::int64_t e = c.embed;
  std::int64_t most = attention_scratch({batch, c.heads, c.context, c.head_dim()});
  // Each linear layer (outputs, inputs): forward, gradient of its input, gradient of its weight.
  const std::int64_t layers[][2] = {{3 * e, e}, {e, e}, {4 * e, e}, {e, 4 * e}, {c.vocab, e}};
  for (const auto& [outputs, inputs] : layers) {
    most = std::max({most, matmul_scratch(rows, outputs, inputs), matmul_scratch(rows, inputs, outputs),
                     matmul_scratch(outputs, inputs, rows)});
  }
  return most;
}

[[noreturn]] void refuse(std::int64_t batch) {
  throw InputError(
      "a batch of " + std::to_string(batch) +
      " sequences per microbatch is not possible: it must be at least 1 and its activations below 2^48 elements");
}

}  // namespace

std::int64_t activation_elements(const ModelConfig& c, std::int64_t batch, bool recompute_blocks) {
  validate(c);
  if (batch < 1 || batch >= kLargestCount / c.context) refuse(batch);
  const __int128 rows = batch * c.context;
  const __int128 e = c.embed;
  const __int128 f = c.ffn_width();
  const std::int64_t statistics = c.norm == Norm::kLayerNorm ? 2 : 1;
  const __int128 attention = rows * c.heads * (c.attention == Attention::kFlash ? 1 : c.context);
  const __int128 block = rows * (4 * e + c.qkv_width() + (c.mlp_inputs() + 1) * f + 2 * statistics) + attention;
  const std::int64_t kept_blocks = recompute_blocks ? std::min<std::int64_t>(c.layers, 1) : c.layers;
  const __int128 kept = (c.layers + 1) * rows * e + kept_blocks * block + rows * (e + c.vocab + statistics) +
                        rows * (2 * e + c.qkv_width() + c.mlp_inputs() * f);
  if (kept >= kLargestCount) refuse(batch);
  return static_cast<std::int64_t>(kept) + scratch_elements(c, batch);
}

template <class T>
Activations<T>::Activations(const ModelConfig& config, std::int64_t batch, MemoryAccount* account, Storing storing,
                            bool recompute_blocks, DType dtype)
    : config_(config),
      batch_(batch),
      recompute_blocks_(recompute_blocks),
      buffer_(account, MemoryKind::kActivations, dtype, activation_elements(config, batch, recompute_blocks), storing) {
  if (!buffer_.has_elements()) return;
  CHECK(config.is_mini_gpt());
  T* next = buffer_.template as<T>().data();
  const auto take = [&next](std::int64_t count) {
    T* const array = next;
    next += count;
    return array;
  };
  const std::int64_t r = rows();
  const std::int64_t e = config.embed;
  const std::int64_t scratch_count = scratch_elements(config, batch);
  scratch_ = {take(scratch_count), static_cast<std::size_t>(scratch_count)};
  for (std::int64_t i = 0; i <= config.layers; ++i) stream.push_back(take(r * e));
  for (std::int64_t i = 0; i < config.layers; ++i) {
    if (recompute_blocks && i > 0) {
      blocks.push_back(blocks.front());
      continue;
    }
    Block block{};
    block.ln1 = take(r * e);
    block.qkv = take(r * 3 * e);
    block.attention = take(r * e);
    block.middle = take(r * e);
    block.ln2 = take(r * e);
    block.slope = take(r * 4 * e);
    block.gelu = take(r * 4 * e);
    block.probs = take(r * config.heads * config.context);
    block.ln1_mean = take(r);
    block.ln1_rstd = take(r);
    block.ln2_mean = take(r);
    block.ln2_rstd = take(r);
    blocks.push_back(block);
  }
  lnf = take(r * e);
  logits = take(r * config.vocab);
  dstream = take(r * e);
  dinner = take(r * e);
  dqkv = take(r * 3 * e);
  dmlp = take(r * 4 * e);
  lnf_mean = take(r);
  lnf_rstd = take(r);
  CHECK_EQ(next - buffer_.template as<T>().data(), buffer_.count());
}

template <class T>
std::vector<ActivationTensor> Activations<T>::named() const {
  std::vector<ActivationTensor> tensors;
  const auto add = [&tensors](std::string name, T* data, std::int64_t count) {
    ActivationTensor tensor;
    tensor.name = std::move(name);
    tensor.data = reinterpret_cast<std::byte*>(data);
    tensor.count = count;
    tensors.push_back(std::move(tensor));
  };
  const std::int64_t wide = rows() * config_.embed;
  const bool real = buffer_.has_elements();
  for (std::int64_t i = 0; i <= config_.layers; ++i) {
    add("stream." + std::to_string(i), real ? stream[static_cast<std::size_t>(i)] : nullptr, wide);
  }
  for (std::int64_t i = recompute_blocks_ ? config_.layers - 1 : 0; i < config_.layers; ++i) {
    const Block block = real ? blocks[static_cast<std::size_t>(i)] : Block{};
    const std::string prefix = "blocks." + std::to_string(i) + ".";
    add(prefix + "ln1", block.ln1, wide);
    add(prefix + "qkv", block.qkv, rows() * config_.qkv_width());
    add(prefix + "probs", block.probs, rows() * config_.heads * config_.context);
    add(prefix + "attention", block.attention, wide);
    add(prefix + "middle", block.middle, wide);
    add(prefix + "ln2", block.ln2, wide);
    add(prefix + "slope", block.slope, rows() * config_.ffn_width());
    add(prefix + "gelu", block.gelu, rows() * config_.ffn_width());
  }
  add("ln_f", lnf, wide);
  add("logits", logits, rows() * config_.vocab);
  return tensors;
}

template class Activations<float>;
template class Activations<double>;

}  // namespace rehearse
