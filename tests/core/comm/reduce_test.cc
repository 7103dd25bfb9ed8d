#include "core/comm/reduce.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/comm/oracle.h"

namespace rehearse {
namespace {

template <class T>
std::vector<T> elements(const Payload& payload) {
  const std::span<const T> all = payload.as<T>();
  return std::vector<T>(all.begin(), all.end());
}

template <class T>
class ReduceTest : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(ReduceTest, Elements);

TYPED_TEST(ReduceTest, AddsElementByElementWhateverTheLength) {
  for (std::int64_t count = 0; count < 40; ++count) {
    PerRank<TypeParam> x = uneven_values<TypeParam>(3, 2, count);
    std::vector<TypeParam> expected;
    for (std::size_t i = 0; i < x[0].size(); ++i) expected.push_back(x[0][i] + x[1][i]);
    PayloadPool pool(nullptr);
    const BufferView own{std::span(x[1])};
    const Payload received = pool.copy_of(std::as_bytes(std::span(x[0])));
    EXPECT_TRUE(same_bits(elements<TypeParam>(reduced(pool, received, own)), expected)) << count;
    reduce_add(own, received);
    EXPECT_TRUE(same_bits(x[1], expected)) << count;
    EXPECT_TRUE(same_bits(elements<TypeParam>(received), x[0])) << count;
  }
}

TYPED_TEST(ReduceTest, AddsInAnOrderWhateverTheLength) {
  for (std::int64_t count = 0; count < 40; ++count) {
    const PerRank<TypeParam> x = uneven_values<TypeParam>(4, 2, count);
    std::vector<TypeParam> expected;
    for (std::size_t i = 0; i < x[0].size(); ++i) expected.push_back(x[0][i] + x[1][i]);
    PayloadPool pool(nullptr);
    const Payload received = pool.copy_of(std::as_bytes(std::span(x[0])));
    for (const First first : {First::kOwn, First::kReceived}) {
      std::vector<TypeParam> own = x[1];
      reduce_add_in_order(BufferView(std::span(own)), received, first);
      EXPECT_TRUE(same_bits(own, expected)) << count;
    }
  }
}

// Both ranks of an exchange add the same two buffers: they must get the same of two NaNs, at each place of a vector.
TYPED_TEST(ReduceTest, TwoRanksThatNameTheSameFirstGetTheSameNaN) {
  for (std::int64_t count = 0; count < 40; ++count) {
    const std::vector<TypeParam> a(static_cast<std::size_t>(count), std::numeric_limits<TypeParam>::quiet_NaN());
    const std::vector<TypeParam> b(static_cast<std::size_t>(count), -std::numeric_limits<TypeParam>::quiet_NaN());
    PayloadPool pool(nullptr);
    std::vector<TypeParam> on_lower = a;
    std::vector<TypeParam> on_upper = b;
    reduce_add_in_order(BufferView(std::span(on_lower)), pool.copy_of(std::as_bytes(std::span(b))), First::kOwn);
    reduce_add_in_order(BufferView(std::span(on_upper)), pool.copy_of(std::as_bytes(std::span(a))), First::kReceived);
    EXPECT_TRUE(same_bits(on_lower, on_upper)) << count;
    EXPECT_FALSE(same_bits(a, b) && count > 0);
  }
}

TYPED_TEST(ReduceTest, CopiesAView) {
  PerRank<TypeParam> x = uneven_values<TypeParam>(5, 2, 9);
  copy_view(BufferView(std::span(x[0])), BufferView(std::span(x[1])));
  EXPECT_TRUE(same_bits(x[0], x[1]));
  copy_view(BufferView(std::span(x[0])), BufferView(std::span(x[0])));
  EXPECT_TRUE(same_bits(x[0], x[1]));
}

TYPED_TEST(ReduceTest, PassesOnSizesAloneWithoutStorage) {
  PayloadPool pool(nullptr);
  BufferView own;
  own.count = 7;
  own.dtype = dtype_of<TypeParam>;
  const Payload received = Payload::shape_only(own.bytes());
  reduce_add(own, received);
  reduce_add_in_order(own, received, First::kOwn);
  copy_elements(own, received);
  copy_view(own, own);
  const Payload sum = reduced(pool, received, own);
  EXPECT_EQ(sum.size(), own.bytes());
  EXPECT_FALSE(sum.has_data());
}

TEST(ReduceDeathTest, AMessageOfAnotherSizeEndsTheProcess) {
  std::vector<float> own(4);
  PayloadPool pool(nullptr);
  const Payload received = pool.copy_of("twelve bytes");
  EXPECT_DEATH(reduce_add(BufferView(std::span(own)), received), "12 vs 16");
  EXPECT_DEATH(copy_elements(BufferView(std::span(own)), received), "12 vs 16");
  EXPECT_DEATH(reduce_add_in_order(BufferView(std::span(own)), received, First::kOwn), "12 vs 16");
  EXPECT_DEATH(copy_view(BufferView(std::span(own)), BufferView(std::span(own).first(3))), "4 vs 3");
}

TEST(ReduceDeathTest, IntegersAreNotSummed) {
  std::vector<std::int32_t> own(3);
  PayloadPool pool(nullptr);
  const Payload received = pool.copy_of("twelve bytes");
  EXPECT_DEATH(reduce_add(BufferView(std::span(own)), received), "F32 or F64, found I32");
}

}  // namespace
}  // namespace rehearse
