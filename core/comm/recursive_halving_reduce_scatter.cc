#include "core/comm/recursive_halving_reduce_scatter.h"

#include <utility>

#include "core/comm/chunks.h"
#include "core/comm/recursive_steps.h"
#include "core/comm/reduce.h"

namespace rehearse {

Task<> recursive_halving_reduce_scatter(Communicator& comm, Call call, BufferView buffer) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  if (size == 1 || buffer.count == 0) co_return;
  const FoldedRanks ranks(size);
  const SlotPieces pieces = SlotPieces::of_rank_chunks(buffer, ranks, size);
  co_await fold(comm, call, buffer, ranks);
  co_await halve(comm, call, pieces, ranks);
  if (!ranks.in_pair(rank)) co_return;
  const Chunks chunks(buffer, size);
  if (ranks.is_folded(rank)) {
    const Payload received = co_await comm.recv(call, rank - 1);
    copy_elements(chunks[rank], received);
  } else {
    Payload other = comm.pool().copy_of(chunks[rank + 1]);
    co_await comm.send(call.at(chunks.range(rank + 1).offset), rank + 1, std::move(other));
  }
}

}  // namespace rehearse
