#include "core/comm/binomial_reduce.h"

#include <utility>

#include "core/comm/reduce.h"

namespace rehearse {

Task<> binomial_reduce(Communicator& comm, Call call, BufferView buffer, int root) {
  const int size = call.group->size();
  CHECK_GE(root, 0);
  CHECK_LT(root, size);
  if (size == 1 || buffer.count == 0) co_return;
  const int v = (call.group->rank - root + size) % size;

  int bit = 1;
  for (; bit < size && (v & bit) == 0; bit *= 2) {
    if (v + bit >= size) continue;
    const int child = (v + bit + root) % size;
    const Payload received = co_await comm.recv(call, child);
    reduce_add_in_order(buffer, received, First::kOwn);
  }
  if (v == 0) co_return;
  const int parent = (v - bit + root) % size;
  Payload sum = comm.pool().copy_of(buffer);
  co_await comm.send(call.at(0), parent, std::move(sum));
}

}  // namespace rehearse
