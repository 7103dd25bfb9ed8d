#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/random.h"
#include "core/tensor/attention.h"
#include "core/tensor/cross_entropy.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/embedding.h"
#include "core/tensor/gelu.h"
#include "core/tensor/layernorm.h"
#include "core/tensor/matmul.h"
#include "core/tensor/reduce.h"

// Every kernel gives the same bits at every 4-byte (8-byte for double) offset of its arrays within 64 bytes, and the
// bits pinned here in every build: release, debug, sanitizers, gcc and clang.

namespace rehearse {
namespace {

// Arrays at a chosen offset from a 64-byte boundary, filled from a seed; digests what is in them.
template <class T>
class Arena {
 public:
  explicit Arena(std::size_t offset) : offset_(offset) {}

  T* make(std::int64_t n, std::uint64_t seed) {
    storage_.emplace_back(static_cast<std::size_t>(n) + 64);
    auto& storage = storage_.back();
    const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
    T* const array = storage.data() + ((64 - address % 64) % 64) / sizeof(T) + offset_;
    RandomStream stream(seed);
    for (std::int64_t i = 0; i < n; ++i) array[i] = static_cast<T>(2 * stream.uniform() - 1);
    outputs_.push_back({array, n});
    return array;
  }
  std::span<T> scratch(std::int64_t n) {
    T* const array = make(n, 0);
    outputs_.pop_back();
    return {array, static_cast<std::size_t>(n)};
  }

  std::string digest() const {
    Sha256 sha;
    for (const auto& [array, n] : outputs_) {
      sha.update(std::as_bytes(std::span(array, static_cast<std::size_t>(n))));
    }
    return sha.finish_hex().substr(0, 16);
  }

 private:
  struct Output {
    T* array;
    std::int64_t n;
  };
  std::size_t offset_;
  std::vector<std::vector<T>> storage_;
  std::vector<Output> outputs_;
};

// Every array is made in a statement of its own: compilers differ in the order of a call's arguments.
template <class T>
void run_products(Arena<T>& arena) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{13, 37, 29}, {64, 96, 32}, {100, 200, 500}}) {
    const T* a = arena.make(m * k, 1);
    const T* b = arena.make(k * n, 2);
    const T* bias = arena.make(n, 4);
    T* plain = arena.make(m * n, 3);
    T* linear = arena.make(m * n, 3);
    T* added = arena.make(m * n, 3);
    const auto scratch = arena.scratch(matmul_scratch(m, n, k));
    matmul<T>(m, n, k, {a, k, 1}, {b, n, 1}, {plain, n}, {}, scratch);
    matmul<T>(m, n, k, {a, k, 1}, {b, 1, k}, {linear, n}, {bias, {}}, scratch);
    matmul_add<T>(m, n, k, {a, 1, m}, {b, n, 1}, {added, n}, scratch);
  }
}

template <class T>
void run_layernorm(Arena<T>& arena) {
  const T* x = arena.make(5 * 37, 1);
  const T* weight = arena.make(37, 2);
  const T* bias = arena.make(37, 3);
  const T* dy = arena.make(5 * 37, 4);
  T* y = arena.make(5 * 37, 0);
  T* mean = arena.make(5, 0);
  T* rstd = arena.make(5, 0);
  T* dx = arena.make(5 * 37, 5);
  T* dweight = arena.make(37, 6);
  T* dbias = arena.make(37, 7);
  layernorm_forward<T>(5, 37, x, weight, bias, y, mean, rstd);
  layernorm_backward<T>(5, 37, dy, x, weight, mean, rstd, dx, dweight, dbias);
}

template <class T>
void run_attention(Arena<T>& arena) {
  const AttentionShape shape{2, 3, 53, 7};
  const std::int64_t out_count = shape.batch * shape.heads * shape.positions * shape.head_dim;
  const T* qkv = arena.make(3 * out_count, 1);
  const T* dout = arena.make(out_count, 2);
  T* probs = arena.make(shape.batch * shape.heads * shape.positions * shape.positions, 0);
  T* out = arena.make(out_count, 0);
  T* dqkv = arena.make(3 * out_count, 0);
  const auto scratch = arena.scratch(attention_scratch(shape));
  attention_forward<T>(shape, qkv, probs, out, scratch);
  attention_backward<T>(shape, qkv, probs, dout, dqkv, scratch);
}

template <class T>
void run_the_rest(Arena<T>& arena) {
  T* x = arena.make(1003, 1);
  T* y = arena.make(1003, 0);
  const T* other = arena.make(1003, 4);
  T* columns = arena.make(59, 3);
  scale_in_place<T>(1003, x, T{9});
  gelu_forward<T>(1003, x, y, x);
  T* logits = arena.make(7 * 51, 2);
  T* results = arena.make(2, 0);
  const std::vector<std::int32_t> targets = {1, 50, 0, 3, 3, 7, 49};
  results[0] = static_cast<T>(cross_entropy_forward<T>(7, 51, logits, targets.data()));
  cross_entropy_backward<T>(7, 51, T{0.125}, logits, targets.data());
  results[1] = static_cast<T>(sum_of_squares<T>(1003, x));
  add_column_sums<T>(17, 59, x, columns);
  axpy<T>(1003, static_cast<T>(0.3), other, x);
  divide_in_place<T>(1003, x, T{3});
  const std::vector<std::int32_t> tokens = {1, 3, 1, 0, 2, 2};
  T* token_table = arena.make(4 * 21, 5);
  T* position_table = arena.make(3 * 21, 6);
  T* embedded = arena.make(6 * 21, 0);
  embedding_forward<T>(2, 3, 21, {tokens.data(), 3}, token_table, position_table, embedded);
  embedding_backward<T>(2, 3, 21, {tokens.data(), 3}, static_cast<const T*>(embedded), token_table, position_table);
}

template <class T>
void expect_pinned(const std::function<void(Arena<T>&)>& run, const std::string& pinned) {
  for (std::size_t offset = 0; offset < 64 / sizeof(T); ++offset) {
    Arena<T> arena(offset);
    run(arena);
    ASSERT_EQ(arena.digest(), pinned) << "at an offset of " << offset << " elements";
  }
}

TEST(Bits, Products) {
  expect_pinned<float>(run_products<float>, "5ec304afaa0994a2");
  expect_pinned<double>(run_products<double>, "3092804dde0aee94");
}

TEST(Bits, LayerNorm) {
  expect_pinned<float>(run_layernorm<float>, "d62e32c621ba2a1a");
  expect_pinned<double>(run_layernorm<double>, "ba7e947ba148394b");
}

TEST(Bits, Attention) {
  expect_pinned<float>(run_attention<float>, "bc3282b276bd3ae8");
  expect_pinned<double>(run_attention<double>, "6650909caa68f5e9");
}

TEST(Bits, EverythingElse) {
  expect_pinned<float>(run_the_rest<float>, "46fa246bf34e88fd");
  expect_pinned<double>(run_the_rest<double>, "1fc053b181ee6ee9");
}

// A kernel of single elements on parts of an array, cut anywhere, as on the whole.
template <class T>
void expect_cut_anywhere(const char* name, const std::function<void(std::int64_t, T*, T*)>& kernel) {
  constexpr std::int64_t kCount = 67;
  const auto run = [&](std::int64_t cut) {
    Arena<T> arena(0);
    T* x = arena.make(kCount, 1);
    T* y = arena.make(kCount, 2);
    kernel(cut, x, y);
    kernel(kCount - cut, x + cut, y + cut);
    return arena.digest();
  };
  const std::string whole = run(0);
  for (std::int64_t cut = 1; cut <= kCount; ++cut) ASSERT_EQ(run(cut), whole) << name << " cut at " << cut;
}

template <class T>
void expect_all_cut_anywhere() {
  expect_cut_anywhere<T>("add_in_place", [](std::int64_t n, T* x, T* y) { add_in_place<T>(n, x, y); });
  expect_cut_anywhere<T>("scale_in_place", [](std::int64_t n, T* x, T*) { scale_in_place<T>(n, x, T{0.3F}); });
  expect_cut_anywhere<T>("divide_in_place", [](std::int64_t n, T* x, T*) { divide_in_place<T>(n, x, T{7}); });
  expect_cut_anywhere<T>("multiply_in_place", [](std::int64_t n, T* x, T* y) { multiply_in_place<T>(n, x, y); });
  expect_cut_anywhere<T>("axpy", [](std::int64_t n, T* x, T* y) { axpy<T>(n, T{0.3F}, x, y); });
  expect_cut_anywhere<T>("gelu_forward", [](std::int64_t n, T* x, T* y) { gelu_forward<T>(n, x, y, x); });
}

TEST(Bits, ElementwiseKernelsGiveAShardWhatTheyGiveTheWhole) {
  expect_all_cut_anywhere<float>();
  expect_all_cut_anywhere<double>();
}

}  // namespace
}  // namespace rehearse
