#include "sim/kernel/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/random.h"

namespace rehearse {
namespace {

// Counts how often each event was expected.
class Expecting : public EventSink {
 public:
  void on_event(std::uint64_t) override {}
  void expect(std::uint64_t argument) const override { ++times[argument]; }
  mutable std::map<std::uint64_t, int> times;
};

Event make_event(std::int64_t ps, std::uint64_t sequence, EventSink* sink) {
  Event event{};
  event.sink = sink;
  event.argument = sequence;
  event.time = TimePoint::at(Duration::picoseconds(ps));
  event.sequence = sequence;
  return event;
}

TEST(EventQueue, PopsByTimeThenSequenceUnderRandomMonotonePushes) {
  RandomStream random(5);
  for (int round = 0; round < 50; ++round) {
    Expecting sink;
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
        queue.push(make_event(now + ahead, sequence, &sink));
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

// Thousands at a time, of which many share a moment; each is expected once at most, and before it is popped.
TEST(EventQueue, HoldsMoreThanABlockOfEventsAndExpectsEachOnce) {
  constexpr std::uint64_t kEvents = 20'000;
  RandomStream random(6);
  for (const std::uint64_t span : {std::uint64_t{1}, std::uint64_t{300}, std::uint64_t{1} << 40}) {
    Expecting sink;
    EventQueue queue;
    std::vector<std::pair<std::int64_t, std::uint64_t>> model;
    for (std::uint64_t sequence = 0; sequence < kEvents; ++sequence) {
      const auto ps = static_cast<std::int64_t>(random.below(span));
      queue.push(make_event(ps, sequence, &sink));
      model.emplace_back(ps, sequence);
    }
    std::sort(model.begin(), model.end());
    std::map<std::uint64_t, int> expected_when_popped;
    for (const auto& [ps, sequence] : model) {
      const Event popped = queue.pop();
      ASSERT_EQ(popped.time.ps(), ps);
      ASSERT_EQ(popped.sequence, sequence);
      expected_when_popped[sequence] = sink.times[sequence];
      ASSERT_LE(sink.times[sequence], 1);
    }
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(sink.times, expected_when_popped);
  }
}

TEST(EventQueueDeathTest, RefusesThePast) {
  Expecting sink;
  EventQueue queue;
  queue.push(make_event(10, 0, &sink));
  queue.pop();
  EXPECT_DEATH(queue.push(make_event(9, 1, &sink)), "CHECK failed");
}

}  // namespace
}  // namespace rehearse
