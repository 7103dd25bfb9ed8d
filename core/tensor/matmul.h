#pragma once

#include <cstdint>
#include <span>

namespace rehearse {

// C (m x n) = A (m x k) B (k x n), the one product every layer is made of.
//
// Bits: an element of C is a chain of fused multiply-adds over k from 0 upwards, cut in blocks of kMatmulDepth that
// each start at 0 and are added to C in order. Bias, residual and the old C are added to the first block, in this
// order. How C is tiled, packed or aligned changes nothing, so the bits depend on k and the values alone, and a plain
// loop with std::fma gives the same (matmul_test.cc).

inline constexpr std::int64_t kMatmulDepth = 384;

// Element (i, j) is data[i * row_stride + j * column_stride], in elements. A transpose is the strides swapped.
template <class T>
struct ConstMatrix {
  const T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  ConstMatrix transposed() const { return {data, column_stride, row_stride}; }
};

// Rows are contiguous.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t row_stride = 0;
};

template <class T>
struct MatmulTerms {
  const T* bias = nullptr;  // (n), added to every row
  ConstMatrix<T> residual;  // (m x n) with contiguous rows, added where data is not null; may be C itself
};

// Elements of scratch that a product of this size needs at most: panels of min(k, depth) x 16-padded min(n, 512) and
// min(m, 96) x min(k, depth).
std::int64_t matmul_scratch(std::int64_t m, std::int64_t n, std::int64_t k);

// C = A B + terms. Requires m, n >= 0, k > 0, C apart from A and B, and `scratch` of matmul_scratch(m, n, k) elements.
template <class T>
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c,
            const MatmulTerms<T>& terms, std::span<T> scratch);

// C += A B.
template <class T>
void matmul_add(std::int64_t m, std::int64_t n, std::int64_t k, ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c,
                std::span<T> scratch) {
  matmul<T>(m, n, k, a, b, c, {.bias = nullptr, .residual = {c.data, c.row_stride, 1}}, scratch);
}

}  // namespace rehearse
