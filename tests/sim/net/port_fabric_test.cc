#include "sim/net/port_fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/base/random.h"

namespace rehearse {
namespace {

struct Transfer {
  std::int64_t at = 0;  // ps
  int source = 0;
  int destination = 0;
  std::int64_t bytes = 0;
};

// Sends a list of transfers through the fabric and notes when each is delivered.
class Bench : public FabricListener, private EventSink {
 public:
  Bench(const NetworkConfig& config, int ranks, std::vector<Transfer> transfers)
      : transfers_(std::move(transfers)), fabric_(kernel_, *this, config, ranks, RandomStream(1)) {
    kernel_.process_started();  // nothing ever ends it: the run goes on until no event is left
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      kernel_.schedule(TimePoint::at(Duration::picoseconds(transfers_[i].at)), this, i);
    }
    EXPECT_EQ(kernel_.run(), RunEnd::kDeadlock);
  }
  const std::map<std::uint64_t, std::int64_t>& delivered() const { return delivered_; }
  const std::map<std::uint64_t, std::int64_t>& released() const { return released_; }
  std::uint64_t events() const { return kernel_.events(); }

 private:
  void on_event(std::uint64_t i) override {
    const Transfer& t = transfers_[i];
    released_[i] = fabric_.send(t.source, t.destination, Bytes(t.bytes), i).ps();
  }
  EventRecord record_of(std::uint64_t) const override { return EventRecord(); }
  void on_delivered(std::uint64_t message) override { delivered_[message] = kernel_.now().ps(); }

  Kernel kernel_;
  std::vector<Transfer> transfers_;
  PortFabric fabric_;
  std::map<std::uint64_t, std::int64_t> delivered_;
  std::map<std::uint64_t, std::int64_t> released_;
};

// alpha = 1000 ps; 8 Tbit/s: one byte takes 1 ps.
NetworkConfig one_ps_per_byte() {
  NetworkConfig config;
  config.latency = Duration::picoseconds(1000);
  config.bandwidth = Bandwidth::bits_per_second(8'000'000'000'000);
  return config;
}

TEST(PortFabric, AnIdleNetworkTakesAlphaPlusTransfer) {
  const Bench bench(one_ps_per_byte(), 2, {{0, 0, 1, 500}});
  EXPECT_EQ(bench.released().at(0), 500);
  EXPECT_EQ(bench.delivered().at(0), 1500);
}

TEST(PortFabric, IncastOfKSendersTakesAlphaPlusKTransfers) {
  std::vector<Transfer> transfers;
  for (int k = 1; k <= 8; ++k) transfers.push_back({0, k, 0, 500});
  const Bench bench(one_ps_per_byte(), 9, transfers);
  for (std::uint64_t i = 0; i < 8; ++i)
    EXPECT_EQ(bench.delivered().at(i), 1000 + 500 * static_cast<std::int64_t>(i + 1));
}

TEST(PortFabric, ASenderSerialisesItsMessages) {
  const Bench bench(one_ps_per_byte(), 3, {{0, 0, 1, 500}, {0, 0, 2, 300}, {0, 0, 1, 100}});
  EXPECT_EQ(bench.delivered().at(0), 1500);
  EXPECT_EQ(bench.delivered().at(1), 500 + 1000 + 300);
  EXPECT_EQ(bench.delivered().at(2), 800 + 1000 + 100);
}

TEST(PortFabric, FullDuplexRingIsNotSlowed) {
  std::vector<Transfer> transfers;
  for (int r = 0; r < 5; ++r) transfers.push_back({0, r, (r + 1) % 5, 500});
  const Bench bench(one_ps_per_byte(), 5, transfers);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(bench.delivered().at(i), 1500);
}

TEST(PortFabric, ReceiverServesFirstBytesInOrderOfArrival) {
  // Rank 0 sends a long message to 1 first, so that its message to 3 leaves at 900; rank 2's to 3 leaves at 100 and is
  // served first although it was sent later.
  const Bench bench(one_ps_per_byte(), 4, {{0, 0, 1, 900}, {0, 0, 3, 500}, {100, 2, 3, 2000}});
  EXPECT_EQ(bench.delivered().at(2), 100 + 1000 + 2000);
  EXPECT_EQ(bench.delivered().at(1), 3100 + 500);
}

// Evaluates the rule of the header from scratch: senders in order of sending, receivers in order of first bytes.
std::map<std::uint64_t, std::int64_t> evaluate(const NetworkConfig& config, std::vector<Transfer> transfers) {
  std::vector<std::size_t> order(transfers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return transfers[a].at < transfers[b].at; });
  std::map<int, std::int64_t> send_free;
  std::map<int, std::int64_t> receive_free;
  std::vector<std::pair<std::int64_t, std::size_t>> arrivals;
  for (const std::size_t i : order) {
    const std::int64_t start = std::max(transfers[i].at, send_free[transfers[i].source]);
    send_free[transfers[i].source] = start + transfers[i].bytes;
    arrivals.emplace_back(start + config.latency.ps(), i);
  }
  std::stable_sort(arrivals.begin(), arrivals.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::map<std::uint64_t, std::int64_t> delivered;
  for (const auto& [arrival, i] : arrivals) {
    std::int64_t& free = receive_free[transfers[i].destination];
    free = std::max(free, arrival) + transfers[i].bytes;
    delivered[i] = free;
  }
  return delivered;
}

TEST(PortFabric, RandomTrafficEqualsAnIndependentEvaluator) {
  RandomStream random(9);
  for (int round = 0; round < 200; ++round) {
    std::vector<Transfer> transfers;
    const std::uint64_t span = std::uint64_t{1} << random.below(14);
    for (int i = 0; i < 60; ++i) {
      Transfer t;
      t.at = static_cast<std::int64_t>(random.below(span));
      t.source = static_cast<int>(random.below(4));
      t.destination = (t.source + 1 + static_cast<int>(random.below(3))) % 4;
      t.bytes = static_cast<std::int64_t>(random.below(700));
      transfers.push_back(t);
    }
    const Bench bench(one_ps_per_byte(), 4, transfers);
    ASSERT_EQ(bench.delivered(), evaluate(one_ps_per_byte(), transfers)) << "round " << round;
  }
}

TEST(PortFabric, JitterIsSeededBoundedAndKeepsASendersOrder) {
  NetworkConfig config = one_ps_per_byte();
  config.jitter = Duration::picoseconds(700);
  std::vector<Transfer> transfers;
  for (int i = 0; i < 200; ++i) transfers.push_back({i * 10'000, 0, 1, 50});
  const Bench a(config, 2, transfers);
  const Bench b(config, 2, transfers);
  EXPECT_EQ(a.delivered(), b.delivered());
  std::int64_t least = 700;
  std::int64_t most = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::int64_t extra = a.delivered().at(i) - transfers[i].at - 1050;
    least = std::min(least, extra);
    most = std::max(most, extra);
  }
  EXPECT_GE(least, 0);
  EXPECT_LE(most, 700);
  EXPECT_LT(least, 70);
  EXPECT_GT(most, 630);

  std::vector<Transfer> burst;
  for (int i = 0; i < 200; ++i) burst.push_back({i, 0, 1, 0});
  const Bench c(config, 2, burst);
  for (std::uint64_t i = 1; i < 200; ++i) EXPECT_GE(c.delivered().at(i), c.delivered().at(i - 1));
}

}  // namespace
}  // namespace rehearse
