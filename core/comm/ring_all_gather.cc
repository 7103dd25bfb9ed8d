#include "core/comm/ring_all_gather.h"

#include <utility>

#include "core/comm/chunks.h"
#include "core/comm/reduce.h"
#include "core/comm/ring_schedule.h"

namespace rehearse {

namespace {

Task<> gather(Communicator& comm, Call call, BufferView buffer) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  if (size == 1 || buffer.count == 0) co_return;
  const Chunks chunks(buffer, size);
  const int next = rank + 1 == size ? 0 : rank + 1;
  const int previous = chunks.before(rank);

  int chunk = rank;
  Payload travelling = comm.pool().copy_of(chunks[chunk]);
  for (int step = 0; step < size - 1; ++step) {
    Payload received =
        co_await comm.exchange(call.at(chunks.range(chunk).offset), next, std::move(travelling), previous);
    chunk = chunks.before(chunk);
    copy_elements(chunks[chunk], received);
    travelling = std::move(received);
  }
}

}  // namespace

// Not a coroutine: where buffers have no elements, a rank does not hold the loop's frame.
Task<> ring_all_gather(Communicator& comm, Call call, BufferView buffer) {
  const Group& group = *call.group;
  if (group.size() == 1 || buffer.count == 0 || !is_scheduled(comm, buffer)) return gather(comm, call, buffer);
  return exchange_around_ring(comm, call, buffer, group.rank, group.size() - 1);
}

}  // namespace rehearse
