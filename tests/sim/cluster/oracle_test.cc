// The one-process trainer of tests/reference is an independent oracle: it shares kernels and model with the simulated
// job, not its data flow. Losses, norms and weights of any layout agree within float32 rounding.

#include <gtest/gtest.h>

#include <cmath>

#include "core/checkpoint/names.h"
#include "core/formats/safetensors.h"
#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"
#include "tests/sim/cluster/oracle.h"

namespace rehearse {
namespace {

struct Layout {
  const char* name;
  std::vector<std::string> overrides;
};

class Oracle : public testing::TestWithParam<Layout> {};

TEST_P(Oracle, AgreesWithTheSimulatedJob) {
  LoadOptions options;
  options.overrides = GetParam().overrides;
  options.overrides.emplace_back("train.steps=12");
  options.overrides.emplace_back("checkpoint.every_steps=12");
  options.overrides.emplace_back("expect.resume_from=12");
  Scenario scenario = load_scenario(std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto", options);
  const TrainingRecord record = run_training(scenario);
  const reference::Result<float> expected = oracle(scenario);
  ASSERT_EQ(record.steps.size(), expected.steps.size());
  for (std::size_t i = 0; i < expected.steps.size(); ++i) {
    // The data README's tolerances between float32 runs: sums in another order.
    EXPECT_NEAR(record.steps[i].report.loss, expected.steps[i].loss, 5e-6) << i + 1;
    EXPECT_NEAR(record.steps[i].report.grad_norm, expected.steps[i].grad_norm, 1e-5 * expected.steps[i].grad_norm)
        << i + 1;
    EXPECT_NEAR(record.steps[i].param_norm, expected.steps[i].param_norm, 1e-6 * expected.steps[i].param_norm) << i + 1;
    // The oracle takes its cosine from libm, the job from core/base/math.h.
    EXPECT_NEAR(record.steps[i].report.lr, expected.steps[i].lr, 1e-14 * expected.steps[i].lr);
  }
  ASSERT_EQ(record.checkpoints.size(), 1U);
  const FileData& model = record.checkpoints[0].files.at(kModelFile);
  const SafetensorsFile file = SafetensorsFile::parse(model.bytes(), kModelFile);
  double difference = 0;
  double norm = 0;
  std::size_t offset = 0;
  for (const TensorView& tensor : file.tensors()) {
    const auto* values = reinterpret_cast<const float*>(tensor.data.data());
    for (std::size_t i = 0; i < tensor.data.size() / sizeof(float); ++i, ++offset) {
      const double d = static_cast<double>(values[i]) - expected.final_params[offset];
      difference += d * d;
      norm += static_cast<double>(values[i]) * values[i];
    }
  }
  ASSERT_EQ(offset, expected.final_params.size());
  EXPECT_LE(std::sqrt(difference / norm), 5e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Oracle,
    testing::Values(Layout{"capstone", {}}, Layout{"ddp", {"train.zero_stage=0"}},
                    Layout{"one_rank", {"cluster.ranks=1"}},
                    Layout{"two_ranks_accumulate", {"cluster.ranks=2", "train.accumulate=4"}},
                    Layout{"five_ranks_buckets", {"cluster.ranks=5", "train.bucket=10KB"}},
                    Layout{"seven_ranks_odd_sizes",
                           {"cluster.ranks=7", "model.embed=30", "model.heads=5", "model.vocab=61", "model.context=13",
                            "train.batch=3"}},
                    Layout{"all_options",
                           {"train.clip_norm=0.25", "train.adam.weight_decay=0.1", "train.adam.decay=MATRICES",
                            "train.schedule.warmup_steps=4", "train.schedule.cosine=true", "train.bucket=20KB"}},
                    Layout{"sixteen_ranks", {"cluster.ranks=16", "train.batch=1"}},
                    Layout{"one_layer_one_head", {"model.layers=1", "model.heads=1", "model.embed=7"}}),
    [](const testing::TestParamInfo<Layout>& info) { return info.param.name; });

}  // namespace
}  // namespace rehearse
