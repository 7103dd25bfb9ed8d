#pragma once

#include <immintrin.h>

#include <cstdint>

// 256-bit vectors of float (8 lanes) or double (4 lanes), the one place where instructions are named. Loads and stores
// work at any address and give the same bits there. A multiply-add is fused only where fma() is written: the compiler
// contracts nothing (-ffp-contract=off). Reductions add lanes in one written order.

namespace rehearse::simd {

template <class T>
struct Vector;

template <>
struct Vector<float> {
  using Type = __m256;
  using MaskType = __m256i;
  static constexpr std::int64_t kLanes = 8;
};

template <>
struct Vector<double> {
  using Type = __m256d;
  using MaskType = __m256i;
  static constexpr std::int64_t kLanes = 4;
};

template <class T>
using V = typename Vector<T>::Type;
template <class T>
inline constexpr std::int64_t kLanes = Vector<T>::kLanes;

#define REHEARSE_INLINE inline __attribute__((always_inline))

// Unrolls the loop that follows, so that an array of vectors in it lives in registers.
#if defined(__clang__)
#define REHEARSE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define REHEARSE_UNROLL _Pragma("GCC unroll 16")
#endif

REHEARSE_INLINE __m256 load(const float* p) { return _mm256_loadu_ps(p); }
REHEARSE_INLINE __m256d load(const double* p) { return _mm256_loadu_pd(p); }
REHEARSE_INLINE void store(float* p, __m256 v) { _mm256_storeu_ps(p, v); }
REHEARSE_INLINE void store(double* p, __m256d v) { _mm256_storeu_pd(p, v); }

// The first `count` lanes selected, 0 <= count <= lanes.
template <class T>
REHEARSE_INLINE __m256i first_lanes(std::int64_t count) {
  if constexpr (sizeof(T) == 4) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  } else {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
}

// Lanes that are not selected are neither read nor written; they load as 0.
REHEARSE_INLINE __m256 load(const float* p, __m256i mask) { return _mm256_maskload_ps(p, mask); }
REHEARSE_INLINE __m256d load(const double* p, __m256i mask) { return _mm256_maskload_pd(p, mask); }
REHEARSE_INLINE void store(float* p, __m256i mask, __m256 v) { _mm256_maskstore_ps(p, mask, v); }
REHEARSE_INLINE void store(double* p, __m256i mask, __m256d v) { _mm256_maskstore_pd(p, mask, v); }

template <class T>
REHEARSE_INLINE V<T> broadcast(T x) {
  if constexpr (sizeof(T) == 4) {
    return _mm256_set1_ps(x);
  } else {
    return _mm256_set1_pd(x);
  }
}
template <class T>
REHEARSE_INLINE V<T> zero() {
  return broadcast(T{0});
}

// a * b + c, rounded once.
REHEARSE_INLINE __m256 fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
REHEARSE_INLINE __m256d fma(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
// c - a * b, rounded once.
REHEARSE_INLINE __m256 fnma(__m256 a, __m256 b, __m256 c) { return _mm256_fnmadd_ps(a, b, c); }
REHEARSE_INLINE __m256d fnma(__m256d a, __m256d b, __m256d c) { return _mm256_fnmadd_pd(a, b, c); }
REHEARSE_INLINE __m256 sqrt(__m256 a) { return _mm256_sqrt_ps(a); }
REHEARSE_INLINE __m256d sqrt(__m256d a) { return _mm256_sqrt_pd(a); }
// a > b ? a : b; b where either is NaN.
REHEARSE_INLINE __m256 max(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
REHEARSE_INLINE __m256d max(__m256d a, __m256d b) { return _mm256_max_pd(a, b); }
// a where x has its sign bit set, else b.
REHEARSE_INLINE __m256 select_negative(__m256 x, __m256 a, __m256 b) { return _mm256_blendv_ps(b, a, x); }
REHEARSE_INLINE __m256d select_negative(__m256d x, __m256d a, __m256d b) { return _mm256_blendv_pd(b, a, x); }
// a in the lanes of the mask, else b.
REHEARSE_INLINE __m256 select(__m256i mask, __m256 a, __m256 b) {
  return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(mask));
}
REHEARSE_INLINE __m256d select(__m256i mask, __m256d a, __m256d b) {
  return _mm256_blendv_pd(b, a, _mm256_castsi256_pd(mask));
}
REHEARSE_INLINE __m256 abs(__m256 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a); }
REHEARSE_INLINE __m256d abs(__m256d a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a); }

// ((0+4)+(2+6)) + ((1+5)+(3+7)).
REHEARSE_INLINE float sum_lanes(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
// (0+2) + (1+3).
REHEARSE_INLINE double sum_lanes(__m256d v) {
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
REHEARSE_INLINE float max_lanes(__m256 v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
REHEARSE_INLINE double max_lanes(__m256d v) {
  const __m128d two = _mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
  return _mm_cvtsd_f64(_mm_max_sd(two, _mm_unpackhi_pd(two, two)));
}

}  // namespace rehearse::simd
