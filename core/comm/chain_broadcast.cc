#include "core/comm/chain_broadcast.h"

#include <utility>

#include "core/comm/reduce.h"
#include "core/comm/segments.h"

namespace rehearse {

Task<> chain_broadcast(Communicator& comm, Call call, BufferView buffer, int root, Bytes segment) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  CHECK_GE(root, 0);
  CHECK_LT(root, size);
  if (size == 1 || buffer.count == 0) co_return;
  const int v = (rank - root + size) % size;
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  const int count = segments_of(buffer, segment);
  const Chunks segments(buffer, count);

  if (v == 0) {
    for (int k = 0; k < count; ++k) {
      Payload message = comm.pool().copy_of(segments[k]);
      co_await comm.send(call.at(segments.range(k).offset), next, std::move(message));
    }
    co_return;
  }
  Payload message = co_await comm.recv(call, previous);
  copy_elements(segments[0], message);
  for (int k = 1; k < count; ++k) {
    if (v == size - 1) {
      message = co_await comm.recv(call, previous);
    } else {
      message = co_await comm.exchange(call.at(segments.range(k - 1).offset), next, std::move(message), previous);
    }
    copy_elements(segments[k], message);
  }
  if (v == size - 1) co_return;
  co_await comm.send(call.at(segments.range(count - 1).offset), next, std::move(message));
}

}  // namespace rehearse
