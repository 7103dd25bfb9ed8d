#pragma once

#include <cstdint>

namespace rehearse {

// Token ids of a microbatch: sequence b begins at data + b * stride.
struct TokenView {
  const std::int32_t* data = nullptr;
  std::int64_t stride = 0;
};

// out[b, t] = token_table[tokens[b, t]] + position_table[t]. out: (batch, positions, width); tables: (vocab, width),
// (positions, width). Requires token ids in range.
template <class T>
void embedding_forward(std::int64_t batch, std::int64_t positions, std::int64_t width, TokenView tokens,
                       const T* token_table, const T* position_table, T* out);

// Adds dout into the tables' gradients, sequence by sequence and position by position.
template <class T>
void embedding_backward(std::int64_t batch, std::int64_t positions, std::int64_t width, TokenView tokens, const T* dout,
                        T* dtoken_table, T* dposition_table);

}  // namespace rehearse
