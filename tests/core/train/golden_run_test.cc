// Simulated ranks train on the golden tokens with every option set, and must give PyTorch's float64 numbers: in double
// within 1e-9, in float within the tolerances that come with the data (tests/data/reference/README.md).

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/train/rank_main.h"
#include "sim/check/parameter_assembly.h"
#include "sim/check/replica_agreement.h"
#include "sim/cluster/recorder.h"
#include "sim/cluster/world.h"
#include "tests/reference/golden.h"

namespace rehearse {
namespace {

using reference::Golden;
using reference::GoldenVariant;

const std::string kData = std::string(REHEARSE_SOURCE_DIR) + "/tests/data/reference";

InputFile input(const std::string& path) {
  const std::vector<std::byte> bytes = reference::read_bytes(path);
  InputFile file;
  file.path = path;
  file.sha256 = sha256_hex(bytes);
  file.contents = std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file;
}

TrainConfig config_of(const Golden& golden, const reference::Options& options, DType dtype, int zero_stage) {
  TrainConfig config;
  config.model = golden.config;
  config.init_file = input(golden.folder + "/init.safetensors");
  config.data = TokensConfig{input(golden.folder + "/tokens.safetensors")};
  config.dtype = dtype;
  config.steps = golden.tokens.steps;
  config.batch = golden.tokens.batch;
  config.accumulate = options.accumulate;
  config.zero_stage = zero_stage;
  if (options.clip_norm > 0) config.clip_norm = options.clip_norm;
  config.adam.lr = options.lr;
  config.adam.beta1 = options.beta1;
  config.adam.beta2 = options.beta2;
  config.adam.eps = options.eps;
  config.adam.weight_decay = options.weight_decay;
  config.adam.decay = options.decay_matrices_only ? Decay::kMatrices : Decay::kAll;
  config.schedule.warmup_steps = options.warmup_steps;
  config.schedule.cosine = options.cosine;
  config.schedule.min_lr = options.min_lr;
  if (options.spike_step > 0) {
    LrSpike spike;
    spike.step = options.spike_step;
    spike.factor = options.spike_factor;
    config.lr_spike = spike;
  }
  return config;
}

// What rank 0 reported, and the parameters that the ranks have together: a rank may have parts of them alone.
class Watcher : public TrainObserver {
 public:
  void set_ranks(std::int64_t ranks) { ranks_ = ranks; }
  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece>) override {
    if (rank == 0) reports.push_back(report);
    if (!complete(parameters, in_step_)) return;
    param_norms.push_back(parameter_norm(parameters_.view()));
    if (report.step == 1) first_params = flat(parameters_.view());
  }
  void on_end(int, const TensorsView& parameters) override {
    if (complete(parameters, ended_)) final_params = flat(parameters_.view());
  }
  static std::vector<double> flat(const TensorsView& view) {
    std::vector<double> values;
    for (int t = 0; t < static_cast<int>(view.tensors.size()); ++t) {
      const std::span<const std::byte> bytes = view.bytes(t);
      if (view.dtype == DType::kFloat64) {
        const auto* data = reinterpret_cast<const double*>(bytes.data());
        values.insert(values.end(), data, data + bytes.size() / sizeof(double));
      } else {
        const auto* data = reinterpret_cast<const float*>(bytes.data());
        values.insert(values.end(), data, data + bytes.size() / sizeof(float));
      }
    }
    return values;
  }

  std::vector<StepReport> reports;
  std::vector<double> param_norms;
  std::vector<double> first_params;
  std::vector<double> final_params;

 private:
  // Whether all ranks have come.
  bool complete(const TensorsView& parameters, std::int64_t& seen) {
    parameters_.add(parameters);
    seen = (seen + 1) % ranks_;
    return seen == 0;
  }
  ParameterAssembly parameters_;
  std::int64_t ranks_ = 1;
  std::int64_t in_step_ = 0;
  std::int64_t ended_ = 0;
};

Task<> program(RankContext& context, const TrainJob& job) {
  const RunResult result = co_await rank_main(context, job);
  EXPECT_EQ(result.step, job.config.steps);
}

void run(const TrainConfig& config, std::int64_t ranks, Watcher& watcher) {
  watcher.set_ranks(ranks);
  ReplicaAgreement agreement(static_cast<int>(ranks));
  ObserverFan fan;
  fan.add(&agreement);
  fan.add(&watcher);
  TrainJob job;
  job.config = config;
  job.observer = &fan;
  const StandardPolicy policy(config.guards, 0, Duration());
  job.policy = &policy;
  WorldConfig world_config;
  world_config.ranks = static_cast<int>(ranks);
  world_config.network.latency = Duration::microseconds(5);
  world_config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
  world_config.device.rate = FlopRate::per_second(1'000'000'000'000);
  World world(world_config);
  world.start_all([&job](RankContext& context) { return program(context, job); });
  ASSERT_EQ(world.run(), RunEnd::kDone);
  for (int rank = 0; rank < world.ranks(); ++rank) ASSERT_EQ(world.state(rank), World::RankState::kEnded);
  EXPECT_EQ(agreement.violations(), std::vector<std::string>());
}

struct Tolerances {
  double loss_first, loss_last;        // absolute
  double norm_first, norm_last;        // relative
  double params_first, params_last;    // relative L2
  double outlier_first, outlier_last;  // largest difference
  double param_norm;                   // relative
};

class GoldenRun : public testing::TestWithParam<std::tuple<const char*, const char*, int>> {
 protected:
  void check(DType dtype, const Tolerances& tolerances) {
    const auto [name, variant_name, zero_stage] = GetParam();
    const Golden golden = reference::load_golden(kData, name);
    const GoldenVariant variant = reference::load_variant(golden, variant_name);
    Watcher watcher;
    run(config_of(golden, variant.options, dtype, zero_stage), golden.tokens.ranks, watcher);
    ASSERT_EQ(watcher.reports.size(), variant.steps.size());
    const bool spiked = variant.options.spike_step > 0;
    for (std::size_t i = 0; i < variant.steps.size(); ++i) {
      const reference::Step& golden_step = variant.steps[i];
      const StepReport& report = watcher.reports[i];
      SCOPED_TRACE("step " + std::to_string(report.step));
      EXPECT_NEAR(report.lr, golden_step.lr, 1e-12 * golden_step.lr);
      // A rate of 1000 times the usual blows rounding differences up; the data's README gives the loss alone after it.
      const bool after_spike = spiked && report.step > variant.options.spike_step;
      const double loss_tolerance = i == 0                                    ? tolerances.loss_first
                                    : after_spike && dtype == DType::kFloat32 ? 1e-2
                                                                              : tolerances.loss_last;
      EXPECT_NEAR(report.loss, golden_step.loss, loss_tolerance);
      ASSERT_EQ(report.rank_losses.size(), golden_step.rank_losses.size());
      for (std::size_t r = 0; r < golden_step.rank_losses.size(); ++r) {
        EXPECT_NEAR(report.rank_losses[r], golden_step.rank_losses[r], 2 * loss_tolerance);
      }
      if (after_spike && dtype == DType::kFloat32) continue;
      const double norm_tolerance = i == 0 ? tolerances.norm_first : tolerances.norm_last;
      EXPECT_NEAR(report.grad_norm, golden_step.grad_norm, norm_tolerance * golden_step.grad_norm);
      if (spiked && report.step == variant.options.spike_step && dtype == DType::kFloat32) continue;
      EXPECT_NEAR(watcher.param_norms[i], golden_step.param_norm, tolerances.param_norm * golden_step.param_norm);
    }
    if (*variant_name != '\0') return;  // parameters come for plain Adam alone
    EXPECT_LE(reference::relative_l2(watcher.first_params, golden.first_params), tolerances.params_first);
    EXPECT_LE(reference::relative_l2(watcher.final_params, golden.final_params), tolerances.params_last);
    EXPECT_LE(reference::largest_difference(watcher.first_params, golden.first_params), tolerances.outlier_first);
    EXPECT_LE(reference::largest_difference(watcher.final_params, golden.final_params), tolerances.outlier_last);
  }
};

TEST_P(GoldenRun, InDoubleIsWithinOneInABillion) {
  check(DType::kFloat64, Tolerances{1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9});
}

TEST_P(GoldenRun, InFloatIsWithinTheStatedTolerances) {
  const bool adamw =
      std::string(std::get<1>(GetParam())).starts_with("adamw") || std::string(std::get<1>(GetParam())) == "all";
  check(DType::kFloat32, Tolerances{1e-6, 5e-6, 1e-6, 2e-6, 1e-6, 5e-6, 2e-4, 5e-4, adamw ? 1e-6 : 1e-7});
}

INSTANTIATE_TEST_SUITE_P(AllSetsVariantsAndStages, GoldenRun,
                         testing::Combine(testing::ValuesIn(reference::kGoldenNames),
                                          testing::ValuesIn(reference::kGoldenVariants), testing::Values(0, 1, 2, 3)),
                         [](const testing::TestParamInfo<GoldenRun::ParamType>& info) {
                           const std::string variant = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param)) + "_" + (variant.empty() ? "plain" : variant) +
                                  "_zero" + std::to_string(std::get<2>(info.param));
                         });

// All stages and any cut into buckets have the same bits, with and without overlap.
TEST(GoldenRunBits, StagesAgreeAndOneBucketSizeIsOnePlan) {
  const Golden golden = reference::load_golden(kData, "golden_b");
  const GoldenVariant variant = reference::load_variant(golden, "all");
  for (const std::int64_t bucket_bytes : {std::int64_t{0}, std::int64_t{40'000}, std::int64_t{4}}) {
    Watcher zero0;
    TrainConfig config = config_of(golden, variant.options, DType::kFloat32, 0);
    config.bucket_bytes = bucket_bytes;
    run(config, golden.tokens.ranks, zero0);
    for (const bool overlap : {false, true}) {
      for (int stage = overlap ? 0 : 1; stage <= 3; ++stage) {
        SCOPED_TRACE("buckets of " + std::to_string(bucket_bytes) + ", stage " + std::to_string(stage) +
                     (overlap ? ", overlap" : ""));
        Watcher other;
        config.zero_stage = stage;
        config.overlap = overlap;
        run(config, golden.tokens.ranks, other);
        EXPECT_EQ(zero0.final_params, other.final_params);
        for (std::size_t i = 0; i < zero0.reports.size(); ++i) {
          EXPECT_EQ(zero0.reports[i].loss, other.reports[i].loss);
          EXPECT_EQ(zero0.reports[i].grad_norm, other.reports[i].grad_norm);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rehearse
