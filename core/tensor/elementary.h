#pragma once

#include <cstddef>

#include "core/tensor/simd.h"

// Elementary functions on vectors from +, -, *, /, fma and integer shifts alone, so that their bits do not depend on
// libm or the CPU. Every lane gives the same value as it would in any other lane.

namespace rehearse::simd {

namespace internal {

// Coefficients of exp(r) on |r| <= ln(2)/2, highest power first. float: 1 + r q(r), q interpolating (exp(r) - 1)/r at 6
// Chebyshev nodes, relative error 5e-9. double: 1/k!, first omitted term 4e-18.
template <class T>
struct ExpTable;
template <>
struct ExpTable<float> {
  static constexpr float kTerms[] = {
      0.0013933730715792083F, 0.008369220291803607F, 0.04166646419740569F, 0.1666650461303261F, 0.5F, 1.F, 1.F};
  static constexpr float kLowest = -80.0F;
  static constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  static constexpr float kLn2High = 0.69314718055994531F;
  static constexpr float kLn2Low = 0;  // rounding ln 2 costs 2e-9 relative for each n, less than x's own rounding
};
template <>
struct ExpTable<double> {
  static constexpr double kTerms[] = {
      1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040,
      1. / 720,        1. / 120,       1. / 24,       1. / 6,       0.5,         1.,         1.};
  static constexpr double kLowest = -700.0;
  static constexpr double kRound = 6755399441055744.0;      // 1.5 * 2^52
  static constexpr double kLn2High = 0x1.62e42fee00000p-1;  // n * high is exact
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
};

// Phi(-t) exp(t^2/2) for t >= 0, Phi the normal distribution function, as a polynomial in y = (t - K)/(t + K), highest
// power first: interpolation at Chebyshev nodes (float: of t in [0, 4]) in 40-digit arithmetic. The absolute error
// times exp(-t^2/2) max(1, t) is 1.3e-8 (float) and 3e-17 (double).
template <class T>
struct NormalTable;
template <>
struct NormalTable<float> {
  static constexpr float kCentre = 3.75F;
  static constexpr float kTerms[] = {-0.0022071118281877006F, -0.006388869903388583F, 0.02436358922814689F,
                                     -0.06749569644133854F,   0.12545454708384082F,   -0.17846517732781889F,
                                     0.10003923868352933F};
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

// Horner's scheme; independent vectors hide its latency.
template <class T, std::size_t N>
REHEARSE_INLINE V<T> polynomial(const T (&terms)[N], V<T> x) {
  V<T> sum = broadcast<T>(terms[0]);
  REHEARSE_UNROLL
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

// exp(x) for x <= 0 (or NaN, which stays NaN), never below exp(-80) = 2e-35 (float) or exp(-700) = 1e-304 (double), so
// that no lane turns slow or subnormal. Relative error 1e-7 + 3e-9 |x| (float), 3e-16 (double).
template <class T>
REHEARSE_INLINE V<T> exp_nonpositive(V<T> x) {
  using Table = internal::ExpTable<T>;
  const V<T> bounded = max(broadcast<T>(Table::kLowest), x);
  // x = n ln 2 + r; the integer n stands in the low bits of `rounded`, and shifting it into the exponent drops the
  // rest.
  const V<T> rounded = fma(bounded, broadcast<T>(T(1.4426950408889634)), broadcast<T>(Table::kRound));
  const V<T> n = rounded - broadcast<T>(Table::kRound);
  V<T> r = fnma(n, broadcast<T>(Table::kLn2High), bounded);
  if constexpr (Table::kLn2Low != 0) r = fnma(n, broadcast<T>(Table::kLn2Low), r);
  return internal::times_power_of_two(internal::polynomial<T>(Table::kTerms, r), rounded);
}

// x Phi(x) and its slope Phi(x) + x phi(x), Phi and phi the normal distribution and density; absolute errors 1e-7
// max(1, |x|) (float) and 4e-16 max(1, |x|) (double). With t = |x|: x Phi(x) = max(x, 0) - t Phi(-t), and the slope is
// w for x < 0 and 1 - w for x >= 0, w = Phi(-t) - t phi(t).
template <class T>
struct Gelu {
  V<T> value;
  V<T> slope;
};
template <class T>
REHEARSE_INLINE Gelu<T> gelu(V<T> x) {
  using Table = internal::NormalTable<T>;
  const V<T> t = abs(x);
  const V<T> e = exp_nonpositive<T>(x * x * broadcast<T>(T(-0.5)));
  const V<T> centre = broadcast<T>(Table::kCentre);
  const V<T> tail = e * internal::polynomial<T>(Table::kTerms, (t - centre) / (t + centre));
  const V<T> density = e * broadcast<T>(T(0.3989422804014327));
  const V<T> w = fnma(t, density, tail);
  return {fnma(t, tail, max(zero<T>(), x)), select_negative(x, w, broadcast<T>(T(1)) - w)};
}

}  // namespace rehearse::simd
