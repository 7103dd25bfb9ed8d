#include "core/comm/recursive_doubling_all_reduce.h"

#include <utility>

#include "core/comm/recursive_steps.h"
#include "core/comm/reduce.h"

namespace rehearse {

Task<> recursive_doubling_all_reduce(Communicator& comm, Call call, BufferView buffer) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  if (size == 1 || buffer.count == 0) co_return;
  const FoldedRanks ranks(size);
  co_await fold(comm, call, buffer, ranks);
  if (!ranks.is_folded(rank)) {
    const int slot = ranks.slot_of(rank);
    for (int distance = 1; distance < ranks.slots(); distance *= 2) {
      const int partner = ranks.rank_of(slot ^ distance);
      Payload own = comm.pool().copy_of(buffer);
      const Payload received = co_await comm.exchange(call.at(0), partner, std::move(own), partner);
      reduce_add_in_order(buffer, received, (slot & distance) == 0 ? First::kOwn : First::kReceived);
    }
  }
  co_await unfold(comm, call, buffer, ranks);
}

}  // namespace rehearse
