#include "core/optim/adam.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/optim/clip.h"

namespace rehearse {
namespace {

template <class T>
struct State {
  std::vector<T> p, m, v, g;

  explicit State(std::size_t n) {
    RandomStream stream(1);
    for (auto* x : {&p, &m, &v, &g}) {
      for (std::size_t i = 0; i < n; ++i) x->push_back(static_cast<T>(stream.uniform() - 0.3));
    }
    for (T& x : v) x = std::abs(x);
  }
  void update(const AdamStep& step, std::size_t first, std::size_t count, const std::vector<DecayRange>& decay) {
    adam_update<T>(step, std::span(p).subspan(first, count), std::span(m).subspan(first, count),
                   std::span(v).subspan(first, count), std::span<const T>(g).subspan(first, count), decay);
  }
};

AdamStep step_with(double weight_decay) {
  AdamStep step;
  step.config.weight_decay = weight_decay;
  step.lr = 0.01;
  step.applied_step = 7;
  return step;
}

TEST(Adam, IsTheFormula) {
  State<double> state(1);
  state.p = {2};
  state.m = {0.5};
  state.v = {0.25};
  state.g = {-1};
  state.update(step_with(0.1), 0, 1, {{0, 1, true}});
  const double m = 0.9 * 0.5 - 0.1;
  const double v = 0.999 * 0.25 + 0.001;
  const double m_hat = m / (1 - std::pow(0.9, 7));
  const double v_hat = v / (1 - std::pow(0.999, 7));
  EXPECT_NEAR(state.m[0], m, 1e-16);
  EXPECT_NEAR(state.v[0], v, 1e-16);
  EXPECT_NEAR(state.p[0], 2 * (1 - 0.01 * 0.1) - 0.01 * m_hat / (std::sqrt(v_hat) + 1e-8), 1e-15);
}

template <class T>
void expect_any_cut_gives_equal_bits() {
  constexpr std::size_t kCount = 203;
  const std::vector<DecayRange> decay = {{0, 50, true}, {50, 13, false}, {70, 100, true}};
  State<T> whole(kCount);
  whole.update(step_with(0.1), 0, kCount, decay);
  for (const std::size_t cut : {1UL, 5UL, 8UL, 64UL, 77UL, 202UL}) {
    State<T> parts(kCount);
    for (std::size_t first = 0; first < kCount; first += cut) {
      const std::size_t count = std::min(cut, kCount - first);
      std::vector<DecayRange> local;
      for (const DecayRange& range : decay) {
        const auto begin = std::max(range.offset, static_cast<std::int64_t>(first));
        const auto end = std::min(range.offset + range.count, static_cast<std::int64_t>(first + count));
        if (begin < end) local.push_back({begin - static_cast<std::int64_t>(first), end - begin, range.decays});
      }
      parts.update(step_with(0.1), first, count, local);
    }
    EXPECT_EQ(parts.p, whole.p) << cut;
    EXPECT_EQ(parts.m, whole.m) << cut;
    EXPECT_EQ(parts.v, whole.v) << cut;
  }
}

TEST(Adam, AnyCutIntoShardsGivesEqualBits) {
  expect_any_cut_gives_equal_bits<float>();
  expect_any_cut_gives_equal_bits<double>();
}

TEST(Adam, DecayTouchesItsRangesAlone) {
  State<float> plain(40);
  State<float> decayed(40);
  plain.update(step_with(0), 0, 40, {});
  decayed.update(step_with(0.1), 0, 40, {{3, 5, true}, {10, 4, false}});
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(plain.p[i] == decayed.p[i], !(i >= 3 && i < 8)) << i;
}

TEST(Adam, PaddingOfZerosStaysZero) {
  State<float> state(5);
  for (auto* x : {&state.p, &state.m, &state.v, &state.g}) std::fill(x->begin(), x->end(), 0.0F);
  state.update(step_with(0.1), 0, 5, {{0, 5, true}});
  for (auto* x : {&state.p, &state.m, &state.v}) EXPECT_EQ(*x, std::vector<float>(5));
}

TEST(Power, MatchesRepeatedMultiplication) {
  double product = 1;
  for (int t = 0; t < 2000; ++t) {
    EXPECT_NEAR(power(0.999, t) / product, 1, 1e-13);
    product *= 0.999;
  }
  EXPECT_EQ(power(0, 0), 1);
  EXPECT_EQ(power(0, 3), 0);
  EXPECT_EQ(power(0.9, 1'000'000'000), 0);
}

TEST(ClipFactor, IsPyTorchs) {
  EXPECT_EQ(clip_factor(0.1, 0.25), 1);
  EXPECT_EQ(clip_factor(0, 0.25), 1);
  EXPECT_EQ(clip_factor(2, 0.25), 0.25 / (2 + 1e-6));
  EXPECT_TRUE(std::isnan(clip_factor(std::nan(""), 0.25)));
}

}  // namespace
}  // namespace rehearse
