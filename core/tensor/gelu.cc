#include "core/tensor/gelu.h"

#include "core/tensor/elementary.h"

namespace rehearse {

template <class T>
void gelu_forward(std::int64_t n, const T* x, T* y, T* slope) {
  using simd::V;
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V<T> value = simd::load(x + i);
    const simd::Normal<T> normal = simd::normal<T>(value);
    simd::store(y + i, value * normal.cdf);
    simd::store(slope + i, simd::fma(value, normal.density, normal.cdf));
  }
  if (i < n) {
    const __m256i mask = simd::first_lanes<T>(n - i);
    const V<T> value = simd::load(x + i, mask);
    const simd::Normal<T> normal = simd::normal<T>(value);
    simd::store(y + i, mask, value * normal.cdf);
    simd::store(slope + i, mask, simd::fma(value, normal.density, normal.cdf));
  }
}

template void gelu_forward(std::int64_t, const float*, float*, float*);
template void gelu_forward(std::int64_t, const double*, double*, double*);

}  // namespace rehearse
