#include "core/tensor/layernorm.h"

#include <cmath>

#include "core/tensor/simd.h"

namespace rehearse {
namespace {

using simd::V;

// Calls body(offset, mask-aware load, store) for each vector of a row: whole ones, then the masked rest.
template <class T, class Body>
REHEARSE_INLINE void for_each_vector(std::int64_t width, const Body& body) {
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  std::int64_t j = 0;
  for (; j + kLanes <= width; j += kLanes) {
    body(
        j, [](const T* p) { return simd::load(p); }, [](T* p, V<T> v) { simd::store(p, v); }, [](V<T> v) { return v; });
  }
  if (j < width) {
    const __m256i mask = simd::first_lanes<T>(width - j);
    body(
        j, [mask](const T* p) { return simd::load(p, mask); }, [mask](T* p, V<T> v) { simd::store(p, mask, v); },
        [mask](V<T> v) { return simd::select(mask, v, simd::zero<T>()); });
  }
}

}  // namespace

template <class T>
void layernorm_forward(std::int64_t rows, std::int64_t width, const T* x, const T* weight, const T* bias, T* y, T* mean,
                       T* rstd) {
  const T count = static_cast<T>(width);
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width) {
    V<T> sum = simd::zero<T>();
    for_each_vector<T>(width, [&](std::int64_t j, auto load, auto, auto) { sum = sum + load(x + j); });
    const T row_mean = simd::sum_lanes(sum) / count;
    const V<T> mean_all = simd::broadcast<T>(row_mean);
    V<T> squares = simd::zero<T>();
    for_each_vector<T>(width, [&](std::int64_t j, auto load, auto, auto keep) {
      const V<T> centred = keep(load(x + j) - mean_all);
      squares = simd::fma(centred, centred, squares);
    });
    const T variance = simd::sum_lanes(squares) / count;
    const T row_rstd = T{1} / std::sqrt(variance + static_cast<T>(kLayerNormEpsilon));
    const V<T> rstd_all = simd::broadcast<T>(row_rstd);
    for_each_vector<T>(width, [&](std::int64_t j, auto load, auto store, auto) {
      const V<T> normal = (load(x + j) - mean_all) * rstd_all;
      store(y + j, simd::fma(normal, load(weight + j), load(bias + j)));
    });
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
}

template <class T>
void layernorm_backward(std::int64_t rows, std::int64_t width, const T* dy, const T* x, const T* weight, const T* mean,
                        const T* rstd, T* dx, T* dweight, T* dbias) {
  const T count = static_cast<T>(width);
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* dy_row = dy + row * width;
    const T* x_row = x + row * width;
    T* dx_row = dx + row * width;
    const V<T> mean_all = simd::broadcast<T>(mean[row]);
    const V<T> rstd_all = simd::broadcast<T>(rstd[row]);
    V<T> sum_g = simd::zero<T>();
    V<T> sum_gh = simd::zero<T>();
    for_each_vector<T>(width, [&](std::int64_t j, auto load, auto, auto) {
      const V<T> g = load(dy_row + j) * load(weight + j);
      sum_g = sum_g + g;
      sum_gh = simd::fma(g, (load(x_row + j) - mean_all) * rstd_all, sum_gh);
    });
    const V<T> mean_g = simd::broadcast<T>(simd::sum_lanes(sum_g) / count);
    const V<T> mean_gh = simd::broadcast<T>(simd::sum_lanes(sum_gh) / count);
    for_each_vector<T>(width, [&](std::int64_t j, auto load, auto store, auto) {
      const V<T> g = load(dy_row + j) * load(weight + j);
      const V<T> h = (load(x_row + j) - mean_all) * rstd_all;
      store(dx_row + j, simd::fma(rstd_all, simd::fnma(h, mean_gh, g - mean_g), load(dx_row + j)));
    });
  }
  for_each_vector<T>(width, [&](std::int64_t j, auto load, auto store, auto) {
    V<T> sum_weight = simd::zero<T>();
    V<T> sum_bias = simd::zero<T>();
    for (std::int64_t row = 0; row < rows; ++row) {
      const V<T> g = load(dy + row * width + j);
      const V<T> h = (load(x + row * width + j) - simd::broadcast<T>(mean[row])) * simd::broadcast<T>(rstd[row]);
      sum_weight = simd::fma(g, h, sum_weight);
      sum_bias = sum_bias + g;
    }
    store(dweight + j, load(dweight + j) + sum_weight);
    store(dbias + j, load(dbias + j) + sum_bias);
  });
}

#define REHEARSE_INSTANTIATE(T)                                                                                      \
  template void layernorm_forward(std::int64_t, std::int64_t, const T*, const T*, const T*, T*, T*, T*);             \
  template void layernorm_backward(std::int64_t, std::int64_t, const T*, const T*, const T*, const T*, const T*, T*, \
                                   T*, T*);
REHEARSE_INSTANTIATE(float)
REHEARSE_INSTANTIATE(double)
#undef REHEARSE_INSTANTIATE

}  // namespace rehearse
