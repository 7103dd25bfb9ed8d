#include "core/comm/halving_doubling_all_reduce.h"

#include "core/comm/recursive_steps.h"

namespace rehearse {

Task<> halving_doubling_all_reduce(Communicator& comm, Call call, BufferView buffer) {
  const int size = call.group->size();
  if (size == 1 || buffer.count == 0) co_return;
  const FoldedRanks ranks(size);
  const SlotPieces pieces = SlotPieces::equal(buffer, ranks);
  co_await fold(comm, call, buffer, ranks);
  co_await halve(comm, call, pieces, ranks);
  co_await collect(comm, call, pieces, ranks);
  co_await unfold(comm, call, buffer, ranks);
}

}  // namespace rehearse
