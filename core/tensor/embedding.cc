#include "core/tensor/embedding.h"

#include "core/tensor/elementwise.h"

namespace rehearse {

template <class T>
void embedding_forward(std::int64_t batch, std::int64_t positions, std::int64_t width, TokenView tokens,
                       const T* token_table, const T* position_table, T* out) {
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < positions; ++t, out += width) {
      const T* token = token_table + tokens.data[b * tokens.stride + t] * width;
      const T* position = position_table + t * width;
      for (std::int64_t j = 0; j < width; ++j) out[j] = token[j] + position[j];
    }
  }
}

template <class T>
void embedding_backward(std::int64_t batch, std::int64_t positions, std::int64_t width, TokenView tokens, const T* dout,
                        T* dtoken_table, T* dposition_table) {
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < positions; ++t, dout += width) {
      add_in_place(width, dtoken_table + tokens.data[b * tokens.stride + t] * width, dout);
      add_in_place(width, dposition_table + t * width, dout);
    }
  }
}

#define REHEARSE_INSTANTIATE(T)                                                                                 \
  template void embedding_forward(std::int64_t, std::int64_t, std::int64_t, TokenView, const T*, const T*, T*); \
  template void embedding_backward(std::int64_t, std::int64_t, std::int64_t, TokenView, const T*, T*, T*);
REHEARSE_INSTANTIATE(float)
REHEARSE_INSTANTIATE(double)
#undef REHEARSE_INSTANTIATE

}  // namespace rehearse
