#include "core/comm/collectives.h"

#include <utility>

#include "core/comm/binomial_all_reduce.h"
#include "core/comm/binomial_broadcast.h"
#include "core/comm/binomial_reduce.h"
#include "core/comm/chain_broadcast.h"
#include "core/comm/chain_reduce.h"
#include "core/comm/direct_exchange.h"
#include "core/comm/direct_gather.h"
#include "core/comm/direct_scatter.h"
#include "core/comm/dissemination_barrier.h"
#include "core/comm/double_tree_all_reduce.h"
#include "core/comm/halving_doubling_all_reduce.h"
#include "core/comm/hierarchical_all_reduce.h"
#include "core/comm/pairwise_all_to_all.h"
#include "core/comm/recursive_doubling_all_gather.h"
#include "core/comm/recursive_doubling_all_reduce.h"
#include "core/comm/recursive_halving_reduce_scatter.h"
#include "core/comm/ring_all_gather.h"
#include "core/comm/ring_all_reduce.h"
#include "core/comm/ring_reduce_scatter.h"

namespace rehearse {
namespace {

Call next_call(ProcessGroup& group, Operation operation, const BufferView& buffer) {
  Call call = group.next_call(operation);
  call.unit = buffer.unit;
  call.elements = buffer.count;
  call.dtype = buffer.dtype;
  return call;
}

Bytes total(const std::vector<BufferView>& parts) {
  Bytes sum;
  for (const BufferView& part : parts) sum += part.bytes();
  return sum;
}

Task<> traced(Tracer& tracer, Call call, Bytes size, Task<> algorithm) {
  tracer.collective_begin(call, size);
  co_await std::move(algorithm);
  tracer.collective_end(call);
}

}  // namespace

// None of these is a coroutine: a coroutine's body would run, and number the call, only when it is awaited.

Task<> reduce_scatter(ProcessGroup& group, BufferView buffer) {
  return reduce_scatter(group, buffer, ReduceScatterAlgorithm::kRing);
}

Task<> all_gather(ProcessGroup& group, BufferView buffer) {
  return all_gather(group, buffer, AllGatherAlgorithm::kRing);
}

Task<> all_reduce(ProcessGroup& group, BufferView buffer) {
  return all_reduce(group, buffer, AllReduceAlgorithm::kRing);
}

Task<> broadcast(ProcessGroup& group, BufferView buffer, int root) {
  return broadcast(group, buffer, root, BroadcastAlgorithm::kBinomial);
}

Task<> reduce_scatter(ProcessGroup& group, BufferView buffer, ReduceScatterAlgorithm algorithm) {
  const Call call = next_call(group, Operation::kReduceScatter, buffer);
  RankContext& context = group.context();
  const auto run = [&](Task<> task) { return traced(context.tracer(), call, buffer.bytes(), std::move(task)); };
  switch (algorithm) {
    case ReduceScatterAlgorithm::kRing:
      return run(ring_reduce_scatter(context.comm(), call, buffer));
    case ReduceScatterAlgorithm::kRecursiveHalving:
      return run(recursive_halving_reduce_scatter(context.comm(), call, buffer));
    case ReduceScatterAlgorithm::kDirect:
      return run(direct_reduce_scatter(context, call, buffer));
  }
  check_failed(__FILE__, __LINE__, "unknown reduce_scatter algorithm");
}

Task<> all_gather(ProcessGroup& group, BufferView buffer, AllGatherAlgorithm algorithm) {
  const Call call = next_call(group, Operation::kAllGather, buffer);
  RankContext& context = group.context();
  const auto run = [&](Task<> task) { return traced(context.tracer(), call, buffer.bytes(), std::move(task)); };
  switch (algorithm) {
    case AllGatherAlgorithm::kRing:
      return run(ring_all_gather(context.comm(), call, buffer));
    case AllGatherAlgorithm::kRecursiveDoubling:
      return run(recursive_doubling_all_gather(context.comm(), call, buffer));
    case AllGatherAlgorithm::kDirect:
      return run(direct_all_gather(context, call, buffer));
  }
  check_failed(__FILE__, __LINE__, "unknown all_gather algorithm");
}

Task<> all_reduce(ProcessGroup& group, BufferView buffer, AllReduceAlgorithm algorithm,
                  const AlgorithmOptions& options) {
  CHECK(can_do(algorithm, group.size(), options));
  const Call call = next_call(group, Operation::kAllReduce, buffer);
  RankContext& context = group.context();
  Communicator& comm = context.comm();
  const auto run = [&](Task<> task) { return traced(context.tracer(), call, buffer.bytes(), std::move(task)); };
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return run(ring_all_reduce(comm, call, buffer));
    case AllReduceAlgorithm::kHalvingDoubling:
      return run(halving_doubling_all_reduce(comm, call, buffer));
    case AllReduceAlgorithm::kRecursiveDoubling:
      return run(recursive_doubling_all_reduce(comm, call, buffer));
    case AllReduceAlgorithm::kBinomialTree:
      return run(binomial_all_reduce(comm, call, buffer));
    case AllReduceAlgorithm::kDoubleBinaryTree: {
      const Call second = next_call(group, Operation::kAllReduce, buffer);
      return run(double_tree_all_reduce(context, call, second, buffer, options.segment));
    }
    case AllReduceAlgorithm::kHierarchical:
      return run(hierarchical_all_reduce(comm, call, buffer, options.ranks_per_host));
  }
  check_failed(__FILE__, __LINE__, "unknown all_reduce algorithm");
}

Task<> broadcast(ProcessGroup& group, BufferView buffer, int root, BroadcastAlgorithm algorithm,
                 const AlgorithmOptions& options) {
  const Call call = next_call(group, Operation::kBroadcast, buffer);
  RankContext& context = group.context();
  const auto run = [&](Task<> task) { return traced(context.tracer(), call, buffer.bytes(), std::move(task)); };
  switch (algorithm) {
    case BroadcastAlgorithm::kBinomial:
      return run(binomial_broadcast(context.comm(), call, buffer, root));
    case BroadcastAlgorithm::kChain:
      return run(chain_broadcast(context.comm(), call, buffer, root, options.segment));
  }
  check_failed(__FILE__, __LINE__, "unknown broadcast algorithm");
}

Task<> reduce(ProcessGroup& group, BufferView buffer, int root, ReduceAlgorithm algorithm,
              const AlgorithmOptions& options) {
  const Call call = next_call(group, Operation::kReduce, buffer);
  RankContext& context = group.context();
  const auto run = [&](Task<> task) { return traced(context.tracer(), call, buffer.bytes(), std::move(task)); };
  switch (algorithm) {
    case ReduceAlgorithm::kBinomial:
      return run(binomial_reduce(context.comm(), call, buffer, root));
    case ReduceAlgorithm::kChain:
      return run(chain_reduce(context.comm(), call, buffer, root, options.segment));
  }
  check_failed(__FILE__, __LINE__, "unknown reduce algorithm");
}

Task<> scatter(ProcessGroup& group, std::vector<BufferView> from, BufferView own, int root) {
  const Call call = group.next_call(Operation::kScatter);
  RankContext& context = group.context();
  const Bytes size = from.empty() ? own.bytes() : total(from);
  return traced(context.tracer(), call, size, direct_scatter(context.comm(), call, std::move(from), own, root));
}

Task<> all_to_all(ProcessGroup& group, std::vector<BufferView> out, std::vector<BufferView> into,
                  AllToAllAlgorithm algorithm) {
  const Call call = group.next_call(Operation::kAllToAll);
  RankContext& context = group.context();
  const Bytes size = total(out);
  const auto run = [&](Task<> task) { return traced(context.tracer(), call, size, std::move(task)); };
  switch (algorithm) {
    case AllToAllAlgorithm::kPairwise:
      return run(pairwise_all_to_all(context.comm(), call, std::move(out), std::move(into)));
    case AllToAllAlgorithm::kDirect:
      return run(direct_all_to_all(context, call, std::move(out), std::move(into)));
  }
  check_failed(__FILE__, __LINE__, "unknown all_to_all algorithm");
}

Task<> gather(ProcessGroup& group, BufferView own, std::vector<BufferView> into, int root) {
  const Call call = group.next_call(Operation::kGather);
  RankContext& context = group.context();
  const Bytes size = into.empty() ? own.bytes() : total(into);
  return traced(context.tracer(), call, size, direct_gather(context.comm(), call, own, std::move(into), root));
}

Task<> barrier(ProcessGroup& group) {
  const Call call = group.next_call(Operation::kBarrier);
  RankContext& context = group.context();
  return traced(context.tracer(), call, Bytes(), dissemination_barrier(context.comm(), call));
}

}  // namespace rehearse
