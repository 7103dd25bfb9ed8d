#include "core/comm/direct_scatter.h"

#include <utility>

#include "core/comm/reduce.h"

namespace rehearse {

Task<> direct_scatter(Communicator& comm, Call call, std::vector<BufferView> from, BufferView own, int root) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  CHECK_GE(root, 0);
  CHECK_LT(root, size);
  if (rank != root) {
    CHECK(from.empty());
    if (own.count == 0) co_return;
    const Payload received = co_await comm.recv(call, root);
    copy_elements(own, received);
    co_return;
  }
  CHECK_EQ(from.size(), static_cast<std::size_t>(size));
  copy_view(own, from[static_cast<std::size_t>(root)]);
  for (int r = 0; r < size; ++r) {
    const BufferView part = from[static_cast<std::size_t>(r)];
    if (r == root || part.count == 0) continue;
    Payload message = comm.pool().copy_of(part);
    co_await comm.send(call, r, std::move(message));
  }
}

}  // namespace rehearse
