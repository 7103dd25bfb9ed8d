#include "core/comm/direct_gather.h"

#include <utility>

#include "core/comm/reduce.h"

namespace rehearse {

Task<> direct_gather(Communicator& comm, Call call, BufferView own, std::vector<BufferView> into, int root) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  CHECK_GE(root, 0);
  CHECK_LT(root, size);
  if (rank != root) {
    CHECK(into.empty());
    if (own.count == 0) co_return;
    Payload message = comm.pool().copy_of(own);
    co_await comm.send(call, root, std::move(message));
    co_return;
  }
  CHECK_EQ(into.size(), static_cast<std::size_t>(size));
  copy_view(into[static_cast<std::size_t>(root)], own);
  for (int r = 0; r < size; ++r) {
    const BufferView part = into[static_cast<std::size_t>(r)];
    if (r == root || part.count == 0) continue;
    const Payload received = co_await comm.recv(call, r);
    copy_elements(part, received);
  }
}

}  // namespace rehearse
