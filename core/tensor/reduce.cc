#include "core/tensor/reduce.h"

#include "core/tensor/simd.h"

namespace rehearse {
namespace {

__m256d load_as_double(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
__m256d load_as_double(const double* p) { return _mm256_loadu_pd(p); }

}  // namespace

template <class T>
double sum_of_squares(std::int64_t n, const T* x) {
  constexpr std::int64_t kSumLanes = 16;
  __m256d sums[4] = {};
  const std::int64_t whole = n / kSumLanes * kSumLanes;
  for (std::int64_t i = 0; i < whole; i += kSumLanes) {
    for (int v = 0; v < 4; ++v) {
      const __m256d values = load_as_double(x + i + 4 * v);
      sums[v] = sums[v] + values * values;
    }
  }
  double lanes[kSumLanes];
  for (int v = 0; v < 4; ++v) simd::store(lanes + 4 * v, sums[v]);
  for (std::int64_t i = whole; i < n; ++i) lanes[i - whole] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double totals[4];
  for (int l = 0; l < 4; ++l) totals[l] = ((lanes[l] + lanes[l + 4]) + lanes[l + 8]) + lanes[l + 12];
  return (totals[0] + totals[2]) + (totals[1] + totals[3]);
}

template <class T>
std::int64_t count_nonfinite(std::int64_t n, const T* x) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) count += x[i] - x[i] == T{0} ? 0 : 1;  // inf - inf and NaN - NaN are NaN
  return count;
}

template <class T>
void add_column_sums(std::int64_t rows, std::int64_t columns, const T* x, T* out) {
  using simd::V;
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  std::int64_t j = 0;
  for (; j + 4 * kLanes <= columns; j += 4 * kLanes) {
    V<T> sum[4] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      for (int v = 0; v < 4; ++v) sum[v] = sum[v] + simd::load(x + row * columns + j + v * kLanes);
    }
    for (int v = 0; v < 4; ++v) simd::store(out + j + v * kLanes, simd::load(out + j + v * kLanes) + sum[v]);
  }
  for (; j < columns; j += kLanes) {
    const __m256i mask = simd::first_lanes<T>(columns - j < kLanes ? columns - j : kLanes);
    V<T> sum = simd::zero<T>();
    for (std::int64_t row = 0; row < rows; ++row) sum = sum + simd::load(x + row * columns + j, mask);
    simd::store(out + j, mask, simd::load(out + j, mask) + sum);
  }
}

template double sum_of_squares(std::int64_t, const float*);
template double sum_of_squares(std::int64_t, const double*);
template std::int64_t count_nonfinite(std::int64_t, const float*);
template std::int64_t count_nonfinite(std::int64_t, const double*);
template void add_column_sums(std::int64_t, std::int64_t, const float*, float*);
template void add_column_sums(std::int64_t, std::int64_t, const double*, double*);

}  // namespace rehearse
