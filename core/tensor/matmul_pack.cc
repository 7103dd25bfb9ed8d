#include "core/tensor/matmul_pack.h"

#include <algorithm>

#include "core/tensor/simd.h"

namespace rehearse::internal {
namespace {

using simd::load;
using simd::store;

// out[p * out_row + i] = in[i * in_row + p] for a square of one vector's lanes.
void transpose_square(const float* in, std::int64_t in_row, float* out, std::int64_t out_row) {
  __m256 r[8];
  __m256 t[8];
  for (int i = 0; i < 8; ++i) r[i] = load(in + i * in_row);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    store(out + i * out_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    store(out + (i + 4) * out_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

void transpose_square(const double* in, std::int64_t in_row, double* out, std::int64_t out_row) {
  __m256d t[4];
  for (int i = 0; i < 4; i += 2) {
    const __m256d even = load(in + i * in_row);
    const __m256d odd = load(in + (i + 1) * in_row);
    t[i] = _mm256_unpacklo_pd(even, odd);
    t[i + 1] = _mm256_unpackhi_pd(even, odd);
  }
  for (int i = 0; i < 2; ++i) {
    store(out + i * out_row, _mm256_permute2f128_pd(t[i], t[i + 2], 0x20));
    store(out + (i + 2) * out_row, _mm256_permute2f128_pd(t[i], t[i + 2], 0x31));
  }
}

// out[j * out_row + i] = in[i * in_row + j] for rows x columns of `in`.
template <class T>
void transpose_strided(std::int64_t rows, std::int64_t columns, const T* in, std::int64_t in_row, T* out,
                       std::int64_t out_row) {
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  const std::int64_t square_columns = columns / kLanes * kLanes;
  std::int64_t i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    for (std::int64_t j = 0; j < square_columns; j += kLanes) {
      transpose_square(in + i * in_row + j, in_row, out + j * out_row + i, out_row);
    }
    for (std::int64_t j = square_columns; j < columns; ++j) {
      for (std::int64_t l = i; l < i + kLanes; ++l) out[j * out_row + l] = in[l * in_row + j];
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) out[j * out_row + i] = in[i * in_row + j];
  }
}

}  // namespace

template <class T>
void pack_columns(std::int64_t depth, std::int64_t n, ConstMatrix<T> b, T* out) {
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  constexpr std::int64_t kPanel = kPanelColumns<T>;
  for (std::int64_t j = 0; j < n; j += kPanel, out += depth * kPanel) {
    const std::int64_t columns = std::min(kPanel, n - j);
    const T* from = b.data + j * b.column_stride;
    if (columns < kPanel) std::fill(out, out + depth * kPanel, T{0});
    if (b.row_stride == 1) {
      transpose_strided(columns, depth, from, b.column_stride, out, kPanel);
    } else if (columns == kPanel && b.column_stride == 1) {
      for (std::int64_t p = 0; p < depth; ++p) {
        store(out + p * kPanel, load(from + p * b.row_stride));
        store(out + p * kPanel + kLanes, load(from + p * b.row_stride + kLanes));
      }
    } else {
      for (std::int64_t p = 0; p < depth; ++p) {
        for (std::int64_t i = 0; i < columns; ++i) out[p * kPanel + i] = from[p * b.row_stride + i * b.column_stride];
      }
    }
  }
}

template <class T>
void pack_rows(std::int64_t rows, std::int64_t depth, ConstMatrix<T> a, T* out) {
  for (std::int64_t p = 0; p < depth; ++p) {
    for (std::int64_t i = 0; i < rows; ++i) out[p * rows + i] = a.data[i * a.row_stride + p * a.column_stride];
  }
}

template <class T>
void transpose(std::int64_t rows, std::int64_t columns, ConstMatrix<T> in, T* out) {
  transpose_strided(rows, columns, in.data, in.row_stride, out, rows);
}

template void transpose(std::int64_t, std::int64_t, ConstMatrix<float>, float*);
template void transpose(std::int64_t, std::int64_t, ConstMatrix<double>, double*);
template void pack_columns(std::int64_t, std::int64_t, ConstMatrix<float>, float*);
template void pack_columns(std::int64_t, std::int64_t, ConstMatrix<double>, double*);
template void pack_rows(std::int64_t, std::int64_t, ConstMatrix<float>, float*);
template void pack_rows(std::int64_t, std::int64_t, ConstMatrix<double>, double*);

}  // namespace rehearse::internal
