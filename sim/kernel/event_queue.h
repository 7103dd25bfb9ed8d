#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/check.h"
#include "core/base/units.h"

namespace rehearse {

// What an event is delivered to; `argument` is the sink's own.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(std::uint64_t argument) = 0;
  // The event is among the next ones: what it will touch may be fetched from memory, nothing else. Many ranks are more
  // than caches hold, and the misses of several events take the time of one.
  virtual void expect(std::uint64_t /*argument*/) const {}
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
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // Requires time >= the last popped time, and sequence above every one pushed before.
  void push(const Event& event) {
    CHECK_GE(event.time.ps(), last_.ps());
    put(event);
    ++size_;
  }
  // The earliest event; requires !empty().
  Event pop() {
    CHECK_GT(size_, 0U);
    if (buckets_[0].first == nullptr) refill();
    --size_;
    Bucket& front = buckets_[0];
    const Event event = front.first->events[head_++];
    --front.count;
    if (head_ == front.first->count) {
      drop_first(front);
      head_ = 0;
    }
    return event;
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  static constexpr int kBuckets = 65;
  static constexpr std::uint32_t kBlock = 63;
  // Events in the order they were put in. Blocks go from bucket to bucket, so that memory is that of the events there
  // are and not that of each bucket at its fullest.
  struct Block {
    std::array<Event, kBlock> events;
    Block* next = nullptr;
    std::uint32_t count = 0;
  };
  struct Bucket {
    Block* first = nullptr;
    Block* last = nullptr;
    std::size_t count = 0;  // events that were not popped
  };

  int bucket_of(TimePoint time) const { return std::bit_width(static_cast<std::uint64_t>(time.ps() ^ last_.ps())); }
  void put(const Event& event) {
    const int number = bucket_of(event.time);
    Bucket& bucket = buckets_[static_cast<std::size_t>(number)];
    if (bucket.last == nullptr || bucket.last->count == kBlock) add_block(bucket);
    bucket.last->events[bucket.last->count++] = event;
    ++bucket.count;
    if (number > 0) occupied_ |= std::uint64_t{1} << (number - 1);
  }
  void add_block(Bucket& bucket);
  void drop_first(Bucket& bucket) {
    Block* block = bucket.first;
    bucket.first = block->next;
    if (bucket.first == nullptr) bucket.last = nullptr;
    block->next = free_;
    free_ = block;
  }
  // Advances the last popped time to the earliest there is and spreads its bucket over the lower ones, in order.
  void refill();
  void expect(const Bucket& bucket) const;

  std::array<Bucket, kBuckets> buckets_;
  std::uint64_t occupied_ = 0;  // bit b - 1: bucket b is not empty, b >= 1
  std::uint32_t head_ = 0;      // first event of bucket 0's first block that was not popped
  std::size_t size_ = 0;
  TimePoint last_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Block* free_ = nullptr;
};

}  // namespace rehearse
