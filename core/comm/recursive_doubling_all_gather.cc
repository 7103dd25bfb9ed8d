#include "core/comm/recursive_doubling_all_gather.h"

#include <utility>

#include "core/comm/chunks.h"
#include "core/comm/recursive_steps.h"
#include "core/comm/reduce.h"

namespace rehearse {

Task<> recursive_doubling_all_gather(Communicator& comm, Call call, BufferView buffer) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  if (size == 1 || buffer.count == 0) co_return;
  const FoldedRanks ranks(size);
  const SlotPieces pieces = SlotPieces::of_rank_chunks(buffer, ranks, size);
  const Chunks chunks(buffer, size);
  if (ranks.is_folded(rank)) {
    Payload own = comm.pool().copy_of(chunks[rank]);
    co_await comm.send(call.at(chunks.range(rank).offset), rank - 1, std::move(own));
  } else if (ranks.in_pair(rank)) {
    const Payload received = co_await comm.recv(call, rank + 1);
    copy_elements(chunks[rank + 1], received);
  }
  co_await collect(comm, call, pieces, ranks);
  co_await unfold(comm, call, buffer, ranks);
}

}  // namespace rehearse
