#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace rehearse {

// What an event is delivered to; `argument` is the sink's own.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(std::uint64_t argument) = 0;
};

struct Event {
  TimePoint time;
  std::uint64_t sequence : 63;
  std::uint64_t background : 1;  // does not keep the simulation going by itself (heartbeats, scans)
  EventSink* sink;
  std::uint64_t argument;
};
static_assert(sizeof(Event) == 32);

// Events by (time, sequence), a total order. A stable radix heap: an event lies in the bucket of the highest bit in
// which its time differs from the last popped time, and keeps its place among equals, so that events of one time leave
// in the order they were pushed. Two events of one time are always in one bucket: popping a time between two pushes of
// it would have emptied the bucket that held the first. Pushes are monotone: never before the last popped time.
class EventQueue {
 public:
  // Requires time >= the last popped time, and sequence above every one pushed before.
  void push(const Event& event);
  // The earliest event; requires !empty().
  Event pop();
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  static constexpr int kBuckets = 65;
  int bucket_of(TimePoint time) const;
  void redistribute();

  std::array<std::vector<Event>, kBuckets> buckets_;
  std::uint64_t occupied_ = 0;  // bit b - 1: bucket b is not empty, b >= 1
  std::size_t head_ = 0;        // first event of bucket 0 that was not popped
  std::size_t size_ = 0;
  TimePoint last_;
};

}  // namespace rehearse
