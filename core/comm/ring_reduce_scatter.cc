#include "core/comm/ring_reduce_scatter.h"

#include <utility>

#include "core/comm/chunks.h"
#include "core/comm/reduce.h"
#include "core/comm/ring_schedule.h"

namespace rehearse {

namespace {

Task<> scatter(Communicator& comm, Call call, BufferView buffer) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  if (size == 1 || buffer.count == 0) co_return;
  const Chunks chunks(buffer, size);
  const int next = rank + 1 == size ? 0 : rank + 1;
  const int previous = chunks.before(rank);

  int chunk = previous;
  Payload outgoing = comm.pool().copy_of(chunks[chunk]);
  for (int step = 0; step < size - 1; ++step) {
    const Payload received =
        co_await comm.exchange(call.at(chunks.range(chunk).offset), next, std::move(outgoing), previous);
    chunk = chunks.before(chunk);
    // The last chunk that comes by is this rank's own: it has been everywhere else, and stays.
    if (step == size - 2) {
      reduce_add(chunks[chunk], received);
    } else {
      outgoing = reduced(comm.pool(), received, chunks[chunk]);
    }
  }
  CHECK_EQ(chunk, rank);
}

}  // namespace

// Not a coroutine: where buffers have no elements, a rank does not hold the loop's frame.
Task<> ring_reduce_scatter(Communicator& comm, Call call, BufferView buffer) {
  const Group& group = *call.group;
  if (group.size() == 1 || buffer.count == 0 || !is_scheduled(comm, buffer)) return scatter(comm, call, buffer);
  const int previous = group.rank == 0 ? group.size() - 1 : group.rank - 1;
  return exchange_around_ring(comm, call, buffer, previous, group.size() - 1);
}

}  // namespace rehearse
