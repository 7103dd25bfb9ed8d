#include "core/comm/reduce.h"

#include <gtest/gtest.h>

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

TYPED_TEST(ReduceTest, PassesOnSizesAloneWithoutStorage) {
  PayloadPool pool(nullptr);
  BufferView own;
  own.count = 7;
  own.dtype = dtype_of<TypeParam>;
  const Payload received = Payload::shape_only(own.bytes());
  reduce_add(own, received);
  copy_elements(own, received);
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
}

TEST(ReduceDeathTest, IntegersAreNotSummed) {
  std::vector<std::int32_t> own(3);
  PayloadPool pool(nullptr);
  const Payload received = pool.copy_of("twelve bytes");
  EXPECT_DEATH(reduce_add(BufferView(std::span(own)), received), "F32 or F64, found I32");
}

}  // namespace
}  // namespace rehearse
