#include <benchmark/benchmark.h>
#include <immintrin.h>

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

#include "core/base/random.h"
#include "core/model/cost.h"
#include "core/model/init.h"
#include "core/model/mini_gpt.h"
#include "core/tensor/matmul.h"

// Forward + backward of the capstone's model and of a larger one, as GFLOP/s of stage_cost, as a share of a plain large
// product (Eigen, 1024^3) and of the measured peak of fused multiply-adds. The yardsticks are measured right before and
// after each model, because the clock of a shared machine moves.

namespace rehearse {
namespace {

double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_seconds(int times, const std::function<void()>& run) {
  double best = 1e9;
  for (int i = 0; i < times; ++i) best = std::min(best, seconds_of(run));
  return best;
}

// 12 independent chains fill both pipes.
double peak_gflops() {
  constexpr int kRounds = 1'000'000;
  __m256 sums[12] = {};
  const __m256 factor = _mm256_set1_ps(0.5F);
  const double seconds = best_seconds(5, [&] {
    __m256 local[12];  // registers
    std::copy(std::begin(sums), std::end(sums), local);
    for (int i = 0; i < kRounds; ++i) {
      for (auto& sum : local) sum = _mm256_fmadd_ps(sum, factor, factor);
    }
    std::copy(std::begin(local), std::end(local), sums);
  });
  benchmark::DoNotOptimize(sums);
  return 12.0 * 16 * kRounds / seconds * 1e-9;
}

double eigen_gflops() {
  constexpr int kSize = 1024;
  const Eigen::MatrixXf a = Eigen::MatrixXf::Constant(kSize, kSize, 0.5F);
  const Eigen::MatrixXf b = Eigen::MatrixXf::Constant(kSize, kSize, 0.25F);
  Eigen::MatrixXf c(kSize, kSize);
  const double seconds = best_seconds(5, [&] {
    c.noalias() = a * b;
    benchmark::DoNotOptimize(c.data());
  });
  return 2.0 * kSize * kSize * kSize / seconds * 1e-9;
}

std::int64_t flops_of(const ModelConfig& config, std::int64_t batch) {
  std::int64_t flops = 0;
  for (int stage = 0; stage < config.layers + 2; ++stage) {
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      flops += stage_cost(config, batch, stage, direction).flops.count();
    }
  }
  return flops;
}

void forward_backward(benchmark::State& state, const ModelConfig& config, std::int64_t batch) {
  const MiniGpt<float> model(config);
  std::vector<float> params(static_cast<std::size_t>(model.layout().total()));
  std::vector<float> grads(params.size());
  initialise(model.layout(), RandomStream(1), table_of_flat(model.layout(), params.data()));
  const auto table = table_of_flat<const float>(model.layout(), params.data());
  const auto grad_table = table_of_flat(model.layout(), grads.data());
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(batch * (config.context + 1)));
  RandomStream stream(2);
  for (auto& token : tokens) token = static_cast<std::int32_t>(stream.below(static_cast<std::uint64_t>(config.vocab)));
  Activations<float> activations(config, batch, nullptr);

  double peak = peak_gflops();
  double large = eigen_gflops();
  double best = 1e9;
  for (auto _ : state) {
    const double seconds = seconds_of([&] {
      for (int stage = 0; stage < model.stages(); ++stage) model.forward(stage, table, tokens, activations);
      for (int stage = model.stages() - 1; stage >= 0; --stage) {
        model.backward(stage, table, tokens, grad_table, activations, 1.0);
      }
    });
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
  }
  peak = std::max(peak, peak_gflops());
  large = std::max(large, eigen_gflops());
  const double gflops = static_cast<double>(flops_of(config, batch)) / best * 1e-9;
  state.counters["best_us"] = best * 1e6;
  state.counters["GFLOP/s"] = gflops;
  state.counters["eigen_sgemm"] = large;
  state.counters["of_sgemm_%"] = 100 * gflops / large;
  state.counters["fma_peak"] = peak;
  state.counters["of_peak_%"] = 100 * gflops / peak;
}

// Target: at most 200 us on a core with a peak of 117 GFLOP/s.
void BM_Capstone(benchmark::State& state) { forward_backward(state, {2, 32, 4, 64, 16}, 4); }
BENCHMARK(BM_Capstone)->UseManualTime()->Unit(benchmark::kMicrosecond)->MinTime(1.0);

// Target: at least 75 % of the large product's GFLOP/s.
void BM_SixLayers(benchmark::State& state) { forward_backward(state, {6, 384, 6, 4096, 256}, 4); }
BENCHMARK(BM_SixLayers)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

// Our own product at the yardstick's size.
void BM_Product1024(benchmark::State& state) {
  constexpr std::int64_t kSize = 1024;
  std::vector<float> a(kSize * kSize, 0.5F);
  std::vector<float> b(kSize * kSize, 0.25F);
  std::vector<float> c(kSize * kSize);
  std::vector<float> scratch(static_cast<std::size_t>(matmul_scratch(kSize, kSize, kSize)));
  double best = 1e9;
  for (auto _ : state) {
    best = std::min(best, seconds_of([&] {
                      matmul<float>(kSize, kSize, kSize, {a.data(), kSize, 1}, {b.data(), kSize, 1}, {c.data(), kSize},
                                    {}, scratch);
                    }));
  }
  state.counters["GFLOP/s"] = 2.0 * kSize * kSize * kSize / best * 1e-9;
  state.counters["eigen_sgemm"] = eigen_gflops();
}
BENCHMARK(BM_Product1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rehearse
