#pragma once

#include <cstdint>
#include <vector>

#include "core/comm/folded_ranks.h"
#include "core/runtime/communicator.h"

namespace rehearse {

// What the recursive algorithms are made of; their headers say what comes out. All do nothing for ranks that have no
// part in them, and throw CommError of their messages. `pieces` must outlive the Task.

// A buffer cut into one piece a slot, pieces one after the other.
class SlotPieces {
 public:
  // `starts` has one entry a slot and then the number of elements.
  SlotPieces(BufferView buffer, std::vector<std::int64_t> starts) : buffer_(buffer), starts_(std::move(starts)) {}
  // As many pieces as slots, as equal as they can be (chunks.h).
  static SlotPieces equal(BufferView buffer, const FoldedRanks& ranks);
  // The chunks of all N ranks (chunks.h): a slot of a pair has two.
  static SlotPieces of_rank_chunks(BufferView buffer, const FoldedRanks& ranks, int size);

  std::int64_t start(int slot) const { return starts_[static_cast<std::size_t>(slot)]; }
  // Slots first..last-1.
  BufferView view(int first, int last) const { return buffer_.subview(start(first), start(last) - start(first)); }

 private:
  BufferView buffer_;
  std::vector<std::int64_t> starts_;
};

// The odd rank of each pair sends the whole buffer; the even one adds: own + received, the lower rank first.
Task<> fold(Communicator& comm, Call call, BufferView buffer, FoldedRanks ranks);
// The even rank of each pair sends the whole buffer back.
Task<> unfold(Communicator& comm, Call call, BufferView buffer, FoldedRanks ranks);
// Recursive halving. Rounds d = P/2, P/4, ..., 1: slot v and v XOR d, which hold partial sums of the same pieces, halve
// them between them, give each other the half they do not keep, and add, the lower slot's numbers first. Then slot v
// has the sum of piece v.
Task<> halve(Communicator& comm, Call call, const SlotPieces& pieces, FoldedRanks ranks);
// Recursive doubling of what a slot has. Rounds d = 1, 2, ..., P/2: slot v and v XOR d give each other all the pieces
// they have.
Task<> collect(Communicator& comm, Call call, const SlotPieces& pieces, FoldedRanks ranks);

}  // namespace rehearse
