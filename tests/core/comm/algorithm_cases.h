#pragma once

#include <string>
#include <vector>

#include "tests/core/comm/ranks.h"
#include "tests/core/comm/schedules.h"
#include "tests/core/comm/sum_order.h"

namespace rehearse {

// A collective over one buffer, in place, with whatever it is told beside.
using OnBuffer = std::function<Task<>(ProcessGroup&, BufferView)>;

struct AllReduceCase {
  AllReduceCase(AllReduceAlgorithm its_algorithm, AlgorithmOptions its_options = AlgorithmOptions())
      : algorithm(its_algorithm), options(its_options) {}
  AllReduceAlgorithm algorithm;
  AlgorithmOptions options;

  OnBuffer call() const {
    return [*this](ProcessGroup& group, BufferView buffer) { return all_reduce(group, buffer, algorithm, options); };
  }
  std::string text() const {
    return std::string(name_of(algorithm)) + ", segments of " + std::to_string(options.segment.count()) + ", " +
           std::to_string(options.ranks_per_host) + " ranks a host";
  }
};

// Every all_reduce that so many ranks can do.
std::vector<AllReduceCase> all_reduce_cases(int ranks);

// Those of networks() that have a latency: without one, all that follows from a moment happens at the same moment.
std::vector<NetworkConfig> networks_with_latency();

// Runs `program` on a world of its own with elements and on one without, and holds messages, bytes and the time of each
// rank to `graph`. Says whether times are settled: where the order of what happens at the same moment decides
// (message_graph.h), they are held to each other alone.
bool expect_schedule(const std::string& what, int ranks, const NetworkConfig& network, Operation operation,
                     const MessageGraph& graph, const std::function<Task<>(RankContext&, bool with_elements)>& program);

// `collective` outlives the Task.
Task<> on_world_buffer(RankContext& context, const OnBuffer& collective, BufferView buffer);

// expect_schedule of a collective over one buffer a rank.
template <class T>
bool expect_on_buffers(const std::string& what, PerRank<T>& values, const NetworkConfig& network, Operation operation,
                       const MessageGraph& graph, const OnBuffer& collective) {
  const auto count = static_cast<std::int64_t>(values[0].size());
  const auto program = [&](RankContext& context, bool with_elements) {
    const BufferView buffer = with_elements ? view_of(values, context.rank()) : shape_of(dtype_of<T>, count);
    return on_world_buffer(context, collective, buffer);
  };
  return expect_schedule(what, static_cast<int>(values.size()), network, operation, graph, program);
}

}  // namespace rehearse
