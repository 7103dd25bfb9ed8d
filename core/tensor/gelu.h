#pragma once

#include <cstdint>

namespace rehearse {

// GELU in its exact form, y = x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (Hendrycks & Gimpel, arXiv:1606.08415), and its
// slope Phi(x) + x phi(x), which shares the exponential and is all that the backward pass needs (dx = dy slope;
// multiply_in_place). Elementwise over n; slope may be x itself.
template <class T>
void gelu_forward(std::int64_t n, const T* x, T* y, T* slope);

}  // namespace rehearse
