#pragma once

#include <cstdint>

#include "core/runtime/rank_context.h"

namespace rehearse {

// This rank's end of a group: who is in it, and which call comes next. Every rank of the group makes one with the same
// id, generation and ranks, and calls the same collectives on it in the same order; the n-th call of one rank then
// meets the n-th call of every other, which is all that matching needs.
//
// A call takes its number when the function is *called*, not when its Task is awaited, so that
//
//   Activity<void> first = context.spawn("unit 0", all_reduce(group, unit_0));   // sequence 0
//   Activity<void> second = context.spawn("unit 1", all_reduce(group, unit_1));  // sequence 1, at the same time
//
// match on all ranks, however the two interleave. A Task that is made and dropped still has used its number.
//
// It stays where it was made (calls in flight point to it) and outlives its calls. After a CommError the collectives of
// this group no longer agree about what was said: make a group of a newer generation.
class ProcessGroup {
 public:
  // `group.id` tells groups that share ranks apart and is the same on all of its ranks; 0 is the world's. A send or
  // receive of a collective that waits longer than `timeout` fails with CommError kTimeout.
  ProcessGroup(RankContext& context, Group group, Duration timeout = kForever);
  // All ranks in their order, in the context's generation; another id than 0 for a group beside the world's.
  static ProcessGroup world(RankContext& context, Duration timeout = kForever, std::uint32_t id = 0);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return group_.rank; }
  int size() const { return group_.size(); }
  const Group& group() const { return group_; }
  RankContext& context() const { return *context_; }

  // The tag of the next call; each is given out once.
  Call next_call(Operation operation) { return Call(group_, sequence_++, operation, timeout_); }
  // How many calls were made.
  std::uint64_t sequence() const { return sequence_; }

 private:
  RankContext* context_;
  Group group_;
  Duration timeout_;
  std::uint64_t sequence_ = 0;
};

}  // namespace rehearse
