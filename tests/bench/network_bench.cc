// What a fabric costs: all ranks send to all others at once, or one after the other from seeded moments on.

#include <benchmark/benchmark.h>

#include <memory>

#include "core/base/check.h"
#include "core/base/random.h"
#include "sim/kernel/kernel.h"
#include "sim/net/make_fabric.h"
#include "sim/net/make_topology.h"
#include "tools/rehearse/heap.h"

namespace rehearse {
namespace {

constexpr std::int64_t kBytes = 1 << 20;

// Counts what arrives.
class AllToAll : public FabricListener, private EventSink {
 public:
  AllToAll(int ranks, const NetworkConfig& config, Duration spread)
      : ranks_(ranks), fabric_(make_fabric(kernel_, *this, config, ranks, RandomStream(1))) {
    kernel_.process_started();
    RandomStream offsets = RandomStream(1).fork("offsets");
    for (std::uint64_t message = 0; message < static_cast<std::uint64_t>(ranks) * (ranks - 1); ++message) {
      const std::uint64_t at = spread == Duration() ? 0 : offsets.below(static_cast<std::uint64_t>(spread.ps()));
      kernel_.schedule(TimePoint::at(Duration::picoseconds(static_cast<std::int64_t>(at))), this, message);
    }
    kernel_.run();
    CHECK_EQ(arrived_, static_cast<std::int64_t>(ranks) * (ranks - 1));
  }
  std::int64_t arrived() const { return arrived_; }
  TimePoint now() const { return kernel_.now(); }

 private:
  void on_event(std::uint64_t message) override {
    const int source = static_cast<int>(message) / (ranks_ - 1);
    const int other = static_cast<int>(message) % (ranks_ - 1);
    fabric_->send(source, other < source ? other : other + 1, Bytes(kBytes), message);
  }
  EventRecord record_of(std::uint64_t) const override { return EventRecord(); }
  void on_delivered(std::uint64_t) override { ++arrived_; }

  int ranks_;
  Kernel kernel_;
  std::unique_ptr<Fabric> fabric_;
  std::int64_t arrived_ = 0;
};

NetworkConfig config_of(FabricKind fabric) {
  NetworkConfig config;
  config.latency = Duration::microseconds(5);
  config.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
  config.fabric = fabric;
  return config;
}

void run(benchmark::State& state, int ranks, const NetworkConfig& config, Duration spread) {
  std::int64_t flows = 0;
  for (auto _ : state) {
    const AllToAll run(ranks, config, spread);
    flows += run.arrived();
  }
  state.counters["flows/s"] = benchmark::Counter(static_cast<double>(flows), benchmark::Counter::kIsRate);
}

void all_to_all_max_min_on_a_switch(benchmark::State& state) {
  run(state, static_cast<int>(state.range(0)), config_of(FabricKind::kMaxMin), Duration());
}
BENCHMARK(all_to_all_max_min_on_a_switch)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

// Leaves of 16 ranks below 8 spines, uplinks a quarter of what the ranks have.
void all_to_all_max_min_on_a_tree(benchmark::State& state) {
  NetworkConfig config = config_of(FabricKind::kMaxMin);
  PortNetwork ports;
  ports.port = LinkSpec(config.latency, config.bandwidth);
  ports.ports_per_leaf = 16;
  ports.spines = 8;
  ports.uplink = LinkSpec(Duration::nanoseconds(500), Bandwidth::bits_per_second(50'000'000'000));
  config.topology = std::make_shared<const Topology>(make_ports(static_cast<int>(state.range(0)), ports));
  run(state, static_cast<int>(state.range(0)), config, Duration());
}
BENCHMARK(all_to_all_max_min_on_a_tree)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

// Begun one by one within 10 ms, twice what 64 ranks take at once: every beginning and every end is solved. Where more
// begin than end, as with 128, nearly all flows are part of each solution, which takes a millisecond.
void all_to_all_max_min_with_offsets(benchmark::State& state) {
  run(state, static_cast<int>(state.range(0)), config_of(FabricKind::kMaxMin), Duration::milliseconds(10));
}
BENCHMARK(all_to_all_max_min_with_offsets)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond);

void all_to_all_ports(benchmark::State& state) {
  NetworkConfig config = config_of(FabricKind::kPorts);
  run(state, static_cast<int>(state.range(0)), config, Duration());
}
BENCHMARK(all_to_all_ports)->Arg(256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rehearse

int main(int argc, char** argv) {
  rehearse::prepare_heap();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
