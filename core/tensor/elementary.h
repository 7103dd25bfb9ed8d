#pragma once

#include <bit>

#include "core/tensor/simd.h"

// Elementary functions on vectors from +, -, *, /, fma and integer shifts alone, so that their bits do not depend on
// libm or the CPU. Every lane gives the same value as it would in any other lane.

namespace rehearse::simd {

namespace internal {

// 1/k! from the highest power down. The first omitted term of exp on |r| <= ln(2)/2 is 5e-9 (float), 4e-18 (double).
template <class T>
struct ExpTable;
template <>
struct ExpTable<float> {
  static constexpr float kTerms[] = {1.F / 5040, 1.F / 720, 1.F / 120, 1.F / 24, 1.F / 6, 0.5F, 1.F, 1.F};
  static constexpr float kLowest = -87.0F;         // below, the result is 0; above, it is a normal number
  static constexpr float kRound = 12582912.0F;     // 1.5 * 2^23: adding it rounds to an integer in the low bits
  static constexpr float kLn2High = 0.693359375F;  // ln 2 in two parts: n * high is exact
  static constexpr float kLn2Low = -2.12194440e-4F;
};
template <>
struct ExpTable<double> {
  static constexpr double kTerms[] = {
      1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040,
      1. / 720,        1. / 120,       1. / 24,       1. / 6,       0.5,         1.,         1.};
  static constexpr double kLowest = -708.0;
  static constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double kLn2High = 0x1.62e42fee00000p-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
};

// Phi(-t) exp(t^2/2) for t >= 0, Phi the normal distribution function, as a polynomial in y = (t - K)/(t + K) from the
// highest power down: interpolation at Chebyshev nodes in 40-digit arithmetic. The absolute error times exp(-t^2/2) is
// 1e-8 (float) and 3e-17 (double).
template <class T>
struct NormalTable;
template <>
struct NormalTable<float> {
  static constexpr float kCentre = 3;
  static constexpr float kTerms[] = {4.014814929484145e-05F,  9.947635671916032e-05F, -0.00032333071503856285F,
                                     -0.0009630766640522034F, 0.002898362952908393F,  0.006123524897363356F,
                                     -0.04621253512657761F,   0.12322617434214302F,   -0.20640263037444206F,
                                     0.12151392389575306F};
};
template <>
struct NormalTable<double> {
  static constexpr double kCentre = 4;
  static constexpr double kTerms[] = {
      -6.1144827175298e-11,   -9.527023452785242e-10,  -3.8403679567913895e-10, 9.251165864485658e-09,
      1.0302583659889131e-08, -4.9027250131047174e-08, -9.510776135288473e-08,  2.0259905246566012e-07,
      6.620966188723501e-07,  -8.274112247863845e-07,  -4.303796354361621e-06,  4.630787652129803e-06,
      2.8648405412411718e-05, -4.5554703668377396e-05, -0.00018718427862232952, 0.0006388138229651326,
      0.0005075620757808697,  -0.008492095479705676,   0.0308648041062912,      -0.07170740733782996,
      0.12437925533926371,    -0.17039772154845437,    0.09441064130196894};
};

template <class T, std::size_t N>
REHEARSE_INLINE V<T> polynomial(const T (&terms)[N], V<T> x) {
  V<T> sum = broadcast<T>(terms[0]);
  for (std::size_t i = 1; i < N; ++i) sum = fma(sum, x, broadcast<T>(terms[i]));
  return sum;
}

REHEARSE_INLINE __m256 times_power_of_two(__m256 x, __m256 rounded) {
  const __m256i n = _mm256_slli_epi32(_mm256_castps_si256(rounded), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), n));
}
REHEARSE_INLINE __m256d times_power_of_two(__m256d x, __m256d rounded) {
  const __m256i n = _mm256_slli_epi64(_mm256_castpd_si256(rounded), 52);
  return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(x), n));
}

}  // namespace internal

// exp(x) for x <= 0 (or NaN, which stays NaN): 1e-7 (float) or 3e-16 (double) relative; 0 below -87 (float), -708
// (double).
template <class T>
REHEARSE_INLINE V<T> exp_nonpositive(V<T> x) {
  using Table = internal::ExpTable<T>;
  const V<T> underflow = less(x, broadcast<T>(Table::kLowest));
  const V<T> bounded = select(underflow, broadcast<T>(Table::kLowest), x);
  // x = n ln 2 + r; the integer n stands in the low bits of `rounded`, and shifting it into the exponent drops the
  // rest.
  const V<T> rounded = fma(bounded, broadcast<T>(T(1.4426950408889634)), broadcast<T>(Table::kRound));
  const V<T> n = rounded - broadcast<T>(Table::kRound);
  V<T> r = fnma(n, broadcast<T>(Table::kLn2High), bounded);
  r = fnma(n, broadcast<T>(Table::kLn2Low), r);
  const V<T> scaled = internal::times_power_of_two(internal::polynomial<T>(Table::kTerms, r), rounded);
  return select(underflow, zero<T>(), scaled);
}

// The normal distribution function Phi(x) = (1 + erf(x/sqrt 2))/2 and its derivative, absolute errors 1e-7 (float) and
// 3e-16 (double).
template <class T>
struct Normal {
  V<T> cdf;
  V<T> density;
};
template <class T>
REHEARSE_INLINE Normal<T> normal(V<T> x) {
  using Table = internal::NormalTable<T>;
  const V<T> t = abs(x);
  const V<T> e = exp_nonpositive<T>(x * x * broadcast<T>(T(-0.5)));
  const V<T> centre = broadcast<T>(Table::kCentre);
  const V<T> y = (t - centre) / (t + centre);
  const V<T> tail = e * internal::polynomial<T>(Table::kTerms, y);
  return {select(less(x, zero<T>()), tail, broadcast<T>(T(1)) - tail), e * broadcast<T>(T(0.3989422804014327))};
}

}  // namespace rehearse::simd
