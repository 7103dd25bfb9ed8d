#include "core/base/math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rehearse {
namespace {

TEST(DeterministicLog, IsWithinTwoUlpOfTheTruth) {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    const double truth = static_cast<double>(std::log(static_cast<long double>(x)));
    EXPECT_NEAR(deterministic_log(x), truth, 2e-15 * std::max(1.0, std::abs(truth))) << x;
  }
  for (double x = 0.5; x < 2; x += 0.001) {
    EXPECT_NEAR(deterministic_log(x), static_cast<double>(std::log(static_cast<long double>(x))), 2e-16) << x;
  }
  EXPECT_EQ(deterministic_log(1.0), 0.0);
  EXPECT_NEAR(deterministic_log(5e-324), -744.4400719213812, 1e-12);
}

TEST(DeterministicCosPi, IsWithinHalfAnUlpOfOne) {
  const long double pi = 3.14159265358979323846264338327950288L;
  for (double x = 0; x <= 1; x += 1.0 / 4096) {
    EXPECT_NEAR(deterministic_cos_pi(x), static_cast<double>(std::cos(pi * x)), 4e-16) << x;
  }
  EXPECT_EQ(deterministic_cos_pi(0), 1.0);
  EXPECT_EQ(deterministic_cos_pi(0.5), 0.0);
  EXPECT_EQ(deterministic_cos_pi(1), -1.0);
}

}  // namespace
}  // namespace rehearse
