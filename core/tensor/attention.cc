#include "core/tensor/attention.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/tensor/matmul.h"
#include "core/tensor/matmul_pack.h"
#include "core/tensor/softmax.h"

namespace rehearse {
namespace {

constexpr std::int64_t kQueryRows = 48;

// Where one head's parts of the arrays stand.
template <class T>
struct Head {
  Head(const AttentionShape& s, const T* qkv, std::int64_t b, std::int64_t h)
      : row(3 * s.heads * s.head_dim), offset(b * s.positions * row + h * s.head_dim) {
    const std::int64_t part = s.heads * s.head_dim;
    q = {qkv + offset, row, 1};
    k = {qkv + offset + part, row, 1};
    v = {qkv + offset + 2 * part, row, 1};
    out_row = part;
    out_offset = b * s.positions * part + h * s.head_dim;
    probs_offset = (b * s.heads + h) * s.positions * s.positions;
  }

  std::int64_t row;
  std::int64_t offset;
  ConstMatrix<T> q, k, v;  // (T x D)
  std::int64_t out_row = 0;
  std::int64_t out_offset = 0;
  std::int64_t probs_offset = 0;
};

template <class T>
ConstMatrix<T> rows_from(ConstMatrix<T> m, std::int64_t row) {
  return {m.data + row * m.row_stride, m.row_stride, m.column_stride};
}

template <class T>
T score_scale(const AttentionShape& shape) {
  return static_cast<T>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
}

}  // namespace

std::int64_t attention_scratch(const AttentionShape& s) {
  const std::int64_t rows = std::min(s.positions, kQueryRows);
  const std::int64_t products =
      std::max({matmul_scratch(rows, s.positions, s.head_dim), matmul_scratch(rows, s.head_dim, s.positions),
                matmul_scratch(s.positions, s.head_dim, rows)});
  return 2 * s.head_dim * s.positions + rows * s.positions + products;
}

template <class T>
void attention_forward(const AttentionShape& s, const T* qkv, T* probs, T* out, std::span<T> scratch) {
  CHECK_GE(static_cast<std::int64_t>(scratch.size()), attention_scratch(s));
  T* const keys = scratch.data();  // (D x T)
  const auto products = scratch.subspan(static_cast<std::size_t>(s.head_dim * s.positions));
  const T scale = score_scale<T>(s);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Head<T> head(s, qkv, b, h);
      internal::transpose(s.positions, s.head_dim, head.k, keys);
      for (std::int64_t first = 0; first < s.positions; first += kQueryRows) {
        const std::int64_t rows = std::min(kQueryRows, s.positions - first);
        const std::int64_t seen = first + rows;
        T* block = probs + head.probs_offset + first * s.positions;
        matmul<T>(rows, seen, s.head_dim, rows_from(head.q, first), {keys, s.positions, 1}, {block, s.positions}, {},
                  products);
        causal_softmax_forward(rows, seen, first, scale, block, s.positions);
        matmul<T>(rows, s.head_dim, seen, {block, s.positions, 1}, head.v,
                  {out + head.out_offset + first * head.out_row, head.out_row}, {}, products);
      }
    }
  }
}

template <class T>
void attention_backward(const AttentionShape& s, const T* qkv, const T* probs, const T* dout, T* dqkv,
                        std::span<T> scratch) {
  CHECK_GE(static_cast<std::int64_t>(scratch.size()), attention_scratch(s));
  T* const values = scratch.data();                     // (D x T)
  T* const dblock = values + s.head_dim * s.positions;  // (48 x T): gradient of the probabilities, then of the scores
  const auto products =
      scratch.subspan(static_cast<std::size_t>((s.head_dim + std::min(s.positions, kQueryRows)) * s.positions));
  const T scale = score_scale<T>(s);
  std::fill(dqkv, dqkv + s.batch * s.positions * 3 * s.heads * s.head_dim, T{0});
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Head<T> head(s, qkv, b, h);
      T* const dq = dqkv + head.offset;
      T* const dk = dq + head.out_row;
      T* const dv = dk + head.out_row;
      internal::transpose(s.positions, s.head_dim, head.v, values);
      for (std::int64_t first = 0; first < s.positions; first += kQueryRows) {
        const std::int64_t rows = std::min(kQueryRows, s.positions - first);
        const std::int64_t seen = first + rows;
        const T* block = probs + head.probs_offset + first * s.positions;
        const ConstMatrix<T> p{block, s.positions, 1};
        const ConstMatrix<T> ds{dblock, seen, 1};
        const ConstMatrix<T> dout_rows{dout + head.out_offset + first * head.out_row, head.out_row, 1};
        matmul<T>(rows, seen, s.head_dim, dout_rows, {values, s.positions, 1}, {dblock, seen}, {}, products);
        matmul_add<T>(seen, s.head_dim, rows, p.transposed(), dout_rows, {dv, head.row}, products);
        causal_softmax_backward(rows, seen, first, scale, block, s.positions, dblock, seen);
        matmul<T>(rows, s.head_dim, seen, ds, head.k, {dq + first * head.row, head.row}, {}, products);
        matmul_add<T>(seen, s.head_dim, rows, ds.transposed(), rows_from(head.q, first), {dk, head.row}, products);
      }
    }
  }
}

#define REHEARSE_INSTANTIATE(T)                                                           \
  template void attention_forward(const AttentionShape&, const T*, T*, T*, std::span<T>); \
  template void attention_backward(const AttentionShape&, const T*, const T*, const T*, T*, std::span<T>);
REHEARSE_INSTANTIATE(float)
REHEARSE_INSTANTIATE(double)
#undef REHEARSE_INSTANTIATE

}  // namespace rehearse
