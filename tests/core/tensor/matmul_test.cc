#include "core/tensor/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"

namespace rehearse {
namespace {

template <class T>
std::vector<T> random_values(std::int64_t n, std::uint64_t seed) {
  RandomStream stream(seed);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& v : values) v = static_cast<T>(stream.uniform() - 0.5);
  return values;
}

// What matmul.h promises, as a plain loop.
template <class T>
T element(const ConstMatrix<T>& a, const ConstMatrix<T>& b, std::int64_t i, std::int64_t j, std::int64_t k,
          const T* bias, const T* residual) {
  T result = 0;
  for (std::int64_t block = 0; block < k; block += kMatmulDepth) {
    T chain = 0;
    for (std::int64_t p = block; p < std::min(k, block + kMatmulDepth); ++p) {
      chain = std::fma(a.data[i * a.row_stride + p * a.column_stride], b.data[p * b.row_stride + j * b.column_stride],
                       chain);
    }
    if (block == 0) {
      if (bias != nullptr) chain = chain + *bias;
      result = residual != nullptr ? *residual + chain : chain;
    } else {
      result = result + chain;
    }
  }
  return result;
}

template <class T>
void expect_bits(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed, bool bias,
                 bool residual) {
  SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k << (a_transposed ? " A^T" : "")
                                    << (b_transposed ? " B^T" : ""));
  const auto a_values = random_values<T>(m * k, 1);
  const auto b_values = random_values<T>(k * n, 2);
  const auto bias_values = random_values<T>(n, 3);
  const auto old = random_values<T>(m * n, 4);
  const ConstMatrix<T> a = a_transposed ? ConstMatrix<T>{a_values.data(), 1, m} : ConstMatrix<T>{a_values.data(), k, 1};
  const ConstMatrix<T> b = b_transposed ? ConstMatrix<T>{b_values.data(), 1, k} : ConstMatrix<T>{b_values.data(), n, 1};
  std::vector<T> scratch(static_cast<std::size_t>(matmul_scratch(m, n, k)));
  auto c = old;
  MatmulTerms<T> terms;
  if (bias) terms.bias = bias_values.data();
  if (residual) terms.residual = {c.data(), n, 1};
  matmul<T>(m, n, k, a, b, {c.data(), n}, terms, scratch);
  // All elements of small products, some of large ones.
  const std::int64_t stride = std::max<std::int64_t>(1, m * n / 2000);
  for (std::int64_t at = 0; at < m * n; at += stride) {
    const std::int64_t i = at / n;
    const std::int64_t j = at % n;
    const T expected = element<T>(a, b, i, j, k, bias ? &bias_values[static_cast<std::size_t>(j)] : nullptr,
                                  residual ? &old[static_cast<std::size_t>(at)] : nullptr);
    ASSERT_EQ(c[static_cast<std::size_t>(at)], expected) << i << ", " << j;
  }
}

template <class T>
class MatmulTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MatmulTest, Types);

TYPED_TEST(MatmulTest, EverySmallShapeIsTheChainOfMultiplyAdds) {
  for (std::int64_t m = 1; m <= 14; ++m) {
    for (std::int64_t n = 1; n <= 35; ++n) {
      for (const std::int64_t k : {1, 7, 8, 20}) {
        expect_bits<TypeParam>(m, n, k, (m + n) % 2 == 0, n % 3 == 0, m % 3 == 0, n % 5 == 0);
      }
    }
  }
}

TYPED_TEST(MatmulTest, LargeShapesAreTheChainOfMultiplyAddsOnEveryPath) {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      expect_bits<TypeParam>(64, 96, 32, a_transposed, b_transposed, true, false);
      expect_bits<TypeParam>(97, 50, 384, a_transposed, b_transposed, false, true);
      expect_bits<TypeParam>(200, 530, 385, a_transposed, b_transposed, true, true);
      expect_bits<TypeParam>(33, 17, 1000, a_transposed, b_transposed, false, false);
    }
  }
}

TYPED_TEST(MatmulTest, RowsOutsideTheMatrixAreNotTouched) {
  using T = TypeParam;
  const auto a = random_values<T>(5 * 9, 1);
  const auto b = random_values<T>(9 * 5, 2);
  std::vector<T> scratch(static_cast<std::size_t>(matmul_scratch(5, 5, 9)));
  std::vector<T> c(5 * 8, T{7});  // rows of 8, of which 5 are the matrix
  matmul<T>(5, 5, 9, {a.data(), 9, 1}, {b.data(), 5, 1}, {c.data(), 8}, {}, scratch);
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (i % 8 >= 5) {
      EXPECT_EQ(c[i], T{7}) << i;
    }
  }
}

}  // namespace
}  // namespace rehearse
