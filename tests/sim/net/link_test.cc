// Disturbed links of the switch, to the picosecond.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/base/random.h"
#include "sim/net/port_fabric.h"
#include "tests/sim/net/scripted_links.h"

namespace rehearse {
namespace {

// alpha = 1,000 ps, a byte takes 1 ps.
class Bench : public FabricListener, private EventSink {
 public:
  struct Sent {
    std::int64_t at = 0;
    int source = 0;
    int destination = 1;
    std::int64_t bytes = 100;
    PathEffect effect;
  };
  explicit Bench(std::vector<Sent> messages) : messages_(std::move(messages)) {
    NetworkConfig config;
    config.latency = Duration::picoseconds(1000);
    config.bandwidth = Bandwidth::bits_per_second(8'000'000'000'000);
    fabric_ = std::make_unique<PortFabric>(kernel_, *this, config, 4, RandomStream(1));
    left.resize(messages_.size());
    there.resize(messages_.size(), -1);
    kernel_.process_started();
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      kernel_.schedule(TimePoint::at(Duration::picoseconds(messages_[i].at)), this, i);
    }
    EXPECT_EQ(kernel_.run(), RunEnd::kDeadlock);
  }
  std::vector<std::int64_t> left;
  std::vector<std::int64_t> there;  // -1: never
  std::vector<std::int64_t> copies;

 private:
  void on_event(std::uint64_t i) override {
    Sent& sent = messages_[i];
    sent.effect.copy = 1000 + i;
    left[i] = fabric_->send(sent.source, sent.destination, Bytes(sent.bytes), i, sent.effect).ps();
  }
  EventRecord record_of(std::uint64_t) const override { return EventRecord(); }
  void on_delivered(std::uint64_t message) override {
    if (message >= 1000) {
      copies.push_back(kernel_.now().ps());
    } else {
      there[message] = kernel_.now().ps();
    }
  }
  Kernel kernel_;
  std::vector<Sent> messages_;
  std::unique_ptr<PortFabric> fabric_;
};

using Times = std::vector<std::int64_t>;

PathEffect added(std::int64_t ps) {
  PathEffect effect;
  effect.added = Duration::picoseconds(ps);
  return effect;
}
PathEffect aside(std::int64_t ps) {
  PathEffect effect;
  effect.aside = Duration::picoseconds(ps);
  return effect;
}
PathEffect bandwidth(std::int64_t ppb) {
  PathEffect effect;
  effect.bandwidth_ppb = ppb;
  return effect;
}
PathEffect lost() {
  PathEffect effect;
  effect.lost = true;
  return effect;
}
PathEffect copied(std::int64_t after) {
  PathEffect effect;
  effect.copied = true;
  effect.copy_after = Duration::picoseconds(after);
  return effect;
}

TEST(Link, LatencyIsAddedBeforeThePort) {
  const Bench bench({{0, 0, 1, 100, added(700)}});
  EXPECT_EQ(bench.left, (Times{100}));
  EXPECT_EQ(bench.there, (Times{1800}));
}

// The first takes until 3,100; what follows on its link waits for it, on another link it does not.
TEST(Link, KeepsItsOrderWhenItGetsFasterAgain) {
  const Bench bench({{0, 0, 1, 100, added(2000)}, {200, 0, 1, 100, {}}, {400, 2, 1, 100, {}}, {5000, 0, 1, 100, {}}});
  EXPECT_EQ(bench.there, (Times{3100, 3200, 1500, 6100}));
}

TEST(Link, WhatIsSetAsideIsOvertaken) {
  const Bench bench({{0, 0, 1, 100, aside(2000)}, {200, 0, 1, 100, {}}});
  EXPECT_EQ(bench.there, (Times{3100, 1300}));
}

TEST(Link, ATenthOfTheBandwidthHoldsBothPortsTenTimesAsLong) {
  const Bench bench({{0, 0, 1, 100, bandwidth(100'000'000)}, {0, 0, 2, 100, {}}, {0, 3, 1, 100, {}}});
  EXPECT_EQ(bench.left, (Times{1000, 1100, 100}));
  EXPECT_EQ(bench.there, (Times{2000, 2100, 2100}));
}

// 8e12 bit/s x 0.3 is 2.4e12: 100 bytes take 333.3 ps, rounded up once.
TEST(Link, BandwidthIsRoundedOnce) { EXPECT_EQ(Bench({{0, 0, 1, 100, bandwidth(300'000'000)}}).there, (Times{1334})); }

TEST(Link, WhatIsLostHoldsItsSendersPortAlone) {
  const Bench bench({{0, 0, 1, 100, lost()}, {0, 0, 1, 100, {}}, {100, 2, 1, 100, {}}});
  EXPECT_EQ(bench.left, (Times{100, 200, 200}));
  EXPECT_EQ(bench.there, (Times{-1, 1200, 1300}));
}

TEST(Link, ACopyHoldsItsReceiversPortAlone) {
  const Bench bench({{0, 0, 1, 100, copied(0)}, {0, 0, 1, 100, {}}});
  EXPECT_EQ(bench.left, (Times{100, 200}));
  // The copy is right behind the first: the second waits for it.
  EXPECT_EQ(bench.there, (Times{1100, 1300}));
  EXPECT_EQ(bench.copies, (Times{1200}));
  EXPECT_EQ(Bench({{0, 0, 1, 100, copied(5000)}}).copies, (Times{6100}));
}

// An undisturbed effect gives the times of no effect at all.
TEST(Link, AnEffectOfNothingIsNone) {
  const Bench bench({{0, 0, 1, 500, {}}, {0, 1, 0, 700, {}}, {100, 2, 0, 300, {}}});
  EXPECT_EQ(bench.there, (Times{1500, 1700, 2000}));
}

// A ranked order of first bytes at the port holds when only some messages take longer: nobody is served early.
TEST(Link, ALateMessageDoesNotTakeThePortOfAnEarlierArrival) {
  const Bench bench({{0, 0, 1, 100, added(500)}, {300, 2, 1, 1000, {}}});
  EXPECT_EQ(bench.there, (Times{2400, 2300}));
}

}  // namespace
}  // namespace rehearse
