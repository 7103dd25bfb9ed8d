// What simulating costs: the capstone's run, with its resume check, beside a plain loop of the same arithmetic and
// hashing (plain_loop.h), and the bare speed of the kernel and the network.

#include <benchmark/benchmark.h>

#include <chrono>

#include "core/base/check.h"
#include "core/comm/collectives.h"
#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"
#include "sim/cluster/world.h"
#include "sim/config/loader.h"
#include "sim/trace/event_digest.h"
#include "tests/bench/plain_loop.h"
#include "tools/rehearse/heap.h"

namespace rehearse {
namespace {

std::string capstone_path() { return std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto"; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The two in turn, so that a machine whose speed drifts drifts for both; the counter is their ratio.
void capstone_over_plain_loop(benchmark::State& state) {
  const Scenario scenario = load_scenario(capstone_path());
  PlainLoop plain(scenario);
  double simulated = 0;
  double looped = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    const TrainingRecord record = run_training(scenario);
    const std::vector<Verdict> verdicts = judge(scenario, record);
    simulated += seconds_since(start);
    const auto middle = std::chrono::steady_clock::now();
    const std::string weights = plain.run();
    looped += seconds_since(middle);
    CHECK_EQ(weights, record.weights_sha256);
    CHECK(exit_code_of(record, verdicts) == ExitCode::kDone);
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["simulated_ms"] = simulated / runs * 1e3;
  state.counters["plain_ms"] = looped / runs * 1e3;
  state.counters["ratio"] = simulated / looped;
}
BENCHMARK(capstone_over_plain_loop)->Unit(benchmark::kMillisecond)->MinTime(3);

// What recording and digesting every event and state adds to the capstone (its run with the resume check), and what a
// record costs by itself.
void capstone_log_over_no_log(benchmark::State& state) {
  const Scenario scenario = load_scenario(capstone_path());
  double with = 0;
  double without = 0;
  for (auto _ : state) {
    for (const bool logged : {true, false}) {
      TrainingHooks hooks;
      hooks.log_events = logged;
      const auto start = std::chrono::steady_clock::now();
      const TrainingRecord record = run_training(scenario, std::nullopt, hooks);
      const std::vector<Verdict> verdicts = judge(scenario, record);
      (logged ? with : without) += seconds_since(start);
      CHECK(exit_code_of(record, verdicts) == ExitCode::kDone);
    }
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["with_ms"] = with / runs * 1e3;
  state.counters["without_ms"] = without / runs * 1e3;
  state.counters["ratio"] = with / without;
}
BENCHMARK(capstone_log_over_no_log)->Unit(benchmark::kMillisecond)->MinTime(3);

void event_digest_record(benchmark::State& state) {
  EventDigest digest;
  EventRecord record(EventKind::kDelivery);
  for (auto _ : state) {
    ++record.sequence;
    digest.on_record(record);
  }
  benchmark::DoNotOptimize(digest.finish());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(event_digest_record);

Task<> ring_rank(RankContext& context) {
  BufferView shape;  // 64 MiB of float32 without storage
  shape.count = std::int64_t{16} << 20;
  ProcessGroup group(context, ProcessGroup::world(context).group());
  co_await all_reduce(group, shape);
}

// A ring all_reduce without payload; every message is an event.
void ring_all_reduce_messages(benchmark::State& state) {
  std::int64_t messages = 0;
  for (auto _ : state) {
    WorldConfig config;
    config.ranks = static_cast<int>(state.range(0));
    config.network.latency = Duration::microseconds(5);
    config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
    config.device.rate = FlopRate::per_second(1'000'000'000'000);
    config.storing = Storing::kShapeOnly;
    World world(config);
    world.start_all(ring_rank);
    CHECK(world.run() == RunEnd::kDone);
    messages += world.network().messages();
  }
  state.counters["messages/s"] = benchmark::Counter(static_cast<double>(messages), benchmark::Counter::kIsRate);
}
BENCHMARK(ring_all_reduce_messages)->Arg(4)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rehearse

int main(int argc, char** argv) {
  rehearse::prepare_heap();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
