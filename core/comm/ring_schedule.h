#pragma once

#include "core/comm/chunks.h"
#include "core/runtime/communicator.h"
#include "core/runtime/exchange_schedule.h"

namespace rehearse {

// What a ring sends and receives: in step s this rank i sends chunk first-s to rank i+1 and receives chunk first-1-s
// from rank i-1, chunks counted around the ring. A reduce-scatter begins with first = i-1 and an all-gather with
// first = i, which is where the reduce-scatter's N-1 steps end: an all-reduce is 2(N-1) steps in a row. Requires two
// ranks or more, and 1 to 2(N-1) steps.
class RingSchedule final : public ExchangeSchedule {
 public:
  RingSchedule(const Group& group, BufferView buffer, int first, int steps)
      : chunks_(buffer, group.size()),
        element_(size_of(buffer.dtype)),
        size_(group.size()),
        next_(group.rank + 1 == size_ ? 0 : group.rank + 1),
        previous_(chunks_.before(group.rank)),
        first_(first),
        steps_(steps) {}

  int steps() const override { return steps_; }
  ScheduledExchange at(int step) const override {
    int sent = first_ - step;
    while (sent < 0) sent += size_;
    const ChunkRange out = chunks_.range(sent);
    const ChunkRange in = chunks_.range(chunks_.before(sent));
    return ScheduledExchange(next_, previous_, out.offset, Bytes(out.count * element_), Bytes(in.count * element_));
  }

 private:
  Chunks chunks_;
  std::int64_t element_;  // bytes
  int size_;
  int next_;
  int previous_;
  int first_;
  int steps_;
};

// Whether exchanges of `buffer` go to the transport at once.
inline bool is_scheduled(const Communicator& comm, const BufferView& buffer) {
  return !buffer.has_elements() && comm.takes_schedules();
}

// Requires is_scheduled().
Task<> exchange_around_ring(Communicator& comm, Call call, BufferView buffer, int first, int steps);

}  // namespace rehearse
