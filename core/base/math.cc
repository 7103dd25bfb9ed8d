#include "core/base/math.h"

#include <bit>
#include <cstdint>

#include "core/base/check.h"

namespace rehearse {
namespace {

// sin(y) and cos(y) for |y| <= pi/4 by their Taylor series in Horner form; the first omitted terms are below 1e-16.
double sin_small(double y) {
  const double z = y * y;
  double s = -1.0 / 1307674368000.0;
  s = s * z + 1.0 / 6227020800.0;
  s = s * z - 1.0 / 39916800.0;
  s = s * z + 1.0 / 362880.0;
  s = s * z - 1.0 / 5040.0;
  s = s * z + 1.0 / 120.0;
  s = s * z - 1.0 / 6.0;
  return y + y * z * s;
}

double cos_small(double y) {
  const double z = y * y;
  double c = 1.0 / 20922789888000.0;
  c = c * z - 1.0 / 87178291200.0;
  c = c * z + 1.0 / 479001600.0;
  c = c * z - 1.0 / 3628800.0;
  c = c * z + 1.0 / 40320.0;
  c = c * z - 1.0 / 720.0;
  c = c * z + 1.0 / 24.0;
  c = c * z - 0.5;
  return 1.0 + z * c;
}

}  // namespace

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m-1)/(m+1)), whose series in s^2 <= 0.0295 needs 11
// terms.
double deterministic_log(double x) {
  CHECK(x > 0 && x < __builtin_huge_val());
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double sum = 0.0;
  for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * z;
  const double log_m = 2.0 * s + 2.0 * s * sum;
  // ln 2 in two parts, so that exponent * high is exact.
  constexpr double kLn2High = 0x1.62e42fee00000p-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  return exponent * kLn2High + (log_m + exponent * kLn2Low);
}

double deterministic_cos_pi(double x) {
  CHECK(x >= 0.0 && x <= 1.0);
  if (x > 0.5) return -deterministic_cos_pi(1.0 - x);
  if (x > 0.25) return sin_small(kPi * (0.5 - x));
  return cos_small(kPi * x);
}

}  // namespace rehearse
