#pragma once

#include <cstdint>

namespace rehearse {

inline constexpr double kLayerNormEpsilon = 1e-5;

// y = (x - mean) / sqrt(variance + 1e-5) * weight + bias for each row; biased variance, two passes. x, y: (rows x
// width); weight, bias: (width); mean, rstd: (rows), kept for the backward pass. Sums run over lanes (element j in lane
// j mod lanes), then over the lanes as simd.h writes.
template <class T>
void layernorm_forward(std::int64_t rows, std::int64_t width, const T* x, const T* weight, const T* bias, T* y, T* mean,
                       T* rstd);

// Adds into dx (rows x width), dweight and dbias (width), given dy (rows x width) and what the forward pass read and
// kept. Per row, with h = (x - mean) rstd and g = dy weight: dx += rstd (g - mean(g) - h mean(g h)). dweight and dbias
// are summed over rows from 0 before they are added.
template <class T>
void layernorm_backward(std::int64_t rows, std::int64_t width, const T* dy, const T* x, const T* weight, const T* mean,
                        const T* rstd, T* dx, T* dweight, T* dbias);

}  // namespace rehearse
