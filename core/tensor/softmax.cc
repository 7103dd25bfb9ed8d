#include "core/tensor/softmax.h"

#include <algorithm>
#include <limits>

#include "core/tensor/elementary.h"

namespace rehearse {
namespace {

using simd::V;

// The largest element of each lane, NaN passed over.
template <class T>
REHEARSE_INLINE V<T> row_maximum(const T* x, std::int64_t n) {
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  const V<T> lowest = simd::broadcast<T>(-std::numeric_limits<T>::infinity());
  V<T> largest = lowest;
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) largest = simd::max(simd::load(x + j), largest);
  if (j < n) {
    const __m256i mask = simd::first_lanes<T>(n - j);
    largest = simd::max(simd::select(mask, simd::load(x + j, mask), lowest), largest);
  }
  return largest;
}

// x[j] = exp(scale (x[j] - maximum)) for j < n; returns the lanes' sums. Requires scale >= 0.
template <class T>
REHEARSE_INLINE V<T> exponentiate(T* x, std::int64_t n, T scale, T maximum) {
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  const V<T> scale_all = simd::broadcast<T>(scale);
  const V<T> maximum_all = simd::broadcast<T>(maximum);
  V<T> sum = simd::zero<T>();
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const V<T> e = simd::exp_nonpositive<T>((simd::load(x + j) - maximum_all) * scale_all);
    sum = sum + e;
    simd::store(x + j, e);
  }
  if (j < n) {
    const __m256i mask = simd::first_lanes<T>(n - j);
    const V<T> e = simd::exp_nonpositive<T>((simd::load(x + j, mask) - maximum_all) * scale_all);
    sum = sum + simd::select(mask, e, simd::zero<T>());
    simd::store(x + j, mask, e);
  }
  return sum;
}

// causal_softmax_forward for rows of at most Vectors vectors, which stay in registers: the general path's operations in
// its order (lanes past the row add 0 to its sums), without its loops and calls.
template <class T, int Vectors>
void short_softmax_forward(std::int64_t rows, std::int64_t width, std::int64_t first_row, T scale, T* scores,
                           std::int64_t row_stride) {
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  const __m256i width_mask = simd::first_lanes<T>(width - (Vectors - 1) * kLanes);
  const V<T> lowest = simd::broadcast<T>(-std::numeric_limits<T>::infinity());
  const V<T> scale_all = simd::broadcast<T>(scale);
  for (std::int64_t t = 0; t < rows; ++t) {
    T* row = scores + t * row_stride;
    const std::int64_t n = std::min(first_row + t + 1, width);
    V<T> x[Vectors];
    __m256i mask[Vectors];
    V<T> largest = lowest;
    REHEARSE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      mask[v] = simd::first_lanes<T>(n - v * kLanes);
      x[v] = simd::load(row + v * kLanes, mask[v]);
      largest = simd::max(simd::select(mask[v], x[v], lowest), largest);
    }
    const V<T> maximum = simd::broadcast<T>(simd::max_lanes(largest));
    V<T> sum = simd::zero<T>();
    REHEARSE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      x[v] = simd::select(mask[v], simd::exp_nonpositive<T>((x[v] - maximum) * scale_all), simd::zero<T>());
      sum = sum + x[v];
    }
    const V<T> inverse = simd::broadcast<T>(T{1} / simd::sum_lanes(sum));
    REHEARSE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      const V<T> p = simd::select(mask[v], x[v] * inverse, simd::zero<T>());
      if (v == Vectors - 1) {
        simd::store(row + v * kLanes, width_mask, p);
      } else {
        simd::store(row + v * kLanes, p);
      }
    }
  }
}

}  // namespace

template <class T>
void causal_softmax_forward(std::int64_t rows, std::int64_t width, std::int64_t first_row, T scale, T* scores,
                            std::int64_t row_stride) {
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  if (width <= kLanes) return short_softmax_forward<T, 1>(rows, width, first_row, scale, scores, row_stride);
  if (width <= 2 * kLanes) return short_softmax_forward<T, 2>(rows, width, first_row, scale, scores, row_stride);
  for (std::int64_t t = 0; t < rows; ++t) {
    T* row = scores + t * row_stride;
    const std::int64_t n = std::min(first_row + t + 1, width);
    const T maximum = simd::max_lanes(row_maximum(row, n));
    const T sum = simd::sum_lanes(exponentiate(row, n, scale, maximum));
    const V<T> inverse = simd::broadcast<T>(T{1} / sum);
    std::int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) simd::store(row + j, simd::load(row + j) * inverse);
    if (j < n) {
      const __m256i mask = simd::first_lanes<T>(n - j);
      simd::store(row + j, mask, simd::load(row + j, mask) * inverse);
    }
    std::fill(row + n, row + width, T{0});
  }
}

template <class T>
void causal_softmax_backward(std::int64_t rows, std::int64_t width, std::int64_t first_row, T scale, const T* probs,
                             std::int64_t probs_stride, T* dprobs, std::int64_t dprobs_stride) {
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  const V<T> scale_all = simd::broadcast<T>(scale);
  for (std::int64_t t = 0; t < rows; ++t) {
    const T* p = probs + t * probs_stride;
    T* dp = dprobs + t * dprobs_stride;
    const std::int64_t n = std::min(first_row + t + 1, width);
    const std::int64_t whole = n / kLanes * kLanes;
    const __m256i mask = simd::first_lanes<T>(n - whole);
    V<T> sum = simd::zero<T>();
    for (std::int64_t j = 0; j < whole; j += kLanes) sum = simd::fma(simd::load(p + j), simd::load(dp + j), sum);
    if (whole < n) sum = simd::fma(simd::load(p + whole, mask), simd::load(dp + whole, mask), sum);
    const V<T> total = simd::broadcast<T>(simd::sum_lanes(sum));
    for (std::int64_t j = 0; j < whole; j += kLanes) {
      simd::store(dp + j, simd::load(p + j) * (simd::load(dp + j) - total) * scale_all);
    }
    if (whole < n) {
      simd::store(dp + whole, mask, simd::load(p + whole, mask) * (simd::load(dp + whole, mask) - total) * scale_all);
    }
    std::fill(dp + n, dp + width, T{0});
  }
}

template <class T>
void exponentials_of_rows(std::int64_t rows, std::int64_t width, T* x, T* maxima, T* sums) {
  for (std::int64_t row = 0; row < rows; ++row) {
    maxima[row] = simd::max_lanes(row_maximum(x + row * width, width));
    sums[row] = simd::sum_lanes(exponentiate(x + row * width, width, T{1}, maxima[row]));
  }
}

#define REHEARSE_INSTANTIATE(T)                                                                                  \
  template void causal_softmax_forward(std::int64_t, std::int64_t, std::int64_t, T, T*, std::int64_t);           \
  template void causal_softmax_backward(std::int64_t, std::int64_t, std::int64_t, T, const T*, std::int64_t, T*, \
                                        std::int64_t);                                                           \
  template void exponentials_of_rows(std::int64_t, std::int64_t, T*, T*, T*);
REHEARSE_INSTANTIATE(float)
REHEARSE_INSTANTIATE(double)
#undef REHEARSE_INSTANTIATE

}  // namespace rehearse
