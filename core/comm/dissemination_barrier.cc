#include "core/comm/dissemination_barrier.h"

#include <utility>

namespace rehearse {

Task<> dissemination_barrier(Communicator& comm, Call call) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  for (int distance = 1; distance < size; distance *= 2) {
    const int to = (rank + distance) % size;
    const int from = (rank - distance + size) % size;
    Payload empty;
    co_await comm.exchange(call, to, std::move(empty), from);
  }
}

}  // namespace rehearse
