// The reliable transport, with links that fail by script: exact times and counts, derived by hand.

#include "sim/net/transport.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "sim/net/port_fabric.h"
#include "tests/sim/net/scripted_links.h"

namespace rehearse {
namespace {

using Log = std::vector<std::string>;

struct Sent {
  std::int64_t at = 0;  // ps
  int source = 0;
  int destination = 1;
  std::int64_t bytes = 100;
  std::uint32_t generation = 0;
};

// alpha = 1,000 ps, a byte takes 1 ps: 100 bytes from an idle port are there after 1,100 ps, and acknowledged after
// 2,100. The timeout is 10,000 ps from when the last byte left, at 100: a first retransmission at 10,100.
NetworkConfig small_network() {
  NetworkConfig network;
  network.latency = Duration::picoseconds(1000);
  network.bandwidth = Bandwidth::bits_per_second(8'000'000'000'000);
  return network;
}

TransportConfig small_transport() {
  TransportConfig config;
  config.retransmission_timeout = Duration::picoseconds(10'000);
  config.max_timeout = Duration::picoseconds(40'000);
  config.max_retries = 4;
  return config;
}

// Hands messages to a transport at their times and notes what it says of them, with the time.
class Bench : public FabricListener, private EventSink {
 public:
  Bench(std::vector<Sent> messages, ScriptedLinks::Script script, const TransportConfig& config = small_transport())
      : messages_(std::move(messages)),
        links_(std::move(script)),
        transport_(kernel_, *this, config, small_network(), 4, &links_) {
    transport_.set_fabric(std::make_unique<PortFabric>(kernel_, transport_, small_network(), 4, RandomStream(1)));
    kernel_.process_started();  // nothing ever ends it: the run goes on until no event is left
    for (std::size_t i = 0; i < messages_.size(); ++i) at(messages_[i].at, [this, i] { send(i); });
  }
  void at(std::int64_t ps, std::function<void()> action) {
    actions_.push_back(std::move(action));
    kernel_.schedule(TimePoint::at(Duration::picoseconds(ps)), this, actions_.size() - 1);
  }
  const Log& run() {
    EXPECT_EQ(kernel_.run(), RunEnd::kDeadlock);
    const TransportCounters& counters = transport_.counters();
    EXPECT_EQ(counters.on_their_way(), 0);
    EXPECT_GE(counters.accepted, counters.delivered);
    return log_;
  }
  Transport& transport() { return transport_; }
  const TransportCounters& counters() const { return transport_.counters(); }
  std::uint64_t events() const { return kernel_.events(); }

 private:
  void on_event(std::uint64_t i) override { actions_[i](); }
  void send(std::size_t i) {
    const Sent& sent = messages_[i];
    transport_.send(sent.source, sent.destination, Bytes(sent.bytes), i);
  }
  void note(const std::string& what) { log_.push_back(what + " at " + std::to_string(kernel_.now().ps())); }
  EventRecord record_of(std::uint64_t message) const override {
    const Sent& sent = messages_[message];
    EventRecord record;
    record.rank = sent.destination;
    record.peer = sent.source;
    record.generation = sent.generation;
    record.size = sent.bytes;
    record.index = 0;
    return record;
  }
  void on_delivered(std::uint64_t message) override { note(std::to_string(message)); }
  void on_corrupted(std::uint64_t message, std::uint64_t bit) override {
    note(std::to_string(message) + " wrong in bit " + std::to_string(bit));
  }
  void on_dropped(std::uint64_t message) override { note(std::to_string(message) + " dropped"); }
  void on_broken(int source, int destination, std::uint32_t generation) override {
    note("broken " + std::to_string(source) + " " + std::to_string(destination) + " in " + std::to_string(generation));
  }

  Kernel kernel_;
  std::vector<Sent> messages_;
  ScriptedLinks links_;
  Transport transport_;
  std::vector<std::function<void()>> actions_;
  Log log_;
};

void nothing(const LinkPacket&, int, TimePoint, PacketFate&) {}

// A script that does `what` to the n-th message from rank 0 to rank 1.
ScriptedLinks::Script to_message(int n, std::function<void(PacketFate&)> what) {
  return [n, what](const LinkPacket& packet, int index, TimePoint, PacketFate& fate) {
    if (!packet.is_ack && packet.source == 0 && packet.destination == 1 && index == n) what(fate);
  };
}
// To the n-th acknowledgement of them.
ScriptedLinks::Script to_ack(int n, std::function<void(PacketFate&)> what) {
  return [n, what](const LinkPacket& packet, int index, TimePoint, PacketFate& fate) {
    if (packet.is_ack && packet.source == 1 && index == n) what(fate);
  };
}
void lose(PacketFate& fate) { fate.path.lost = true; }
void corrupt(PacketFate& fate) {
  fate.corrupted = true;
  fate.bit = 17;
}

TEST(Transport, OverWholeLinksCostsNoTime) {
  Bench bench({{0}, {0}, {50, 2, 1, 300}}, nothing);
  // The incast waits at the port of rank 1 as without a transport.
  EXPECT_EQ(bench.run(), (Log{"0 at 1100", "2 at 1400", "1 at 1500"}));
  EXPECT_EQ(bench.counters().retransmitted, 0);
  EXPECT_EQ(bench.counters().acks, 3);
}

TEST(Transport, ALostPacketIsSentAgainAfterTheTimeout) {
  Bench bench({{0}}, to_message(1, lose));
  // Left at 100, sent again at 10,100, there 1,100 later.
  EXPECT_EQ(bench.run(), (Log{"0 at 11200"}));
  EXPECT_EQ(bench.counters().lost, 1);
  EXPECT_EQ(bench.counters().retransmitted, 1);
  EXPECT_EQ(bench.counters().bytes_retransmitted, Bytes(100));
}

TEST(Transport, TimeoutsGrowUpToTheirCap) {
  Bench bench({{0}}, [](const LinkPacket& packet, int index, TimePoint, PacketFate& fate) {
    fate.path.lost = !packet.is_ack && index <= 4;
  });
  // Sent at 0, then 10,000 after it left, 20,000, 40,000 and, at the cap, 40,000: 10,100, 30,200, 70,300, 110,400.
  EXPECT_EQ(bench.run(), (Log{"0 at 111500"}));
  EXPECT_EQ(bench.counters().retransmitted, 4);
}

TEST(Transport, RetriesUsedUpBreakTheConnectionOnBothSides) {
  Bench bench({{0}, {1000, 1, 0, 100}, {2000}}, [](const LinkPacket& packet, int, TimePoint, PacketFate& fate) {
    fate.path.lost = packet.source == 0 && !packet.is_ack;
  });
  // What rank 1 sends arrives; rank 0's acknowledgements are not struck. The fifth timeout, 40,000 after the fourth
  // retransmission left at 110,500, is the end, of the second message too.
  EXPECT_EQ(bench.run(), (Log{"1 at 2100", "0 dropped at 150500", "2 dropped at 150500", "broken 0 1 in 0 at 150500"}));
  EXPECT_EQ(bench.counters().broken, 1);
  EXPECT_EQ(bench.counters().delivered, 1);
  EXPECT_EQ(bench.counters().lost, bench.counters().messages - 1 + bench.counters().retransmitted);
}

TEST(Transport, ALostAcknowledgementCostsARetransmissionThatIsDropped) {
  Bench bench({{0}}, to_ack(1, lose));
  EXPECT_EQ(bench.run(), (Log{"0 at 1100"}));
  EXPECT_EQ(bench.counters().acks_lost, 1);
  EXPECT_EQ(bench.counters().retransmitted, 1);
  EXPECT_EQ(bench.counters().again, 1);
  EXPECT_EQ(bench.counters().acks, 2);
}

TEST(Transport, ACorruptAcknowledgementIsAsGoodAsLost) {
  Bench bench({{0}}, to_ack(1, corrupt));
  EXPECT_EQ(bench.run(), (Log{"0 at 1100"}));
  EXPECT_EQ(bench.counters().acks_lost, 1);
  EXPECT_EQ(bench.counters().retransmitted, 1);
}

TEST(Transport, ALaterAcknowledgementMakesUpForALostOne) {
  Bench bench({{0}, {200}}, to_ack(1, lose));
  EXPECT_EQ(bench.run(), (Log{"0 at 1100", "1 at 1300"}));
  EXPECT_EQ(bench.counters().retransmitted, 0);
}

TEST(Transport, TheLastPacketLostIsStillDelivered) {
  Bench bench({{0}, {200}, {400}}, to_message(3, lose));
  EXPECT_EQ(bench.run(), (Log{"0 at 1100", "1 at 1300", "2 at 11600"}));
}

TEST(Transport, PacketsBehindALostOneAreHeldAndNotSentAgain) {
  Bench bench({{0}, {200}, {400}}, to_message(1, lose));
  // All three at the moment the first is there.
  EXPECT_EQ(bench.run(), (Log{"0 at 11200", "1 at 11200", "2 at 11200"}));
  EXPECT_EQ(bench.counters().held, 2);
  EXPECT_EQ(bench.counters().retransmitted, 1);
}

// What counts is when a packet is handed over: one that is under way when its link goes down arrives, and one that was
// sent while it was down does not come when it is up again.
TEST(Transport, ALinkThatGoesDownLeavesAloneWhatIsUnderWay) {
  Bench bench({{0}, {11'500}}, [](const LinkPacket&, int, TimePoint now, PacketFate& fate) {
    fate.path.lost = now.ps() >= 500 && now.ps() < 12'000;
  });
  // The acknowledgement, at 1,100, is lost, and so are the first retransmission, at 10,100, and the second message,
  // which is sent again at 21,600.
  EXPECT_EQ(bench.run(), (Log{"0 at 1100", "1 at 22700"}));
  EXPECT_EQ(bench.counters().lost, 2);
  EXPECT_EQ(bench.counters().acks_lost, 1);
  // The acknowledgement of the second message says that the first is there.
  EXPECT_EQ(bench.counters().again, 0);
  EXPECT_EQ(bench.counters().retransmitted, 2);
}

TEST(Transport, ACopyIsDroppedAndAnsweredAgain) {
  Bench bench({{0}}, to_message(1, [](PacketFate& fate) {
                fate.path.copied = true;
                fate.path.copy_after = Duration::picoseconds(5000);
              }));
  EXPECT_EQ(bench.run(), (Log{"0 at 1100"}));
  EXPECT_EQ(bench.counters().copied, 1);
  EXPECT_EQ(bench.counters().again, 1);
  EXPECT_EQ(bench.counters().acks, 2);
}

TEST(Transport, ACopyOfAHeldPacketIsDropped) {
  Bench bench({{0}, {200}}, [](const LinkPacket& packet, int index, TimePoint, PacketFate& fate) {
    if (packet.is_ack) return;
    fate.path.lost = index == 1;
    fate.path.copied = index == 2;
  });
  EXPECT_EQ(bench.run(), (Log{"0 at 11200", "1 at 11200"}));
  EXPECT_EQ(bench.counters().again, 1);
}

TEST(Transport, AnOvertakenPacketIsDeliveredInItsTurn) {
  Bench bench({{0}, {200}, {400}},
              to_message(1, [](PacketFate& fate) { fate.path.aside = Duration::picoseconds(5000); }));
  EXPECT_EQ(bench.run(), (Log{"0 at 6100", "1 at 6100", "2 at 6100"}));
  EXPECT_EQ(bench.counters().held, 2);
  EXPECT_EQ(bench.counters().set_aside, 1);
  EXPECT_EQ(bench.counters().retransmitted, 0);
}

TEST(Transport, ADelayHoldsUpWhatIsBehindItOnTheLinkAlone) {
  Bench bench({{0}, {200}, {400, 0, 2, 100}},
              to_message(1, [](PacketFate& fate) { fate.path.added = Duration::picoseconds(5000); }));
  // Behind it at the port too: 100 more.
  EXPECT_EQ(bench.run(), (Log{"2 at 1500", "0 at 6100", "1 at 6200"}));
  EXPECT_EQ(bench.counters().held, 0);
}

TEST(Transport, AWrongChecksumIsADropAndARetransmission) {
  Bench bench({{0}}, to_message(1, corrupt));
  EXPECT_EQ(bench.run(), (Log{"0 at 11200"}));
  EXPECT_EQ(bench.counters().bits_inverted, 1);
  EXPECT_EQ(bench.counters().corrupt, 1);
  EXPECT_EQ(bench.counters().acks, 1);
}

TEST(Transport, WithoutChecksumsTheWrongBitIsDelivered) {
  TransportConfig config = small_transport();
  config.checksums = false;
  Bench bench({{0}}, to_message(1, corrupt), config);
  EXPECT_EQ(bench.run(), (Log{"0 wrong in bit 17 at 1100", "0 at 1100"}));
  EXPECT_EQ(bench.counters().corrupt_taken, 1);
  EXPECT_EQ(bench.counters().retransmitted, 0);
}

TEST(Transport, ATimeoutTooShortCostsPacketsAndNoOrder) {
  TransportConfig config = small_transport();
  config.retransmission_timeout = Duration::picoseconds(500);
  Bench bench({{0}, {0}, {0}}, nothing, config);
  EXPECT_EQ(bench.run(), (Log{"0 at 1100", "1 at 1200", "2 at 1300"}));
  EXPECT_GT(bench.counters().retransmitted, 0);
  EXPECT_EQ(bench.counters().again, bench.counters().retransmitted);
}

TEST(Transport, TheTimeoutFollowsFromLatencyJitterAndSize) {
  TransportConfig config = small_transport();
  config.retransmission_timeout.reset();
  // 4 x (1,000 + 1,000,000): well above the microsecond that it is at least.
  Bench large({{0, 0, 1, 1'000'000}}, to_message(1, lose), config);
  EXPECT_EQ(large.run(), (Log{"0 at " + std::to_string(1'000'000 + 4'004'000 + 1'001'000)}));
  Bench small({{0, 0, 1, 0}}, to_message(1, lose), config);
  EXPECT_EQ(small.run(), (Log{"0 at " + std::to_string(1'000'000 + 1'000)}));
}

TEST(Transport, AStartedProcessRefusesPacketsOfItsOldGeneration) {
  Bench bench({{0}, {600}}, to_message(1, [](PacketFate& fate) {
                fate.path.copied = true;
                fate.path.copy_after = Duration::picoseconds(3000);
              }));
  // The first is delivered; its copy and the second come when the receiver is of generation 1.
  bench.at(1200, [&] { bench.transport().on_started(1, 1); });
  EXPECT_EQ(bench.run(), (Log{"0 at 1100", "1 dropped at 1200"}));
  EXPECT_EQ(bench.counters().refused, 2);
  EXPECT_EQ(bench.counters().retransmitted, 0) << "who is refused does not try again";
}

TEST(Transport, ANewGenerationIsANewConnection) {
  Bench bench({{0}, {200}, {3000, 0, 1, 100, 1}, {3000, 0, 1, 100, 1}}, to_message(3, lose));
  bench.at(2500, [&] {
    bench.transport().on_started(0, 1);
    bench.transport().on_started(1, 1);
  });
  // The first two are gone without a trace, and numbers begin at 0 again.
  EXPECT_EQ(bench.run(), (Log{"0 at 1100", "1 at 1300", "2 at 14200", "3 at 14200"}));
}

TEST(Transport, WhatAProcessSentBeforeItCrashedIsSentAgainByItsHost) {
  Bench bench({{0}}, to_message(1, lose));
  bench.at(500, [&] { bench.transport().on_started(0, 1); });  // its successor; the receiver is of the old generation
  EXPECT_EQ(bench.run(), (Log{"0 at 11200"}));
}

TEST(Transport, ALostHostSendsNothingAgainAndAnswersNothing) {
  Bench bench({{0}, {0, 2, 0, 100}, {200}}, to_message(1, lose));
  bench.at(500, [&] { bench.transport().on_host_lost(0); });
  // The second from rank 0 was on its way and waits for the first in vain; the one to rank 0 is given up.
  EXPECT_EQ(bench.run(), (Log{"1 dropped at 150500", "broken 2 0 in 0 at 150500"}));
  EXPECT_EQ(bench.counters().refused, 5);
  EXPECT_EQ(bench.counters().accepted, 1);
  EXPECT_EQ(bench.counters().delivered, 0);
}

TEST(Transport, AHostThatComesBackHasForgotten) {
  Bench bench({{0}, {200}, {20'000, 0, 1, 100, 1}}, to_message(1, lose));
  bench.at(500, [&] { bench.transport().on_host_lost(0); });
  bench.at(15'000, [&] { bench.transport().on_started(0, 1); });
  EXPECT_EQ(bench.run(), (Log{"0 dropped at 15000", "1 dropped at 15000", "2 at 21100"}));
}

TEST(Transport, WhatComesOfABrokenConnectionIsRefused) {
  TransportConfig config = small_transport();
  config.max_retries = 0;
  Bench bench({{0}}, to_message(1, [](PacketFate& fate) { fate.path.aside = Duration::picoseconds(50'000); }), config);
  EXPECT_EQ(bench.run(), (Log{"0 dropped at 10100", "broken 0 1 in 0 at 10100"}));
  EXPECT_EQ(bench.counters().refused, 1);
}

// Whatever the links do, short of breaking a connection, every message arrives once and in order.
TEST(Transport, RandomLinksLoseNothingAndKeepTheOrder) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed);
    const std::uint64_t percent = random.below(60);
    std::vector<Sent> messages;
    std::map<std::pair<int, int>, std::vector<std::string>> expected;
    for (int i = 0; i < 60; ++i) {
      Sent one;
      one.at = static_cast<std::int64_t>(random.below(30'000));
      messages.push_back(one);
    }
    std::sort(messages.begin(), messages.end(), [](const Sent& a, const Sent& b) { return a.at < b.at; });
    for (int i = 0; i < 60; ++i) {
      Sent& one = messages[static_cast<std::size_t>(i)];
      one.source = static_cast<int>(random.below(3));
      one.destination = (one.source + 1 + static_cast<int>(random.below(2))) % 3;
      one.bytes = static_cast<std::int64_t>(random.below(2000));
      expected[{one.source, one.destination}].push_back(std::to_string(i));
    }
    TransportConfig config = small_transport();
    config.max_retries = 100;
    RandomStream fates = random.fork("fates");
    Bench bench(
        messages,
        [&](const LinkPacket& packet, int, TimePoint, PacketFate& fate) {
          fate.path.lost = fates.chance(percent, 100);
          fate.path.copied = fates.chance(percent, 100);
          fate.path.copy_after = Duration::picoseconds(static_cast<std::int64_t>(fates.below(30'000)));
          if (fates.chance(percent, 100)) {
            fate.path.aside = Duration::picoseconds(static_cast<std::int64_t>(fates.below(20'000)));
          }
          if (fates.chance(percent, 100)) {
            fate.path.added = Duration::picoseconds(static_cast<std::int64_t>(fates.below(5'000)));
          }
          fate.corrupted = packet.size > Bytes() && fates.chance(percent, 100);
        },
        config);
    std::map<std::pair<int, int>, std::vector<std::string>> found;
    for (const std::string& line : bench.run()) {
      const std::string number = line.substr(0, line.find(' '));
      const Sent& one = messages[std::stoul(number)];
      found[{one.source, one.destination}].push_back(number);
    }
    ASSERT_EQ(found, expected) << "seed " << seed;
    const TransportCounters& counters = bench.counters();
    ASSERT_EQ(counters.delivered, 60);
    ASSERT_EQ(counters.accepted, 60);
    ASSERT_EQ(counters.broken, 0);
  }
}

}  // namespace
}  // namespace rehearse
