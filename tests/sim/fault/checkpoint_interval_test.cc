#include "sim/fault/checkpoint_interval.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rehearse {
namespace {

TEST(CheckpointInterval, YoungByHand) { EXPECT_DOUBLE_EQ(young_interval(50, 10'000), 1000); }

// sqrt(2 * 200 * 10,000) = 2,000; C / 2M = 0.01: 2,000 (1 + 0.1 / 3 + 0.01 / 9) - 200.
TEST(CheckpointInterval, DalyByHand) {
  EXPECT_DOUBLE_EQ(daly_interval(200, 10'000), 2000 * (1 + 0.1 / 3 + 0.01 / 9) - 200);
}

TEST(CheckpointInterval, DalyIsTheMeanTimeWhereASaveIsLongerThanTwice) {
  EXPECT_DOUBLE_EQ(daly_interval(20, 10), 10);
  EXPECT_DOUBLE_EQ(daly_interval(1000, 10), 10);
  EXPECT_NEAR(daly_interval(20 - 1e-9, 10), 20 * (1 + 1.0 / 3 + 1.0 / 9) - 20, 1e-6);
}

TEST(CheckpointInterval, ASaveThatCostsNothingIsMadeAllTheTime) {
  EXPECT_EQ(young_interval(0, 100), 0);
  EXPECT_EQ(daly_interval(0, 100), 0);
}

TEST(CheckpointInterval, WasteByHand) { EXPECT_DOUBLE_EQ(expected_waste(100, 5, 30, 1000), 0.05 + 0.05 + 0.03); }

// Young's interval is where the formula of the waste has its minimum.
TEST(CheckpointInterval, YoungMakesTheExpectedWasteSmallest) {
  const double best = young_interval(60, 11'138);
  const double least = expected_waste(best, 60, 600, 11'138);
  for (const double factor : {0.5, 0.8, 0.99, 1.01, 1.25, 2.0}) {
    EXPECT_GT(expected_waste(best * factor, 60, 600, 11'138), least) << factor;
  }
}

// With exponential failures a segment of T + C takes M exp(R/M) (exp((T+C)/M) - 1) on average (Daly); his
// interval makes that time over T smallest to within a thousandth, where Young's does not.
TEST(CheckpointInterval, DalyMakesTheExactTimeSmallest) {
  const double m = 1000;
  for (const double c : {1.0, 10.0, 100.0, 300.0}) {
    const auto time = [&](double t) { return m * std::expm1((t + c) / m) / t; };
    double best = time(1);
    for (double t = 1; t < 5000; t *= 1.001) best = std::min(best, time(t));
    EXPECT_LT(time(daly_interval(c, m)) / best, 1.001) << c;
  }
  const auto time = [&](double t) { return m * std::expm1((t + 300) / m) / t; };
  EXPECT_GT(time(young_interval(300, m)) / time(daly_interval(300, m)), 1.02);
}

}  // namespace
}  // namespace rehearse
