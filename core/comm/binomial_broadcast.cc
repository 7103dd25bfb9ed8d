#include "core/comm/binomial_broadcast.h"

#include <utility>

#include "core/comm/reduce.h"

namespace rehearse {

Task<> binomial_broadcast(Communicator& comm, Call call, BufferView buffer, int root) {
  const int size = call.group->size();
  CHECK_GE(root, 0);
  CHECK_LT(root, size);
  if (size == 1 || buffer.count == 0) co_return;
  const int v = (call.group->rank - root + size) % size;

  // Up to the lowest set bit of v, where its parent is; past the highest for the root, which has none.
  int bit = 1;
  while (bit < size && (v & bit) == 0) bit *= 2;

  Payload message;
  if (v == 0) {
    message = comm.pool().copy_of(buffer);
  } else {
    const int parent = (v - bit + root) % size;
    Payload received = co_await comm.recv(call, parent);
    copy_elements(buffer, received);
    message = std::move(received);
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (v + bit >= size) continue;
    const int child = (v + bit + root) % size;
    Payload copy = message;  // shares the bytes
    co_await comm.send(call.at(0), child, std::move(copy));
  }
}

}  // namespace rehearse
