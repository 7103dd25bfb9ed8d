#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "core/base/random.h"
#include "core/tensor/attention.h"
#include "core/tensor/cross_entropy.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/embedding.h"
#include "core/tensor/gelu.h"
#include "core/tensor/layernorm.h"

// Backward passes against central differences of the forward passes, element by element, in double. Each loss is a
// fixed random weighting of the outputs.

namespace rehearse {
namespace {

using Values = std::vector<double>;

Values random_values(std::size_t n, std::uint64_t seed) {
  RandomStream stream(seed);
  Values values(n);
  for (double& v : values) v = 2 * stream.uniform() - 1;
  return values;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// d loss / d x, element by element.
void expect_gradient(Values& x, const Values& gradient, const std::function<double()>& loss, const char* what) {
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double old = x[i];
    x[i] = old + kStep;
    const double above = loss();
    x[i] = old - kStep;
    const double below = loss();
    x[i] = old;
    ASSERT_NEAR((above - below) / (2 * kStep), gradient[i], 2e-9) << what << "[" << i << "]";
  }
}

TEST(Gradients, LayerNorm) {
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kWidth = 11;
  Values x = random_values(kRows * kWidth, 1);
  Values weight = random_values(kWidth, 2);
  Values bias = random_values(kWidth, 3);
  const Values dy = random_values(kRows * kWidth, 4);
  Values mean(kRows);
  Values rstd(kRows);
  const auto loss = [&] {
    Values y(kRows * kWidth);
    layernorm_forward<double>(kRows, kWidth, x.data(), weight.data(), bias.data(), y.data(), mean.data(), rstd.data());
    return dot(y, dy);
  };
  loss();
  Values dx(x.size());
  Values dweight(kWidth);
  Values dbias(kWidth);
  layernorm_backward<double>(kRows, kWidth, dy.data(), x.data(), weight.data(), mean.data(), rstd.data(), dx.data(),
                             dweight.data(), dbias.data());
  expect_gradient(x, dx, loss, "dx");
  expect_gradient(weight, dweight, loss, "dweight");
  expect_gradient(bias, dbias, loss, "dbias");
}

TEST(Gradients, Gelu) {
  Values x = random_values(13, 1);
  for (double& v : x) v *= 4;
  const Values dy = random_values(13, 2);
  Values slope(13);
  const auto loss = [&] {
    Values y(13);
    gelu_forward<double>(13, x.data(), y.data(), slope.data());
    return dot(y, dy);
  };
  loss();
  Values dx = dy;
  multiply_in_place<double>(13, dx.data(), slope.data());
  expect_gradient(x, dx, loss, "dx");
}

TEST(Gradients, AttentionOverOneAndSeveralBlocksOfQueries) {
  for (const AttentionShape shape : {AttentionShape{2, 3, 7, 5}, AttentionShape{1, 1, 101, 3}}) {
    const auto out_count = static_cast<std::size_t>(shape.batch * shape.positions * shape.heads * shape.head_dim);
    Values qkv = random_values(3 * out_count, 1);
    const Values dout = random_values(out_count, 2);
    Values probs(static_cast<std::size_t>(shape.batch * shape.heads * shape.positions * shape.positions));
    Values scratch(static_cast<std::size_t>(attention_scratch(shape)));
    const auto loss = [&] {
      Values out(out_count);
      attention_forward<double>(shape, qkv.data(), probs.data(), out.data(), scratch);
      return dot(out, dout);
    };
    loss();
    Values dqkv(qkv.size(), 99);
    attention_backward<double>(shape, qkv.data(), probs.data(), dout.data(), dqkv.data(), scratch);
    expect_gradient(qkv, dqkv, loss, "dqkv");
  }
}

TEST(Gradients, CrossEntropy) {
  Values logits = random_values(2 * 9, 1);
  const std::vector<std::int32_t> targets = {3, 8};
  const auto loss = [&] {
    Values x = logits;
    return 0.25 * cross_entropy_forward<double>(2, 9, x.data(), targets.data());
  };
  Values gradient = logits;
  cross_entropy_forward<double>(2, 9, gradient.data(), targets.data());
  cross_entropy_backward<double>(2, 9, 0.25, gradient.data(), targets.data());
  expect_gradient(logits, gradient, loss, "dlogits");
}

TEST(Gradients, EmbeddingWithRepeatedTokens) {
  const std::vector<std::int32_t> tokens = {1, 3, 1, 0, 2, 2, 1, 0};  // 2 sequences of 3 at stride 4
  Values token_table = random_values(4 * 5, 1);
  Values position_table = random_values(3 * 5, 2);
  const Values dout = random_values(2 * 3 * 5, 3);
  const auto loss = [&] {
    Values out(dout.size());
    embedding_forward<double>(2, 3, 5, {tokens.data(), 4}, token_table.data(), position_table.data(), out.data());
    return dot(out, dout);
  };
  Values dtoken(token_table.size());
  Values dposition(position_table.size());
  embedding_backward<double>(2, 3, 5, {tokens.data(), 4}, dout.data(), dtoken.data(), dposition.data());
  expect_gradient(token_table, dtoken, loss, "dtoken");
  expect_gradient(position_table, dposition, loss, "dposition");
}

}  // namespace
}  // namespace rehearse
