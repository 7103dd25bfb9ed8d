#include "core/comm/pairwise_all_to_all.h"

#include <utility>

#include "core/comm/reduce.h"

namespace rehearse {

Task<> pairwise_all_to_all(Communicator& comm, Call call, std::vector<BufferView> out, std::vector<BufferView> into) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  CHECK_EQ(out.size(), static_cast<std::size_t>(size));
  CHECK_EQ(into.size(), static_cast<std::size_t>(size));
  copy_view(into[static_cast<std::size_t>(rank)], out[static_cast<std::size_t>(rank)]);
  for (int step = 1; step < size; ++step) {
    const int to = (rank + step) % size;
    const int from = (rank - step + size) % size;
    const BufferView outgoing = out[static_cast<std::size_t>(to)];
    const BufferView incoming = into[static_cast<std::size_t>(from)];
    Payload message;
    if (outgoing.count > 0) message = comm.pool().copy_of(outgoing);
    if (outgoing.count > 0 && incoming.count > 0) {
      message = co_await comm.exchange(call, to, std::move(message), from);
    } else if (outgoing.count > 0) {
      co_await comm.send(call, to, std::move(message));
    } else if (incoming.count > 0) {
      message = co_await comm.recv(call, from);
    }
    if (incoming.count > 0) copy_elements(incoming, message);
  }
}

}  // namespace rehearse
