#pragma once

#include <cstdint>

#include "core/tensor/simd.h"

// The innermost loop of matmul: a tile of up to 6 rows by 2 vectors, whose 12 accumulators, 2 vectors of B and one
// broadcast element of A fill the 16 registers of AVX2.

namespace rehearse::internal {

inline constexpr int kTileRows = 6;
inline constexpr int kTileVectors = 2;

template <class T>
struct TileArgs {
  std::int64_t depth;  // k of this block
  const T* a;          // element (i, p) at a[i * a_row + p * a_k]
  std::int64_t a_row;
  std::int64_t a_k;
  const T* b;  // row p at b[p * b_k], contiguous
  std::int64_t b_k;
  T* c;  // row i at c[i * c_row]
  std::int64_t c_row;
  const T* bias;      // at the tile's first column, or null
  const T* residual;  // at the tile's first element, or null
  std::int64_t residual_row;
  __m256i mask;  // lanes of the last vector that exist, where Masked
};

template <class T, int Rows, int Vectors, bool Masked>
void tile(const TileArgs<T>& args) {
  using simd::V;
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  const auto load_at = [&args](const T* row, int v) __attribute__((always_inline)) {
    if (Masked && v == Vectors - 1) return simd::load(row + v * kLanes, args.mask);
    return simd::load(row + v * kLanes);
  };

  V<T> sum[Rows][Vectors];
  REHEARSE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    REHEARSE_UNROLL
    for (int v = 0; v < Vectors; ++v) sum[i][v] = simd::zero<T>();
  }
  const T* a = args.a;
  const T* b = args.b;
  const std::int64_t a_row = args.a_row;
  const std::int64_t a_k = args.a_k;
  const std::int64_t b_k = args.b_k;
  for (std::int64_t p = args.depth; p > 0; --p) {
    V<T> b_row[Vectors];
    REHEARSE_UNROLL
    for (int v = 0; v < Vectors; ++v) b_row[v] = load_at(b, v);
    REHEARSE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const V<T> a_element = simd::broadcast<T>(a[i * a_row]);
      REHEARSE_UNROLL
      for (int v = 0; v < Vectors; ++v) sum[i][v] = simd::fma(a_element, b_row[v], sum[i][v]);
    }
    a += a_k;
    b += b_k;
  }
  if (args.bias != nullptr) {
    REHEARSE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      const V<T> bias = load_at(args.bias, v);
      REHEARSE_UNROLL
      for (int i = 0; i < Rows; ++i) sum[i][v] = sum[i][v] + bias;
    }
  }
  if (args.residual != nullptr) {
    REHEARSE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      REHEARSE_UNROLL
      for (int v = 0; v < Vectors; ++v) sum[i][v] = load_at(args.residual + i * args.residual_row, v) + sum[i][v];
    }
  }
  REHEARSE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    T* row = args.c + i * args.c_row;
    REHEARSE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      if (Masked && v == Vectors - 1) {
        simd::store(row + v * kLanes, args.mask, sum[i][v]);
      } else {
        simd::store(row + v * kLanes, sum[i][v]);
      }
    }
  }
}

template <class T>
using TileFunction = void (*)(const TileArgs<T>&);

// The tile of 1 to 6 rows and 1 or 2 vectors, the last of them masked or whole.
template <class T>
TileFunction<T> tile_function(int rows, int vectors, bool masked) {
  static constexpr TileFunction<T> kTable[kTileRows][kTileVectors][2] = {
#define REHEARSE_TILES(r)                                                                      \
  {                                                                                            \
    {tile<T, r, 1, false>, tile<T, r, 1, true>}, { tile<T, r, 2, false>, tile<T, r, 2, true> } \
  }
      REHEARSE_TILES(1), REHEARSE_TILES(2), REHEARSE_TILES(3), REHEARSE_TILES(4),
      REHEARSE_TILES(5), REHEARSE_TILES(6)
#undef REHEARSE_TILES
  };
  return kTable[rows - 1][vectors - 1][masked ? 1 : 0];
}

}  // namespace rehearse::internal
