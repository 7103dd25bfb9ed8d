#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "core/model/layout.h"
#include "tests/reference/golden.h"
#include "tests/reference/trainer.h"

// The kernels and the model, driven by the plain trainer of tests/reference, against PyTorch's float64 numbers. The
// float tolerances are those of tests/data/reference/README.md.

namespace rehearse {
namespace {

using reference::Golden;
using reference::GoldenVariant;
using reference::Step;

constexpr const char* kData = REHEARSE_SOURCE_DIR "/tests/data/reference";

struct Tolerance {
  double loss;
  double grad_norm;   // relative
  double param_norm;  // relative
};

class GoldenTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    golden_ = reference::load_golden(kData, std::get<0>(GetParam()));
    variant_ = reference::load_variant(golden_, std::get<1>(GetParam()));
  }

  template <class T>
  reference::Result<T> train() const {
    return reference::train<T>(golden_.config, std::vector<T>(golden_.init.begin(), golden_.init.end()), golden_.tokens,
                               variant_.options);
  }

  void expect_close(const std::vector<Step>& found, std::size_t step, const Tolerance& tolerance) const {
    const Step& a = found[step];
    const Step& b = variant_.steps[step];
    EXPECT_NEAR(a.loss, b.loss, tolerance.loss) << "step " << step + 1;
    for (std::size_t r = 0; r < b.rank_losses.size(); ++r) {
      EXPECT_NEAR(a.rank_losses[r], b.rank_losses[r], tolerance.loss) << "step " << step + 1 << " rank " << r;
    }
    EXPECT_NEAR(a.grad_norm / b.grad_norm, 1, tolerance.grad_norm) << "step " << step + 1;
    EXPECT_NEAR(a.param_norm / b.param_norm, 1, tolerance.param_norm) << "step " << step + 1;
    EXPECT_NEAR(a.lr, b.lr, 1e-15) << "step " << step + 1;
  }

  Golden golden_;
  GoldenVariant variant_;
};

TEST_P(GoldenTest, FloatIsWithinTheStatedTolerances) {
  const auto result = train<float>();
  ASSERT_EQ(result.steps.size(), variant_.steps.size());
  const double param_norm = variant_.options.weight_decay > 0 ? 1e-6 : 1e-7;
  // The spiked update itself moves every weight by 1000 times as much, and so its rounding in the norm after it.
  const std::int64_t spike = variant_.options.spike_step;
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i) + 1;
    if (spike > 0 && step > spike) {
      EXPECT_NEAR(result.steps[i].loss, variant_.steps[i].loss, 1e-2) << "step " << step;
    } else {
      const Tolerance tolerance{step == 1 ? 1e-6 : 5e-6, step == 1 ? 1e-6 : 2e-6, step == spike ? 1e-6 : param_norm};
      expect_close(result.steps, i, tolerance);
    }
  }
}

TEST_P(GoldenTest, DoubleIsWithin1e9) {
  const auto result = train<double>();
  ASSERT_EQ(result.steps.size(), variant_.steps.size());
  for (std::size_t step = 0; step < result.steps.size(); ++step) expect_close(result.steps, step, {1e-9, 1e-9, 1e-9});
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest,
                         ::testing::Combine(::testing::ValuesIn(reference::kGoldenNames),
                                            ::testing::ValuesIn(reference::kGoldenVariants)),
                         [](const auto& info) {
                           const std::string variant = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param)) + "_" + (variant.empty() ? "plain" : variant);
                         });

class GoldenWeightsTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Gradients tensor by tensor, then whole vectors.
  template <class T>
  void expect_close(double gradient, double first, double last, double first_most, double last_most) {
    const Golden golden = reference::load_golden(kData, GetParam());
    const auto result = reference::train<T>(golden.config, std::vector<T>(golden.init.begin(), golden.init.end()),
                                            golden.tokens, reference::load_variant(golden, "").options);
    const ParameterLayout layout(golden.config);
    for (const ParameterInfo& info : layout.tensors()) {
      const auto cut = [&info](const auto& flat) {
        return std::vector(flat.begin() + info.offset, flat.begin() + info.offset + info.numel);
      };
      EXPECT_LE(reference::relative_l2(cut(result.first_gradient), cut(golden.first_gradient)), gradient) << info.name;
    }
    EXPECT_LE(reference::relative_l2(result.first_params, golden.first_params), first);
    EXPECT_LE(reference::relative_l2(result.final_params, golden.final_params), last);
    EXPECT_LE(reference::largest_difference(result.first_params, golden.first_params), first_most);
    EXPECT_LE(reference::largest_difference(result.final_params, golden.final_params), last_most);
  }
};

TEST_P(GoldenWeightsTest, FloatIsWithinTheStatedTolerances) { expect_close<float>(2e-6, 1e-6, 5e-6, 2e-4, 5e-4); }

TEST_P(GoldenWeightsTest, DoubleIsWithin1e9) { expect_close<double>(1e-9, 1e-9, 1e-9, 1e-9, 1e-9); }

INSTANTIATE_TEST_SUITE_P(All, GoldenWeightsTest, ::testing::ValuesIn(reference::kGoldenNames));

}  // namespace
}  // namespace rehearse
