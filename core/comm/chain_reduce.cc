#include "core/comm/chain_reduce.h"

#include <utility>

#include "core/comm/reduce.h"
#include "core/comm/segments.h"

namespace rehearse {

Task<> chain_reduce(Communicator& comm, Call call, BufferView buffer, int root, Bytes segment) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  CHECK_GE(root, 0);
  CHECK_LT(root, size);
  if (size == 1 || buffer.count == 0) co_return;
  const int v = (rank - root + size) % size;
  const int above = (rank + 1) % size;         // whose sums come here
  const int below = (rank + size - 1) % size;  // where sums go
  const int count = segments_of(buffer, segment);
  const Chunks segments(buffer, count);

  if (v == size - 1) {
    for (int k = 0; k < count; ++k) {
      Payload own = comm.pool().copy_of(segments[k]);
      co_await comm.send(call.at(segments.range(k).offset), below, std::move(own));
    }
    co_return;
  }
  Payload received = co_await comm.recv(call, above);
  for (int k = 0; k < count; ++k) {
    if (v == 0) {
      reduce_add_in_order(segments[k], received, First::kOwn);
      if (k + 1 < count) received = co_await comm.recv(call, above);
      continue;
    }
    Payload sum = reduced(comm.pool(), received, segments[k]);
    const Call here = call.at(segments.range(k).offset);
    if (k + 1 < count) {
      received = co_await comm.exchange(here, below, std::move(sum), above);
    } else {
      co_await comm.send(here, below, std::move(sum));
    }
  }
}

}  // namespace rehearse
