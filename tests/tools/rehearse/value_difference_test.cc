#include "tools/rehearse/value_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace rehearse {
namespace {

template <class T>
std::optional<ValueDifference> difference_of(const std::vector<T>& a, const std::vector<T>& b) {
  return first_value_difference(dtype_of<T>, std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

template <class T>
std::string distance_of(T a, T b) {
  const auto difference = difference_of<T>({a}, {b});
  return difference ? difference->distance : "equal";
}

constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(ValueDifference, EqualBitsAreNone) {
  EXPECT_FALSE(difference_of<float>({}, {}).has_value());
  EXPECT_FALSE(difference_of<float>({1, -2, 0}, {1, -2, 0}).has_value());
  EXPECT_FALSE(difference_of<double>({kNaN, kInfinity}, {kNaN, kInfinity}).has_value());
  EXPECT_FALSE(difference_of<std::int32_t>({-1}, {-1}).has_value());
}

TEST(ValueDifference, IsTheFirstAndCountsTheOthers) {
  const auto difference = difference_of<float>({1, 2, 3, 4}, {1, 2.5, 3, -4});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->index, 1);
  EXPECT_EQ(difference->differing, 2);
  EXPECT_EQ(difference->a, "2 (0x40000000)");
  EXPECT_EQ(difference->b, "2.5 (0x40200000)");
}

TEST(ValueDifference, NeighboursAreOneUnitApart) {
  for (const float value : {1.0F, 0.1F, -3.5F, 1e-40F, 1e38F, -kDenormal}) {
    EXPECT_EQ(distance_of(value, std::nextafter(value, kInfinity)), "1 unit in the last place") << value;
    EXPECT_EQ(distance_of(std::nextafter(value, kInfinity), value), "1 unit in the last place") << value;
  }
  EXPECT_EQ(distance_of(1.0, std::nextafter(1.0, 0.0)), "1 unit in the last place");
}

TEST(ValueDifference, AcrossZeroEveryValueCounts) {
  EXPECT_EQ(distance_of(-0.0F, 0.0F), "1 unit in the last place");
  EXPECT_EQ(distance_of(kDenormal, 0.0F), "1 unit in the last place");
  EXPECT_EQ(distance_of(-kDenormal, kDenormal), "3 units in the last place");
  EXPECT_EQ(distance_of(-2 * kDenormal, -0.0F), "2 units in the last place");
  EXPECT_EQ(distance_of(-0.0, 0.0), "1 unit in the last place");
}

TEST(ValueDifference, TheLargestNumbersAreInRange) {
  EXPECT_EQ(distance_of(kMax, kInfinity), "1 unit in the last place");
  // Twice the bits of the maximum, 0x7f7fffff, and one for the two zeros.
  EXPECT_EQ(distance_of(-kMax, kMax), std::to_string(2 * std::uint64_t{0x7f7fffff} + 1) + " units in the last place");
  EXPECT_EQ(distance_of(-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()),
            std::to_string(2 * std::uint64_t{0x7fefffffffffffff} + 1) + " units in the last place");
  EXPECT_EQ(distance_of(1.0F, 2.0F), std::to_string(1 << 23) + " units in the last place");
}

TEST(ValueDifference, OfNaNsHasNoDistance) {
  EXPECT_EQ(distance_of(kNaN, 1.0F), "");
  EXPECT_EQ(distance_of(1.0F, kNaN), "");
  const auto signs = difference_of<float>({kNaN}, {-kNaN});
  ASSERT_TRUE(signs.has_value());
  EXPECT_EQ(signs->distance, "");
  EXPECT_NE(signs->a, signs->b);
}

TEST(ValueDifference, OfIntegersHasNoDistance) {
  const auto difference = difference_of<std::int32_t>({7, -1}, {7, 1});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->index, 1);
  EXPECT_EQ(difference->a, "-1 (0xffffffff)");
  EXPECT_EQ(difference->b, "1 (0x00000001)");
  EXPECT_EQ(difference->distance, "");
}

TEST(ValueDifference, OfDoublesShowsAllBits) {
  const auto difference = difference_of<double>({1}, {std::nextafter(1.0, 2.0)});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->a, "1 (0x3ff0000000000000)");
  EXPECT_EQ(difference->b, "1.0000000000000002 (0x3ff0000000000001)");
}

TEST(IndexText, IsRowMajor) {
  const auto text = [](std::int64_t index, const std::vector<std::int64_t>& shape) { return index_text(index, shape); };
  EXPECT_EQ(text(0, {}), "[]");
  EXPECT_EQ(text(5, {6}), "[5]");
  EXPECT_EQ(text(0, {4, 3}), "[0, 0]");
  EXPECT_EQ(text(5, {4, 3}), "[1, 2]");
  EXPECT_EQ(text(23, {2, 3, 4}), "[1, 2, 3]");
  EXPECT_EQ(text(4, {5, 1}), "[4, 0]");
}

}  // namespace
}  // namespace rehearse
