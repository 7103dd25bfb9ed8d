#include "core/comm/collectives.h"

#include <utility>

#include "core/comm/binomial_broadcast.h"
#include "core/comm/direct_gather.h"
#include "core/comm/dissemination_barrier.h"
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

Task<> traced(Tracer& tracer, Call call, Bytes size, Task<> algorithm) {
  tracer.collective_begin(call, size);
  co_await std::move(algorithm);
  tracer.collective_end(call);
}

}  // namespace

// None of these is a coroutine: a coroutine's body would run, and number the call, only when it is awaited.

Task<> reduce_scatter(ProcessGroup& group, BufferView buffer) {
  const Call call = next_call(group, Operation::kReduceScatter, buffer);
  RankContext& context = group.context();
  return traced(context.tracer(), call, buffer.bytes(), ring_reduce_scatter(context.comm(), call, buffer));
}

Task<> all_gather(ProcessGroup& group, BufferView buffer) {
  const Call call = next_call(group, Operation::kAllGather, buffer);
  RankContext& context = group.context();
  return traced(context.tracer(), call, buffer.bytes(), ring_all_gather(context.comm(), call, buffer));
}

Task<> all_reduce(ProcessGroup& group, BufferView buffer) {
  const Call call = next_call(group, Operation::kAllReduce, buffer);
  RankContext& context = group.context();
  return traced(context.tracer(), call, buffer.bytes(), ring_all_reduce(context.comm(), call, buffer));
}

Task<> broadcast(ProcessGroup& group, BufferView buffer, int root) {
  const Call call = next_call(group, Operation::kBroadcast, buffer);
  RankContext& context = group.context();
  return traced(context.tracer(), call, buffer.bytes(), binomial_broadcast(context.comm(), call, buffer, root));
}

Task<> gather(ProcessGroup& group, BufferView own, std::vector<BufferView> into, int root) {
  const Call call = group.next_call(Operation::kGather);
  RankContext& context = group.context();
  Bytes size = into.empty() ? own.bytes() : Bytes();
  for (const BufferView& part : into) size += part.bytes();
  return traced(context.tracer(), call, size, direct_gather(context.comm(), call, own, std::move(into), root));
}

Task<> barrier(ProcessGroup& group) {
  const Call call = group.next_call(Operation::kBarrier);
  RankContext& context = group.context();
  return traced(context.tracer(), call, Bytes(), dissemination_barrier(context.comm(), call));
}

}  // namespace rehearse
