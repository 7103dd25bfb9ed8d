#include "sim/cost/collective_bench.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/comm/collectives.h"
#include "core/comm/cost_formulas.h"

namespace rehearse {
namespace {

constexpr std::int64_t kElement = size_of(DType::kFloat32);

BufferView shape(std::int64_t elements) {
  BufferView view;
  view.dtype = DType::kFloat32;
  view.count = elements;
  return view;
}

// What rank `index` has of `elements` that are cut in as equal parts as they can be.
std::int64_t part_of(std::int64_t elements, int ranks, int index) {
  return elements / ranks + (index < elements % ranks ? 1 : 0);
}

std::vector<BufferView> parts_of(std::int64_t elements, int ranks) {
  std::vector<BufferView> parts;
  for (int i = 0; i < ranks; ++i) parts.push_back(shape(part_of(elements, ranks, i)));
  return parts;
}

// What one rank does.
struct Work {
  BenchedAlgorithm algorithm;
  std::int64_t elements;
  AlgorithmOptions options;
};

Task<> call_of(ProcessGroup& world, const Work& work) {
  const int index = work.algorithm.index;
  const BufferView whole = shape(work.elements);
  const int ranks = world.size();
  std::vector<BufferView> on_root;
  if (world.rank() == 0) on_root = parts_of(work.elements, ranks);
  const BufferView own = shape(part_of(work.elements, ranks, world.rank()));
  switch (work.algorithm.operation) {
    case Operation::kAllReduce:
      return all_reduce(world, whole, static_cast<AllReduceAlgorithm>(index), work.options);
    case Operation::kReduceScatter:
      return reduce_scatter(world, whole, static_cast<ReduceScatterAlgorithm>(index));
    case Operation::kAllGather:
      return all_gather(world, whole, static_cast<AllGatherAlgorithm>(index));
    case Operation::kBroadcast:
      return broadcast(world, whole, 0, static_cast<BroadcastAlgorithm>(index), work.options);
    case Operation::kReduce:
      return reduce(world, whole, 0, static_cast<ReduceAlgorithm>(index), work.options);
    case Operation::kAllToAll: {
      // A part of rank r to rank q must be as large as q expects it from r: parts are equal, rounded up.
      const std::vector<BufferView> parts(static_cast<std::size_t>(ranks), shape(part_of(work.elements, ranks, 0)));
      return all_to_all(world, parts, parts, static_cast<AllToAllAlgorithm>(index));
    }
    case Operation::kGather:
      return gather(world, own, std::move(on_root), 0);
    case Operation::kScatter:
      return scatter(world, std::move(on_root), own, 0);
    case Operation::kBarrier:
      return barrier(world);
    case Operation::kPointToPoint:
      break;
  }
  check_failed(__FILE__, __LINE__, "not a collective");
}

Task<> work_of_a_rank(RankContext& context, const Work& work) {
  ProcessGroup world = ProcessGroup::world(context);
  Task<> call = call_of(world, work);
  co_await std::move(call);
}

bool has_closed_forms(const NetworkConfig& network) { return network.is_plain() && network.jitter == Duration(); }

Duration closed_form_of(const Work& work, int ranks, const LinkCost& link) {
  const Bytes size(work.elements * kElement);
  const Bytes part(part_of(work.elements, ranks, 0) * kElement);
  const int index = work.algorithm.index;
  switch (work.algorithm.operation) {
    case Operation::kAllReduce:
      return all_reduce_time(static_cast<AllReduceAlgorithm>(index), ranks, size, link, work.options);
    case Operation::kReduceScatter:
      return reduce_scatter_time(static_cast<ReduceScatterAlgorithm>(index), ranks, size, link);
    case Operation::kAllGather:
      return all_gather_time(static_cast<AllGatherAlgorithm>(index), ranks, size, link);
    case Operation::kBroadcast:
      return broadcast_time(static_cast<BroadcastAlgorithm>(index), ranks, size, link, work.options);
    case Operation::kReduce:
      return reduce_time(static_cast<ReduceAlgorithm>(index), ranks, size, link, work.options);
    case Operation::kAllToAll:
      return all_to_all_time(static_cast<AllToAllAlgorithm>(index), ranks, part, link);
    case Operation::kGather:
      return gather_time(ranks, part, link);
    case Operation::kScatter:
      return scatter_time(ranks, part, link);
    case Operation::kBarrier:
      return barrier_time(ranks, link);
    case Operation::kPointToPoint:
      break;
  }
  check_failed(__FILE__, __LINE__, "not a collective");
}

int count_of(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return kAllReduceAlgorithms;
    case Operation::kReduceScatter:
      return kReduceScatterAlgorithms;
    case Operation::kAllGather:
      return kAllGatherAlgorithms;
    case Operation::kBroadcast:
      return kBroadcastAlgorithms;
    case Operation::kReduce:
      return kReduceAlgorithms;
    case Operation::kAllToAll:
      return kAllToAllAlgorithms;
    case Operation::kGather:
    case Operation::kScatter:
    case Operation::kBarrier:
      return 1;
    case Operation::kPointToPoint:
      return 0;
  }
  check_failed(__FILE__, __LINE__, "unknown operation");
}

// numerator * size / (denominator * time), in bits per second.
Bandwidth rate_of(Bytes size, Duration time, const BusFactor& factor) {
  if (time.ps() <= 0) return Bandwidth();
  const __int128 bits = static_cast<__int128>(size.count()) * 8 * factor.numerator;
  const __int128 rate = bits * 1'000'000'000'000 / (static_cast<__int128>(time.ps()) * factor.denominator);
  const __int128 most = std::numeric_limits<std::int64_t>::max();
  return Bandwidth::bits_per_second(static_cast<std::int64_t>(std::min(rate, most)));
}

}  // namespace

std::string name_of(const BenchedAlgorithm& algorithm) {
  const int index = algorithm.index;
  switch (algorithm.operation) {
    case Operation::kAllReduce:
      return name_of(static_cast<AllReduceAlgorithm>(index));
    case Operation::kReduceScatter:
      return name_of(static_cast<ReduceScatterAlgorithm>(index));
    case Operation::kAllGather:
      return name_of(static_cast<AllGatherAlgorithm>(index));
    case Operation::kBroadcast:
      return name_of(static_cast<BroadcastAlgorithm>(index));
    case Operation::kReduce:
      return name_of(static_cast<ReduceAlgorithm>(index));
    case Operation::kAllToAll:
      return name_of(static_cast<AllToAllAlgorithm>(index));
    case Operation::kGather:
    case Operation::kScatter:
      return "direct";
    case Operation::kBarrier:
      return "dissemination";
    case Operation::kPointToPoint:
      break;
  }
  check_failed(__FILE__, __LINE__, "not a collective");
}

const std::vector<Operation>& benched_operations() {
  static const std::vector<Operation> kOrder = {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather,
                                                Operation::kBroadcast, Operation::kReduce,        Operation::kAllToAll,
                                                Operation::kGather,    Operation::kScatter,       Operation::kBarrier};
  return kOrder;
}

std::vector<BenchedAlgorithm> algorithms_of(Operation operation) {
  std::vector<BenchedAlgorithm> all;
  for (int index = 0; index < count_of(operation); ++index) all.emplace_back(operation, index);
  return all;
}

bool can_do(const BenchedAlgorithm& algorithm, int ranks, const AlgorithmOptions& options) {
  if (algorithm.operation != Operation::kAllReduce) return true;
  return can_do(static_cast<AllReduceAlgorithm>(algorithm.index), ranks, options);
}

BusFactor bus_factor(Operation operation, int ranks) {
  CHECK_GE(ranks, 1);
  BusFactor factor;
  switch (operation) {
    case Operation::kAllReduce:
      factor.numerator = 2 * (ranks - 1);
      factor.denominator = ranks;
      return factor;
    case Operation::kReduceScatter:
    case Operation::kAllGather:
    case Operation::kAllToAll:
    case Operation::kGather:
    case Operation::kScatter:
      factor.numerator = ranks - 1;
      factor.denominator = ranks;
      return factor;
    case Operation::kBroadcast:
    case Operation::kReduce:
    case Operation::kPointToPoint:
      factor.numerator = 1;
      return factor;
    case Operation::kBarrier:
      return factor;
  }
  check_failed(__FILE__, __LINE__, "unknown operation");
}

Bandwidth algorithm_bandwidth(Bytes size, Duration time) {
  BusFactor one;
  one.numerator = 1;
  return rate_of(size, time, one);
}

Bandwidth bus_bandwidth(Operation operation, int ranks, Bytes size, Duration time) {
  return rate_of(size, time, bus_factor(operation, ranks));
}

CollectiveTiming time_collective(const BenchCluster& cluster, const BenchedAlgorithm& algorithm, Bytes size,
                                 const AlgorithmOptions& options) {
  CHECK_GE(size.count(), 0);
  CHECK_EQ(size.count() % kElement, 0);
  CHECK(can_do(algorithm, cluster.ranks, options));
  const bool has_size = algorithm.operation != Operation::kBarrier;
  const Work work{algorithm, has_size ? size.count() / kElement : 0, options};
  CollectiveTiming timing;
  timing.algorithm = algorithm;
  timing.size = Bytes(work.elements * kElement);
  timing.run = run_bench(cluster, [&work](RankContext& context) { return work_of_a_rank(context, work); });
  timing.algbw = algorithm_bandwidth(timing.size, timing.run.time);
  timing.busbw = bus_bandwidth(algorithm.operation, cluster.ranks, timing.size, timing.run.time);
  if (has_closed_forms(cluster.network)) {
    timing.closed_form =
        closed_form_of(work, cluster.ranks, LinkCost(cluster.network.latency, cluster.network.bandwidth));
  }
  return timing;
}

}  // namespace rehearse
