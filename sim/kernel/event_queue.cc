#include "sim/kernel/event_queue.h"

#include <bit>

#include "core/base/check.h"

namespace rehearse {

int EventQueue::bucket_of(TimePoint time) const {
  const auto difference = static_cast<std::uint64_t>(time.ps() ^ last_.ps());
  return std::bit_width(difference);
}

void EventQueue::push(const Event& event) {
  CHECK_GE(event.time.ps(), last_.ps());
  const int bucket = bucket_of(event.time);
  buckets_[static_cast<std::size_t>(bucket)].push_back(event);
  if (bucket > 0) occupied_ |= std::uint64_t{1} << (bucket - 1);
  ++size_;
}

Event EventQueue::pop() {
  CHECK_GT(size_, 0U);
  std::vector<Event>& front = buckets_[0];
  if (head_ == front.size()) {
    front.clear();
    head_ = 0;
    redistribute();
  }
  --size_;
  return front[head_++];
}

// Advances the last popped time to the earliest there is and spreads its bucket over the lower ones, in order.
void EventQueue::redistribute() {
  CHECK_NE(occupied_, 0U);
  const int bucket = std::countr_zero(occupied_) + 1;
  occupied_ &= occupied_ - 1;
  std::vector<Event>& events = buckets_[static_cast<std::size_t>(bucket)];
  TimePoint earliest = events.front().time;
  for (const Event& event : events) {
    if (event.time < earliest) earliest = event.time;
  }
  last_ = earliest;
  for (const Event& event : events) {
    const int target = bucket_of(event.time);
    buckets_[static_cast<std::size_t>(target)].push_back(event);
    if (target > 0) occupied_ |= std::uint64_t{1} << (target - 1);
  }
  events.clear();
}

}  // namespace rehearse
