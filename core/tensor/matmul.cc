#include "core/tensor/matmul.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/tensor/matmul_kernel.h"
#include "core/tensor/matmul_pack.h"

namespace rehearse {
namespace {

using internal::kPanelColumns;
using internal::kTileRows;

constexpr std::int64_t kBlockRows = 96;
constexpr std::int64_t kBlockColumns = 512;

constexpr std::int64_t round_up(std::int64_t x, std::int64_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

// A block of C: rows x columns, one depth block.
template <class T>
struct Block {
  std::int64_t rows, columns, depth;
  ConstMatrix<T> a;
  const T* b;        // panel j begins at b + j * b_panel
  std::int64_t b_k;  // from row to row of a panel
  std::int64_t b_panel;
  Matrix<T> c;
  const T* bias;
  ConstMatrix<T> residual;
};

// Rows are dealt to tiles of nearly equal height: 32 rows are 6+6+5+5+5+5, not five sixes and a slow 2.
template <class T>
void multiply_block(const Block<T>& block, T* packed_a) {
  constexpr std::int64_t kPanel = kPanelColumns<T>;
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  const std::int64_t tiles = (block.rows + kTileRows - 1) / kTileRows;
  const std::int64_t height = block.rows / tiles;
  const std::int64_t taller = block.rows % tiles;
  if (packed_a != nullptr) {
    for (std::int64_t t = 0, row = 0; t < tiles; ++t) {
      const std::int64_t rows = height + (t < taller ? 1 : 0);
      internal::pack_rows<T>(rows, block.depth,
                             {block.a.data + row * block.a.row_stride, block.a.row_stride, block.a.column_stride},
                             packed_a + row * block.depth);
      row += rows;
    }
  }
  for (std::int64_t j = 0; j < block.columns; j += kPanel) {
    const std::int64_t columns = std::min(kPanel, block.columns - j);
    const int vectors = static_cast<int>((columns + kLanes - 1) / kLanes);
    const bool masked = columns % kLanes != 0;
    const auto tall =
        internal::tile_function<T>(static_cast<int>(std::min<std::int64_t>(height + 1, kTileRows)), vectors, masked);
    const auto low = internal::tile_function<T>(static_cast<int>(height), vectors, masked);
    internal::TileArgs<T> args{};
    args.depth = block.depth;
    args.b = block.b + j / kPanel * block.b_panel;
    args.b_k = block.b_k;
    args.c_row = block.c.row_stride;
    args.bias = block.bias == nullptr ? nullptr : block.bias + j;
    args.residual_row = block.residual.row_stride;
    args.mask = simd::first_lanes<T>(columns % kLanes);
    for (std::int64_t t = 0, row = 0; t < tiles; ++t) {
      const std::int64_t rows = height + (t < taller ? 1 : 0);
      if (packed_a != nullptr) {
        args.a = packed_a + row * block.depth;
        args.a_row = 1;
        args.a_k = rows;
      } else {
        args.a = block.a.data + row * block.a.row_stride;
        args.a_row = block.a.row_stride;
        args.a_k = block.a.column_stride;
      }
      args.c = block.c.data + row * block.c.row_stride + j;
      args.residual =
          block.residual.data == nullptr ? nullptr : block.residual.data + row * block.residual.row_stride + j;
      (t < taller ? tall : low)(args);
      row += rows;
    }
  }
}

}  // namespace

std::int64_t matmul_scratch(std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t depth = std::min(k, kMatmulDepth);
  return depth * round_up(std::min(n, kBlockColumns), 16) + std::min(m, kBlockRows) * depth;
}

template <class T>
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c,
            const MatmulTerms<T>& terms, std::span<T> scratch) {
  CHECK_GT(k, 0);
  CHECK_GE(static_cast<std::int64_t>(scratch.size()), matmul_scratch(m, n, k));
  if (m == 0 || n == 0) return;
  // Rows of B are read where they are when they are contiguous and stay in cache.
  const bool pack_b = b.column_stride != 1 || (m > 4 * kTileRows && std::min(k, kMatmulDepth) * n > 16 * 1024);
  const bool pack_a = a.column_stride != 1 && m * k > 64 * 1024;
  for (std::int64_t p = 0; p < k; p += kMatmulDepth) {
    Block<T> block{};
    block.depth = std::min(kMatmulDepth, k - p);
    for (std::int64_t j = 0; j < n; j += kBlockColumns) {
      block.columns = std::min(kBlockColumns, n - j);
      const ConstMatrix<T> b_block{b.data + p * b.row_stride + j * b.column_stride, b.row_stride, b.column_stride};
      if (pack_b) {
        internal::pack_columns<T>(block.depth, block.columns, b_block, scratch.data());
        block.b = scratch.data();
        block.b_k = kPanelColumns<T>;
        block.b_panel = block.depth * kPanelColumns<T>;
      } else {
        block.b = b_block.data;
        block.b_k = b.row_stride;
        block.b_panel = kPanelColumns<T>;
      }
      T* packed_a = pack_a ? scratch.data() + block.depth * round_up(block.columns, 16) : nullptr;
      block.bias = p == 0 && terms.bias != nullptr ? terms.bias + j : nullptr;
      for (std::int64_t i = 0; i < m; i += kBlockRows) {
        block.rows = std::min(kBlockRows, m - i);
        block.a = {a.data + i * a.row_stride + p * a.column_stride, a.row_stride, a.column_stride};
        block.c = {c.data + i * c.row_stride + j, c.row_stride};
        block.residual = p == 0 ? terms.residual : ConstMatrix<T>{c.data, c.row_stride, 1};
        if (block.residual.data != nullptr) block.residual.data += i * block.residual.row_stride + j;
        multiply_block(block, packed_a);
      }
    }
  }
}

template void matmul(std::int64_t, std::int64_t, std::int64_t, ConstMatrix<float>, ConstMatrix<float>, Matrix<float>,
                     const MatmulTerms<float>&, std::span<float>);
template void matmul(std::int64_t, std::int64_t, std::int64_t, ConstMatrix<double>, ConstMatrix<double>, Matrix<double>,
                     const MatmulTerms<double>&, std::span<double>);

}  // namespace rehearse
