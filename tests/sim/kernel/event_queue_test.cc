#include "sim/kernel/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "core/base/random.h"

namespace rehearse {
namespace {

Event make_event(std::int64_t ps, std::uint64_t sequence) {
  Event event{};
  event.time = TimePoint::at(Duration::picoseconds(ps));
  event.sequence = sequence;
  return event;
}

TEST(EventQueue, PopsByTimeThenSequenceUnderRandomMonotonePushes) {
  RandomStream random(5);
  for (int round = 0; round < 50; ++round) {
    EventQueue queue;
    std::vector<std::tuple<std::int64_t, std::uint64_t>> model;
    std::int64_t now = 0;
    std::uint64_t sequence = 0;
    // Small spans make many equal times; large ones use the high buckets.
    const std::uint64_t span = std::uint64_t{1} << random.below(62);
    for (int step = 0; step < 400; ++step) {
      if (model.empty() || random.chance(11, 20)) {
        const std::int64_t room = INT64_MAX - now;
        const auto ahead = static_cast<std::int64_t>(random.below(std::min<std::uint64_t>(span, room) + 1));
        queue.push(make_event(now + ahead, sequence));
        model.emplace_back(now + ahead, sequence++);
      } else {
        const auto first = std::min_element(model.begin(), model.end());
        const Event popped = queue.pop();
        ASSERT_EQ(popped.time.ps(), std::get<0>(*first));
        ASSERT_EQ(popped.sequence, std::get<1>(*first));
        now = popped.time.ps();
        model.erase(first);
      }
      ASSERT_EQ(queue.size(), model.size());
    }
  }
}

TEST(EventQueueDeathTest, RefusesThePast) {
  EventQueue queue;
  queue.push(make_event(10, 0));
  queue.pop();
  EXPECT_DEATH(queue.push(make_event(9, 1)), "CHECK failed");
}

}  // namespace
}  // namespace rehearse
