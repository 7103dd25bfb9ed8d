#include "core/tensor/gelu.h"

#include "core/tensor/elementary.h"

namespace rehearse {

template <class T>
void gelu_forward(std::int64_t n, const T* x, T* y, T* slope) {
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const simd::Gelu<T> gelu = simd::gelu<T>(simd::load(x + i));
    simd::store(y + i, gelu.value);
    simd::store(slope + i, gelu.slope);
  }
  if (i < n) {
    const __m256i mask = simd::first_lanes<T>(n - i);
    const simd::Gelu<T> gelu = simd::gelu<T>(simd::load(x + i, mask));
    simd::store(y + i, mask, gelu.value);
    simd::store(slope + i, mask, gelu.slope);
  }
}

template void gelu_forward(std::int64_t, const float*, float*, float*);
template void gelu_forward(std::int64_t, const double*, double*, double*);

}  // namespace rehearse
