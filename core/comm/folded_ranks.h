#pragma once

#include "core/base/check.h"

namespace rehearse {

// How algorithms whose partners differ in one bit take any number of ranks (Thakur, Rabenseifner and Gropp, 2005). P is
// the largest power of two that is at most N. The first 2(N-P) ranks stand in pairs (0, 1), (2, 3), ...; the odd one of
// a pair gives its numbers to the even one at the start, which is called the fold, and is told the result at the end.
// The P others are the active ranks; slot v = 0..P-1 is the v-th of them. Pairs are neighbours and not r and P+r, so
// that the slots' chunks lie in the buffer one after the other.
class FoldedRanks {
 public:
  explicit FoldedRanks(int size) {
    CHECK_GE(size, 1);
    while (2 * slots_ <= size) slots_ *= 2;
    pairs_ = size - slots_;
  }

  int slots() const { return slots_; }
  int pairs() const { return pairs_; }
  bool in_pair(int rank) const { return rank < 2 * pairs_; }
  // Whether the rank only gives at the start and takes at the end.
  bool is_folded(int rank) const { return in_pair(rank) && rank % 2 == 1; }
  // The slot of an active rank; of a folded one, its partner's.
  int slot_of(int rank) const { return in_pair(rank) ? rank / 2 : rank - pairs_; }
  int rank_of(int slot) const { return slot < pairs_ ? 2 * slot : slot + pairs_; }

 private:
  int slots_ = 1;
  int pairs_ = 0;
};

}  // namespace rehearse
