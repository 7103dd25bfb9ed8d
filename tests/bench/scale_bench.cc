// The simulator at scale: messages, messages a second of process time, and peak memory of a whole process, beside the
// targets. Each case runs in a process of its own, because a peak is a process's.
//
//   bench_scale [CASE...]      without one, all of them

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/comm/collectives.h"
#include "sim/cluster/training_run.h"
#include "sim/cluster/world.h"
#include "sim/config/loader.h"
#include "tools/rehearse/heap.h"

namespace rehearse {
namespace {

struct Case {
  const char* name;
  const char* target;
  std::function<std::int64_t()> run;  // returns the messages that were sent
};

WorldConfig world_config(int ranks, Storing storing) {
  WorldConfig config;
  config.ranks = ranks;
  config.network.latency = Duration::microseconds(5);
  config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
  config.device.rate = FlopRate::per_second(1'000'000'000'000);
  config.storing = storing;
  return config;
}

Task<> ring_of_shapes(RankContext& context) {
  BufferView shape;  // 64 MiB of float32 without storage
  shape.count = std::int64_t{16} << 20;
  ProcessGroup group = ProcessGroup::world(context);
  co_await all_reduce(group, shape);
}

// Two events a message with jitter, one without. `most_events` cuts a run short that would take minutes.
std::int64_t ring(int ranks, Duration jitter, std::uint64_t most_events) {
  WorldConfig config = world_config(ranks, Storing::kShapeOnly);
  config.network.jitter = jitter;
  World world(config);
  world.start_all(ring_of_shapes);
  const RunEnd end = world.run(most_events);
  CHECK(end != RunEnd::kDeadlock);
  return world.network().messages();
}

constexpr std::int64_t kElements = 1 << 18;  // 1 MiB of float32

float value_of(std::int64_t i, int scale) { return static_cast<float>((i % 61) * scale); }

Task<> ring_of_numbers(RankContext& context) {
  Buffer buffer(&context.memory(), MemoryKind::kGradients, DType::kFloat32, kElements);
  const std::span<float> values = buffer.as<float>();
  const int own = context.rank() % 8 + 1;
  for (std::int64_t i = 0; i < kElements; ++i) values[static_cast<std::size_t>(i)] = value_of(i, own);
  ProcessGroup group = ProcessGroup::world(context);
  const BufferView view(buffer);
  co_await all_reduce(group, view);
  // Whole numbers below 2^24: float sums are exact in any order.
  int sum = 0;
  for (int rank = 0; rank < group.size(); ++rank) sum += rank % 8 + 1;
  for (std::int64_t i = 0; i < kElements; ++i) CHECK_EQ(values[static_cast<std::size_t>(i)], value_of(i, sum));
}

std::int64_t ring_with_payload(int ranks) {
  World world(world_config(ranks, Storing::kElements));
  world.start_all(ring_of_numbers);
  CHECK(world.run() == RunEnd::kDone);
  for (int rank = 0; rank < ranks; ++rank) CHECK(world.error(rank) == nullptr);
  return world.network().messages();
}

// With its event log's digest, as `rehearse run` does it.
std::int64_t seven_billion() {
  const Scenario scenario =
      load_scenario(std::string(REHEARSE_SOURCE_DIR) + "/tests/bench/seven_billion.textproto", LoadOptions());
  const TrainingRecord record = run_training(scenario);
  CHECK(record.outcome == Outcome::kDone);
  return record.messages;
}

std::vector<Case> all_cases() {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  std::vector<Case> cases;
  cases.push_back({"ring_1024", "10 M/s, 32 MiB", [] { return ring(1024, Duration(), kAll); }});
  cases.push_back({"ring_1024_jitter", "", [] { return ring(1024, Duration::microseconds(1), kAll); }});
  cases.push_back({"ring_16384_jitter", "5 M/s, 1.5 KiB a rank (24 MiB)",
                   [] { return ring(16'384, Duration::microseconds(1), 20'000'000); }});
  cases.push_back({"payload_256", "0.35 s, 360 MiB", [] { return ring_with_payload(256); }});
  cases.push_back({"payload_1024", "3 s, 1331 MiB", [] { return ring_with_payload(1024); }});
  cases.push_back({"seven_billion", "4 s", [] { return seven_billion(); }});
  return cases;
}

void measure(const Case& one) {
  const std::int64_t messages = one.run();
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const double seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  std::printf("%-18s %12lld %10.3f %12.2f %10.1f  %s\n", one.name, static_cast<long long>(messages), seconds,
              static_cast<double>(messages) / seconds * 1e-6, static_cast<double>(used.ru_maxrss) / 1024, one.target);
}

// Whether the case's process ended well.
bool measure_apart(const Case& one) {
  std::fflush(stdout);
  const pid_t child = fork();
  CHECK_GE(child, 0);
  if (child == 0) {
    measure(one);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace
}  // namespace rehearse

int main(int argc, char** argv) {
  using namespace rehearse;
  prepare_heap();
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    // tools/bench gives every program Google Benchmark's options.
    if (std::string(argv[i]).rfind("--", 0) != 0) wanted.emplace_back(argv[i]);
  }
  std::printf("%-18s %12s %10s %12s %10s  %s\n", "case", "messages", "process s", "M messages/s", "peak MiB", "target");
  bool well = true;
  for (const Case& one : all_cases()) {
    bool runs = wanted.empty();
    for (const std::string& name : wanted) runs = runs || name == one.name;
    if (runs) well = measure_apart(one) && well;
  }
  return well ? 0 : 1;
}
