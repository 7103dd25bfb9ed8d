// Failures at a rate: exponential times against their closed forms, equal draws in any order, and the published
// figures.

#include "sim/fault/failure_rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <vector>

#include "sim/fault/failure_presets.h"

namespace rehearse {
namespace {

// One failure of a node in 10 seconds on average.
FailureRate quick_rate() {
  FailureRate rate;
  rate.per_node_day = 8640;
  rate.ranks_per_node = 4;
  rate.causes = {{"a", FailureKind::kProcess, 3}, {"b", FailureKind::kHost, 1}};
  return rate;
}

RandomStream stream() { return RandomStream(5).fork("test"); }

std::vector<DrawnFailure> failures_of(const FailureDraws& draws, int node, std::int64_t count) {
  std::vector<DrawnFailure> failures;
  TimePoint previous;
  for (std::int64_t number = 0; number < count; ++number) {
    const auto failure = draws.draw(node, number, previous);
    if (!failure.has_value()) break;
    failures.push_back(*failure);
    previous = failure->time;
  }
  return failures;
}

// Gaps in units of their mean, all nodes together.
std::vector<double> gaps(const FailureDraws& draws, std::int64_t per_node) {
  std::vector<double> all;
  for (int node = 0; node < draws.nodes(); ++node) {
    TimePoint previous;
    for (const DrawnFailure& failure : failures_of(draws, node, per_node)) {
      all.push_back((failure.time - previous).to_seconds() / 10);
      previous = failure.time;
    }
  }
  return all;
}

TEST(FailureRates, GapsAreExponential) {
  const FailureDraws draws(quick_rate(), 400, stream());
  std::vector<double> all = gaps(draws, 1000);
  ASSERT_EQ(all.size(), 100'000U);
  const auto n = static_cast<double>(all.size());
  double sum = 0;
  double squares = 0;
  for (const double gap : all) sum += gap, squares += gap * gap;
  // Mean 1, second moment 2: standard errors 1 / sqrt(n) = 0.0032 and sqrt(20 / n) = 0.014.
  EXPECT_NEAR(sum / n, 1, 0.0095);
  EXPECT_NEAR(squares / n, 2, 0.042);
  // Kolmogorov-Smirnov: a distance above 1.95 / sqrt(n) comes once in a thousand samples of the true distribution.
  std::sort(all.begin(), all.end());
  double distance = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double expected = -std::expm1(-all[i]);
    distance = std::max({distance, std::abs(expected - static_cast<double>(i) / n),
                         std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  std::printf("%zu gaps, distance %.5f of at most %.5f\n", all.size(), distance, 1.95 / std::sqrt(n));
  EXPECT_LT(distance, 1.95 / std::sqrt(n));
}

// Counts of a Poisson process in equal windows have variance = mean.
TEST(FailureRates, CountsInWindowsArePoisson) {
  const FailureDraws draws(quick_rate(), 4 * 200, stream());
  double sum = 0;
  double squares = 0;
  double windows = 0;
  for (int node = 0; node < draws.nodes(); ++node) {
    std::vector<double> counts(100, 0);  // of 40 s: 4 failures on average
    for (const DrawnFailure& failure : failures_of(draws, node, 2000)) {
      const auto window = static_cast<std::size_t>(failure.time.since_start().to_seconds() / 40);
      if (window >= counts.size()) break;
      ++counts[window];
    }
    for (const double count : counts) sum += count, squares += count * count, ++windows;
  }
  const double mean = sum / windows;
  EXPECT_NEAR(mean, 4, 0.05);                             // standard error sqrt(4 / 20,000) = 0.014
  EXPECT_NEAR(squares / windows - mean * mean, 4, 0.15);  // standard error about 0.042
}

TEST(FailureRates, RanksAndCausesComeInTheirShares) {
  const FailureDraws draws(quick_rate(), 8, stream());
  std::map<int, int> ranks;
  std::map<std::size_t, int> causes;
  for (int node = 0; node < 2; ++node) {
    for (const DrawnFailure& failure : failures_of(draws, node, 20'000)) {
      EXPECT_EQ(failure.rank / 4, node);
      ++ranks[failure.rank];
      ++causes[failure.cause];
    }
  }
  ASSERT_EQ(ranks.size(), 8U);
  for (const auto& [rank, count] : ranks) EXPECT_NEAR(count, 5000, 310) << rank;  // 5 standard deviations
  EXPECT_NEAR(causes[0], 30'000, 435);
  EXPECT_NEAR(causes[1], 10'000, 435);
}

TEST(FailureRates, ADrawIsAFunctionOfNodeAndNumberAlone) {
  const FailureDraws draws(quick_rate(), 40, stream());
  const TimePoint previous = TimePoint::at(Duration::seconds(3));
  const auto draw = [&](int node, std::int64_t number) { return draws.draw(node, number, previous)->time.ps(); };
  std::map<std::pair<int, std::int64_t>, std::int64_t> forward;
  for (int node = 0; node < 10; ++node) {
    for (std::int64_t number = 0; number < 50; ++number) forward[{node, number}] = draw(node, number);
  }
  const FailureDraws again(quick_rate(), 40, stream());
  for (std::int64_t number = 49; number >= 0; --number) {
    for (int node = 9; node >= 0; --node) {
      EXPECT_EQ(again.draw(node, number, previous)->time.ps(), (forward[{node, number}]));
      EXPECT_EQ(draw(node, number), (forward[{node, number}]));
    }
  }
}

// More ranks add nodes and change nothing on those that were there.
TEST(FailureRates, OtherNodesDoNotMatter) {
  const FailureDraws few(quick_rate(), 4, stream());
  const FailureDraws many(quick_rate(), 4000, stream());
  const auto a = failures_of(few, 0, 100);
  const auto b = failures_of(many, 0, 100);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(a[i].time, b[i].time);
    EXPECT_EQ(a[i].rank, b[i].rank);
    EXPECT_EQ(a[i].cause, b[i].cause);
  }
}

// The bits are the same on every machine: these are of the first that drew them.
TEST(FailureRates, DrawTheSamePicosecondsEverywhere) {
  const FailureDraws draws(quick_rate(), 8, RandomStream(1).fork("faults").fork("rate").fork(0));
  std::vector<std::int64_t> times;
  for (const DrawnFailure& failure : failures_of(draws, 1, 3)) times.push_back(failure.time.ps());
  EXPECT_EQ(times, (std::vector<std::int64_t>{3'148'659'234'279, 3'429'657'918'058, 12'839'174'723'431}));
}

TEST(FailureRates, ALemonFailsAsManyTimesAsOften) {
  FailureRate rate = quick_rate();
  rate.lemons = {{1, 20.0}};
  const FailureDraws lemon(rate, 8, stream());
  const FailureDraws plain(quick_rate(), 8, stream());
  EXPECT_EQ(failures_of(lemon, 0, 50).back().time, failures_of(plain, 0, 50).back().time);
  const double slow = failures_of(plain, 1, 50).back().time.since_start().to_seconds();
  const double fast = failures_of(lemon, 1, 50).back().time.since_start().to_seconds();
  EXPECT_NEAR(slow / fast, 20, 1e-9);
}

TEST(FailureRates, AWindowHasTheFailuresBetweenItsEnds) {
  FailureRate rate = quick_rate();
  rate.from = TimePoint::at(Duration::seconds(1000));
  rate.until = TimePoint::at(Duration::seconds(3000));
  const FailureDraws draws(rate, 400, stream());
  std::size_t count = 0;
  for (int node = 0; node < draws.nodes(); ++node) {
    for (const DrawnFailure& failure : failures_of(draws, node, 10'000)) {
      EXPECT_GE(failure.time, rate.from);
      EXPECT_LT(failure.time, *rate.until);
      ++count;
    }
  }
  EXPECT_NEAR(static_cast<double>(count), 20'000, 710);  // 5 standard deviations of a Poisson count
}

// A node whose mean is far beyond the 106 days of virtual time seldom fails in them, and never behind them.
TEST(FailureRates, WhatComesAfterTheEndOfVirtualTimeDoesNotHappen) {
  FailureRate rate = quick_rate();
  rate.per_node_day = 1e-9;
  const FailureDraws draws(rate, 4 * 1000, stream());
  for (int node = 0; node < draws.nodes(); ++node) EXPECT_FALSE(draws.draw(node, 0, TimePoint()).has_value());
  const FailureDraws late(quick_rate(), 4, stream());
  const TimePoint end = TimePoint::at(Duration::picoseconds(std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(late.draw(0, 1, end).has_value());
}

double mean_hours(const char* preset, int ranks) {
  FailureRate rate;
  EXPECT_TRUE(find_failure_preset(preset, rate));
  return *mean_seconds_between_failures({rate}, ranks) / 3600;
}

TEST(FailurePresets, GiveThePublishedMeanTimesBetweenFailures) {
  EXPECT_NEAR(mean_hours("llama3", 16'384), 54.0 * 24 / 419, 1e-9);  // 3.09 h
  EXPECT_NEAR(mean_hours("llama3", 16'384), 3.1, 0.05);
  EXPECT_NEAR(mean_hours("rsc1", 1024), 28.8, 0.05);
  EXPECT_NEAR(mean_hours("rsc1", 16'384), 1.8, 0.05);
  EXPECT_NEAR(mean_hours("opt175b", 992), 12, 1e-9);
}

TEST(FailurePresets, TheCausesOfLlama3AddUpToItsInterruptions) {
  FailureRate rate;
  ASSERT_TRUE(find_failure_preset("llama3", rate));
  std::int64_t all = 0;
  for (const FailureCause& cause : rate.causes) all += cause.weight;
  EXPECT_EQ(all, 419);
  EXPECT_EQ(rate.causes.size(), 18U);
}

// What the mean time says is what the draws do: failures of 2,048 nodes in 54 days, over 50 seeds.
TEST(FailurePresets, Llama3FailsAsOftenAsItDid) {
  FailureRate rate;
  ASSERT_TRUE(find_failure_preset("llama3", rate));
  rate.until = TimePoint::at(Duration::seconds(54 * 86'400));
  double count = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const FailureDraws draws(rate, 16'384, RandomStream(seed));
    for (int node = 0; node < draws.nodes(); ++node) {
      count += static_cast<double>(failures_of(draws, node, 1000).size());
    }
  }
  std::printf("%.2f failures in 54 days\n", count / 50);
  EXPECT_NEAR(count / 50, 419, 12);  // 4 standard errors of sqrt(419 / 50)
}

TEST(FailurePresets, AnUnknownNameIsNone) {
  FailureRate rate;
  EXPECT_FALSE(find_failure_preset("llama4", rate));
  EXPECT_EQ(failure_preset_names(), (std::vector<std::string>{"llama3", "rsc1", "opt175b"}));
}

TEST(MeanTimeBetweenFailures, CountsLemonsAndSeveralRates) {
  FailureRate rate = quick_rate();
  EXPECT_DOUBLE_EQ(*mean_seconds_between_failures({rate}, 16), 2.5);
  rate.lemons = {{0, 5.0}};
  EXPECT_DOUBLE_EQ(*mean_seconds_between_failures({rate}, 16), 1.25);
  EXPECT_DOUBLE_EQ(*mean_seconds_between_failures({rate, rate}, 16), 0.625);
  EXPECT_FALSE(mean_seconds_between_failures({}, 16).has_value());
  rate.until = TimePoint::at(Duration::seconds(1));
  EXPECT_FALSE(mean_seconds_between_failures({rate}, 16).has_value());
}

// A job that was cut to fewer ranks has fewer nodes.
TEST(MeanTimeBetweenFailures, LeavesOutLemonsThatTheJobDoesNotHave) {
  FailureRate rate;
  rate.per_node_day = 1;
  rate.ranks_per_node = 4;
  rate.lemons = {LemonNode{1, 3}};
  EXPECT_EQ(mean_seconds_between_failures({rate}, 8), 86'400.0 / 4);
  EXPECT_EQ(mean_seconds_between_failures({rate}, 4), 86'400.0);
}

}  // namespace
}  // namespace rehearse
