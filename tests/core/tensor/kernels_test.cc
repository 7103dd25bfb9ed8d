#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/buffer.h"
#include "core/tensor/cross_entropy.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/gelu.h"
#include "core/tensor/layernorm.h"
#include "core/tensor/reduce.h"
#include "core/tensor/softmax.h"

// Values against libm in double; bits and gradients have their own files.

namespace rehearse {
namespace {

template <class T>
void expect_gelu_within(double tolerance) {
  std::vector<T> x;
  for (int i = -12'000; i <= 12'000; ++i) x.push_back(static_cast<T>(i) / 1000);
  std::vector<T> y(x.size());
  std::vector<T> slope(x.size());
  gelu_forward<T>(static_cast<std::int64_t>(x.size()), x.data(), y.data(), slope.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double cdf = 0.5 * std::erfc(-v / std::sqrt(2.0));
    const double density = std::exp(-v * v / 2) / std::sqrt(2 * M_PI);
    ASSERT_NEAR(y[i], v * cdf, tolerance * std::max(1.0, std::abs(v))) << v;
    ASSERT_NEAR(slope[i], cdf + v * density, 2 * tolerance) << v;
  }
}

TEST(Gelu, IsTheExactForm) {
  expect_gelu_within<float>(1.2e-7);
  expect_gelu_within<double>(4e-16);
}

template <class T>
void expect_softmax_within(double tolerance) {
  constexpr std::int64_t kWidth = 21;
  std::vector<T> x(kWidth * kWidth);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(static_cast<double>(i) * 1.7) * 20);
  auto p = x;
  causal_softmax_forward<T>(kWidth, kWidth, 0, T{0.5}, p.data(), kWidth);
  for (std::int64_t t = 0; t < kWidth; ++t) {
    const T* row = x.data() + t * kWidth;
    double sum = 0;
    for (std::int64_t j = 0; j <= t; ++j) sum += std::exp(0.5 * static_cast<double>(row[j]));
    for (std::int64_t j = 0; j < kWidth; ++j) {
      const double expected = j <= t ? std::exp(0.5 * static_cast<double>(row[j])) / sum : 0;
      ASSERT_NEAR(p[static_cast<std::size_t>(t * kWidth + j)], expected, tolerance) << t << ", " << j;
    }
  }
}

TEST(CausalSoftmax, IsTheDefinition) {
  expect_softmax_within<float>(3e-7);
  expect_softmax_within<double>(1e-15);
}

// Short rows have a path of their own.
template <class T>
void expect_softmax_bits_do_not_depend_on_width() {
  constexpr std::int64_t kStride = 40;
  for (std::int64_t width = 1; width <= 20; ++width) {
    std::vector<T> x(static_cast<std::size_t>(width * kStride));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(static_cast<double>(i) * 1.7) * 5);
    auto wide = x;
    causal_softmax_forward<T>(width, width, 0, T{0.7}, x.data(), kStride);
    causal_softmax_forward<T>(width, kStride, 0, T{0.7}, wide.data(), kStride);
    for (std::int64_t i = 0; i < width * kStride; ++i) {
      if (i % kStride < width) {
        ASSERT_EQ(x[static_cast<std::size_t>(i)], wide[static_cast<std::size_t>(i)]) << width;
      }
    }
  }
}

TEST(CausalSoftmax, BitsDoNotDependOnWidth) {
  expect_softmax_bits_do_not_depend_on_width<float>();
  expect_softmax_bits_do_not_depend_on_width<double>();
}

TEST(CausalSoftmax, UnderflowStaysTinyAndNaNStaysNaN) {
  std::vector<float> row = {0, -1e4F, -std::numeric_limits<float>::infinity(), -60, 5};
  causal_softmax_forward<float>(1, 5, 3, 1.0F, row.data(), 5);
  EXPECT_EQ(row[0], 1);
  EXPECT_LT(row[1], 1e-34);
  EXPECT_LT(row[2], 1e-34);
  EXPECT_NEAR(row[3] / std::exp(-60.0), 1, 1e-6);
  EXPECT_EQ(row[4], 0);
  row = {0, std::nanf(""), 1, 2, 3};
  causal_softmax_forward<float>(1, 5, 4, 1.0F, row.data(), 5);
  for (const float p : row) EXPECT_TRUE(std::isnan(p));
  row.assign(30, std::nanf(""));
  causal_softmax_forward<float>(1, 30, 29, 1.0F, row.data(), 30);
  for (const float p : row) EXPECT_TRUE(std::isnan(p));
}

TEST(CrossEntropy, IsMinusTheLogOfTheTargetsProbability) {
  std::vector<double> logits = {1, 2, 3, -1, 0, 1000};
  const std::array<std::int32_t, 2> targets = {2, 1};
  const double loss = cross_entropy_forward<double>(2, 3, logits.data(), targets.data());
  const double first = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0)) - 3;
  EXPECT_NEAR(loss, first + 1000, 1e-12);
  EXPECT_NEAR(logits[2], std::exp(-first), 1e-15);
  cross_entropy_backward<double>(2, 3, 0.5, logits.data(), targets.data());
  EXPECT_NEAR(logits[2], 0.5 * (std::exp(-first) - 1), 1e-15);
  EXPECT_NEAR(logits[0] + logits[1] + logits[2], 0, 1e-15);
}

TEST(CrossEntropy, OfNonFiniteLogitsIsNaN) {
  const std::int32_t target = 0;
  for (const float poison : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits = {poison, 1};
    EXPECT_TRUE(std::isnan(cross_entropy_forward<float>(1, 2, logits.data(), &target)));
  }
}

TEST(LayerNorm, IsBiasedWithEpsilonInsideTheRoot) {
  const std::vector<double> x = {1, 2, 4};
  const std::vector<double> weight = {1, 2, 3};
  const std::vector<double> bias = {0.5, 0, -1};
  std::vector<double> y(3);
  double mean = 0;
  double rstd = 0;
  layernorm_forward<double>(1, 3, x.data(), weight.data(), bias.data(), y.data(), &mean, &rstd);
  const double m = 7.0 / 3;
  const double variance = ((1 - m) * (1 - m) + (2 - m) * (2 - m) + (4 - m) * (4 - m)) / 3;
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(y[j], (x[j] - m) / std::sqrt(variance + 1e-5) * weight[j] + bias[j], 1e-15);
  }
}

TEST(Reduce, SumOfSquaresFollowsItsWrittenOrder) {
  std::vector<float> x;
  for (int i = 0; i < 1003; ++i) x.push_back(static_cast<float>(std::sin(i)) * 3);
  std::array<double, 16> lanes{};
  for (std::size_t i = 0; i < x.size(); ++i) lanes[i % 16] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  std::array<double, 4> totals{};
  for (std::size_t l = 0; l < 4; ++l) totals[l] = ((lanes[l] + lanes[l + 4]) + lanes[l + 8]) + lanes[l + 12];
  EXPECT_EQ(sum_of_squares<float>(1003, x.data()), (totals[0] + totals[2]) + (totals[1] + totals[3]));
  EXPECT_EQ(sum_of_squares<float>(0, nullptr), 0);
}

TEST(Reduce, CountsInfinitiesAndNaN) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {1, inf, -inf, std::nanf(""), 0, 3e38F, 1e-45F};
  EXPECT_EQ(count_nonfinite<float>(7, x.data()), 3);
}

TEST(Elementwise, AddsViewsOfEitherType) {
  Buffer a(nullptr, MemoryKind::kGradients, DType::kFloat64, 5);
  Buffer b(nullptr, MemoryKind::kGradients, DType::kFloat64, 5);
  for (int i = 0; i < 5; ++i) {
    a.as<double>()[static_cast<std::size_t>(i)] = i;
    b.as<double>()[static_cast<std::size_t>(i)] = 10;
  }
  add_in_place(BufferView(a).subview(1, 3), BufferView(b).subview(0, 3));
  EXPECT_EQ(a.as<double>()[0], 0);
  EXPECT_EQ(a.as<double>()[3], 13);
  EXPECT_EQ(a.as<double>()[4], 4);
  std::vector<float> c = {1, 2};
  add_in_place(BufferView(std::span(c)), BufferView(std::span(c)));
  EXPECT_EQ(c[1], 4);
  add_in_place(BufferView(), BufferView());
  EXPECT_DEATH(add_in_place(BufferView(a), BufferView(std::span(c))), "dtype");
}

}  // namespace
}  // namespace rehearse
