#include "sim/kernel/event_queue.h"

#include <algorithm>

namespace rehearse {
namespace {

// As many events are expected at a time: enough for their misses to overlap, few enough to stay in the first cache.
constexpr std::size_t kExpected = 16;

}  // namespace

void EventQueue::add_block(Bucket& bucket) {
  Block* block = free_;
  if (block == nullptr) {
    blocks_.push_back(std::make_unique<Block>());
    block = blocks_.back().get();
  } else {
    free_ = block->next;
  }
  block->next = nullptr;
  block->count = 0;
  (bucket.last != nullptr ? bucket.last->next : bucket.first) = block;
  bucket.last = block;
}

void EventQueue::refill() {
  CHECK_NE(occupied_, 0U);
  const int number = std::countr_zero(occupied_) + 1;
  occupied_ &= occupied_ - 1;
  Bucket& bucket = buckets_[static_cast<std::size_t>(number)];
  TimePoint earliest = bucket.first->events[0].time;
  for (const Block* block = bucket.first; block != nullptr; block = block->next) {
    for (std::uint32_t i = 0; i < block->count; ++i) earliest = std::min(earliest, block->events[i].time);
  }
  last_ = earliest;
  const std::size_t spread = bucket.count;
  while (bucket.first != nullptr) {
    Block* block = bucket.first;
    for (std::uint32_t i = 0; i < block->count; ++i) put(block->events[i]);
    drop_first(bucket);
  }
  bucket.count = 0;
  if (spread <= kExpected) return;
  // Once for each event: when it comes among few.
  for (int lower = 0; lower < number; ++lower) expect(buckets_[static_cast<std::size_t>(lower)]);
}

void EventQueue::expect(const Bucket& bucket) const {
  if (bucket.count > kExpected) return;
  for (const Block* block = bucket.first; block != nullptr; block = block->next) {
    for (std::uint32_t i = 0; i < block->count; ++i) block->events[i].sink->expect(block->events[i].argument);
  }
}

}  // namespace rehearse
