#include "core/comm/recursive_steps.h"

#include <utility>

#include "core/comm/chunks.h"
#include "core/comm/reduce.h"

namespace rehearse {

SlotPieces SlotPieces::equal(BufferView buffer, const FoldedRanks& ranks) {
  std::vector<std::int64_t> starts;
  for (int slot = 0; slot < ranks.slots(); ++slot) {
    starts.push_back(chunk_range(buffer.count, ranks.slots(), slot).offset);
  }
  starts.push_back(buffer.count);
  return SlotPieces(buffer, std::move(starts));
}

SlotPieces SlotPieces::of_rank_chunks(BufferView buffer, const FoldedRanks& ranks, int size) {
  std::vector<std::int64_t> starts;
  for (int slot = 0; slot < ranks.slots(); ++slot) {
    starts.push_back(chunk_range(buffer.count, size, ranks.rank_of(slot)).offset);
  }
  starts.push_back(buffer.count);
  return SlotPieces(buffer, std::move(starts));
}

Task<> fold(Communicator& comm, Call call, BufferView buffer, FoldedRanks ranks) {
  const int rank = call.group->rank;
  if (!ranks.in_pair(rank)) co_return;
  if (ranks.is_folded(rank)) {
    Payload own = comm.pool().copy_of(buffer);
    co_await comm.send(call.at(0), rank - 1, std::move(own));
  } else {
    const Payload received = co_await comm.recv(call, rank + 1);
    reduce_add_in_order(buffer, received, First::kOwn);
  }
}

Task<> unfold(Communicator& comm, Call call, BufferView buffer, FoldedRanks ranks) {
  const int rank = call.group->rank;
  if (!ranks.in_pair(rank)) co_return;
  if (ranks.is_folded(rank)) {
    const Payload received = co_await comm.recv(call, rank - 1);
    copy_elements(buffer, received);
  } else {
    Payload all = comm.pool().copy_of(buffer);
    co_await comm.send(call.at(0), rank + 1, std::move(all));
  }
}

Task<> halve(Communicator& comm, Call call, const SlotPieces& pieces, FoldedRanks ranks) {
  if (ranks.is_folded(call.group->rank)) co_return;
  const int slot = ranks.slot_of(call.group->rank);
  int first = 0;  // this slot still has pieces first..first + 2 distance - 1
  for (int distance = ranks.slots() / 2; distance > 0; distance /= 2) {
    const bool lower = slot < first + distance;
    const int kept = lower ? first : first + distance;
    const int given = lower ? first + distance : first;
    const int partner = ranks.rank_of(slot ^ distance);
    Payload half = comm.pool().copy_of(pieces.view(given, given + distance));
    const Payload received = co_await comm.exchange(call.at(pieces.start(given)), partner, std::move(half), partner);
    reduce_add_in_order(pieces.view(kept, kept + distance), received, lower ? First::kOwn : First::kReceived);
    first = kept;
  }
  CHECK_EQ(first, slot);
}

Task<> collect(Communicator& comm, Call call, const SlotPieces& pieces, FoldedRanks ranks) {
  if (ranks.is_folded(call.group->rank)) co_return;
  const int slot = ranks.slot_of(call.group->rank);
  int first = slot;  // this slot has pieces first..first + distance - 1
  for (int distance = 1; distance < ranks.slots(); distance *= 2) {
    const int missing = first ^ distance;
    const int partner = ranks.rank_of(slot ^ distance);
    Payload have = comm.pool().copy_of(pieces.view(first, first + distance));
    const Payload received = co_await comm.exchange(call.at(pieces.start(first)), partner, std::move(have), partner);
    copy_elements(pieces.view(missing, missing + distance), received);
    if (missing < first) first = missing;
  }
}

}  // namespace rehearse
