#include "core/comm/ring_all_reduce.h"

#include "core/comm/ring_all_gather.h"
#include "core/comm/ring_reduce_scatter.h"
#include "core/comm/ring_schedule.h"

namespace rehearse {

namespace {

Task<> both_halves(Communicator& comm, Call call, BufferView buffer) {
  // Messages of one call and one source arrive in order, so the halves cannot be confused although they share a tag.
  co_await ring_reduce_scatter(comm, call, buffer);
  co_await ring_all_gather(comm, call, buffer);
}

}  // namespace

Task<> ring_all_reduce(Communicator& comm, Call call, BufferView buffer) {
  const Group& group = *call.group;
  if (group.size() == 1 || buffer.count == 0 || !is_scheduled(comm, buffer)) return both_halves(comm, call, buffer);
  const int previous = group.rank == 0 ? group.size() - 1 : group.rank - 1;
  return exchange_around_ring(comm, call, buffer, previous, 2 * (group.size() - 1));
}

}  // namespace rehearse
