#pragma once

#include <cstdint>
#include <span>

namespace rehearse {

struct AttentionShape {
  std::int64_t batch = 0;      // B
  std::int64_t heads = 0;      // H
  std::int64_t positions = 0;  // T
  std::int64_t head_dim = 0;   // D
};

// Elements of scratch for either pass: K and V transposed (2 D T), the gradient of a block of probabilities (min(T, 48)
// T), and the largest product's matmul_scratch.
std::int64_t attention_scratch(const AttentionShape& shape);

// Causal attention of every head: out = softmax(q k^T / sqrt(D)) v, position t seeing 0..t. qkv: (B, T, 3, H, D);
// probs: (B, H, T, T), kept for the backward pass, entries after a row's block of 48 positions never touched; out: (B,
// T, H, D). Queries go in blocks of 48 positions, each against the keys up to its last.
template <class T>
void attention_forward(const AttentionShape& shape, const T* qkv, T* probs, T* out, std::span<T> scratch);

// dqkv (B, T, 3, H, D) becomes the gradient, given dout (B, T, H, D). Blocks of queries add into dk and dv in order.
template <class T>
void attention_backward(const AttentionShape& shape, const T* qkv, const T* probs, const T* dout, T* dqkv,
                        std::span<T> scratch);

}  // namespace rehearse
