#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/model/config.h"
#include "core/tensor/attention.h"

namespace rehearse {

// Elements an Activations object holds for `batch` sequences. With R = batch * context rows, QKV = E + 2 KV:
//   scratch           the largest of what the products and attention need (core/tensor/matmul.h, attention.h); none for
//                     shapes that are not computed
//   residual stream   (L + 1) R E     block inputs and the last block's output
//   each block        R (4 E + QKV + 2 F + 4) + batch H T^2, for the MiniGPT R (15 E + 4) + batch H T^2
//                     ln1 out E, qkv QKV, attention out E, after attention E, ln2 out E, GELU slope F, GELU out F,
//                     mean and rstd of two LayerNorms, attention probabilities
//                     with SwiGLU 3 F: gate, up, product; with RMSNorm rstd alone; with FLASH R H instead of
//                     probabilities: the logarithm of each row's sum
//   head              R (E + V + 2)   ln_f out, logits (then probabilities, then their gradient), mean and rstd
//   backward          R (2 E + QKV + F), for the MiniGPT R (9 E)
//                     gradients of the stream E and of one block's inner values E + QKV + F; with SwiGLU 2 F
// Where blocks are recomputed, all of them share the memory of one (Chen et al., arXiv:1604.06174, with each block's
// input kept). Throws InputError where the count does not fit 2^48.
std::int64_t activation_elements(const ModelConfig& config, std::int64_t batch, bool recompute_blocks = false);

// One array of them by name, for whoever looks in from outside: "stream.0" to "stream.L", "blocks.i.ln1" (and qkv,
// probs, attention, middle, ln2, slope, gelu), "ln_f", "logits". What the names mean is said at the arrays below. Where
// blocks are recomputed, of the last block alone: what forward leaves of the others is overwritten.
struct ActivationTensor {
  std::string name;
  std::byte* data = nullptr;  // null in cost-only mode
  std::int64_t count = 0;
};

// What one microbatch's forward pass leaves for its backward pass, with all scratch of both. The caller owns it;
// several may be in flight and each may be used again for another microbatch. All memory is counted as kActivations.
template <class T>
class Activations {
 public:
  // Every pointer is an array in row-major order; R = batch * context.
  struct Block {
    T* ln1;        // (R, E)
    T* ln1_mean;   // (R)
    T* ln1_rstd;   // (R)
    T* qkv;        // (R, 3, H, D)
    T* probs;      // (batch, H, T, T)
    T* attention;  // (R, E)
    T* middle;     // (R, E), the stream after attention
    T* ln2;        // (R, E)
    T* ln2_mean;   // (R)
    T* ln2_rstd;   // (R)
    T* slope;      // (R, 4E), before that the input of GELU
    T* gelu;       // (R, 4E)
  };

  // `dtype` is another one than T's only without elements, as are shapes other than the MiniGPT's.
  Activations(const ModelConfig& config, std::int64_t batch, MemoryAccount* account,
              Storing storing = Storing::kElements, bool recompute_blocks = false, DType dtype = dtype_of<T>);

  const ModelConfig& config() const { return config_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t rows() const { return batch_ * config_.context; }
  Bytes bytes() const { return buffer_.bytes(); }
  bool recomputes_blocks() const { return recompute_blocks_; }
  AttentionShape attention_shape() const { return {batch_, config_.heads, config_.context, config_.head_dim()}; }
  std::span<T> scratch() const { return scratch_; }
  // What the forward pass leaves for the backward pass.
  std::vector<ActivationTensor> named() const;

  std::vector<T*> stream;     // L + 1 arrays (R, E): stream[i] enters block i, stream[L] the head
  std::vector<Block> blocks;  // L; all the same memory where blocks are recomputed
  T* lnf = nullptr;           // (R, E)
  T* lnf_mean = nullptr;      // (R)
  T* lnf_rstd = nullptr;      // (R)
  T* logits = nullptr;        // (R, V)
  T* dstream = nullptr;       // (R, E), gradient of the stream where the backward pass stands
  T* dinner = nullptr;        // (R, E)
  T* dqkv = nullptr;          // (R, 3E)
  T* dmlp = nullptr;          // (R, 4E)

  // Kept by MiniGpt: the mean loss, and the one stage whose forward (backward) may come next besides forward of stage
  // 0; -1 for none.
  double loss = 0;
  int next_forward = 0;
  int next_backward = -1;
  int kept_block = -1;  // the one whose values stand in the memory that all share, where blocks are recomputed

 private:
  ModelConfig config_;
  std::int64_t batch_;
  bool recompute_blocks_;
  Buffer buffer_;
  std::span<T> scratch_;
};

}  // namespace rehearse
