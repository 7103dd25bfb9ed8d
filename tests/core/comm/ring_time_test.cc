// The exact time of the ring collectives on a switch.
//
// Let F(i, s) be when rank i is done with step s, F(i, -1) = 0; it sends a chunk of a bytes to i+1 and receives one of
// b bytes from i-1. Its exchange ends when its own message has left and the other one is there:
//
//   F(i, s) = max( F(i, s-1) + t(a),  F(i-1, s-1) + alpha + t(b) )                                            (1)
//
// Ports add nothing: a rank sends its messages one after the other, so that they also reach the receiver's port one
// after the other, and every receiver has one sender. The last step ends at the longest path through (1), whose edges
// weigh at most alpha + t(c), c the largest chunk, one edge a step: no path is longer than steps x (alpha + t(c)). The
// chain of messages that carries chunk 0, which is a largest one, has an edge of exactly this weight in every step: in
// a reduce-scatter from rank 1 around to rank 0, in an all-gather from rank 0 to rank N-1, in an all_reduce the one
// after the other. So the time is steps x (alpha + t(ceil(count / N) elements)): for equal chunks alpha + t(S/N) a
// step, and for unequal ones as if all were as large as the largest. Ranks that are off this chain may be done earlier:
// (1) says when.

#include <gtest/gtest.h>

#include "tests/core/comm/ranks.h"

namespace rehearse {
namespace {

constexpr std::int64_t kElement = 4;

Duration step_time(const NetworkConfig& network, std::int64_t elements) {
  return network.latency + transfer_time(Bytes(elements * kElement), network.bandwidth);
}

std::vector<std::int64_t> counts() { return {1, 2, 16, 17, 97, 1000, 100'003}; }

void run(Ranks& ranks, InPlace collective, std::int64_t count) {
  ranks.run([collective, count](RankContext& context) {
    return on_world(context, collective, shape_of(DType::kFloat32, count));
  });
}

Duration elapsed(InPlace collective, int size, std::int64_t count, const NetworkConfig& network) {
  Ranks ranks(size, network, Storing::kShapeOnly);
  run(ranks, collective, count);
  return ranks.elapsed();
}

TEST(RingTime, AllReduceOfEqualChunksTakesTwoNMinus1StepsOfAlphaPlusTOfSOverN) {
  for (const NetworkConfig& network : networks()) {
    for (const int size : {1, 2, 3, 4, 7, 8, 16, 17, 64}) {
      for (const std::int64_t chunk : {1, 25, 4096}) {
        const Duration expected = 2 * (size - 1) * step_time(network, chunk);
        EXPECT_EQ(elapsed(all_reduce, size, size * chunk, network), expected) << size << " ranks, " << chunk;
      }
    }
  }
}

// 4 ranks, 1 MiB, 5 us, 100 Gbps: a chunk of 2^18 bytes takes 2^18 * 80 ps = 20.97152 us; 6 (5 + 20.97152) us.
TEST(RingTime, AnExampleByHand) {
  EXPECT_EQ(elapsed(all_reduce, 4, 262'144, default_network()), Duration::picoseconds(6 * (5'000'000 + 20'971'520)));
}

TEST(RingTime, UnequalChunksTakeTheTimeOfTheLargest) {
  for (const NetworkConfig& network : networks()) {
    for (int size = 2; size <= 17; ++size) {
      for (const std::int64_t count : counts()) {
        const Duration half = (size - 1) * step_time(network, (count + size - 1) / size);
        EXPECT_EQ(elapsed(reduce_scatter, size, count, network), half) << size << " ranks, " << count;
        EXPECT_EQ(elapsed(all_gather, size, count, network), half) << size << " ranks, " << count;
        EXPECT_EQ(elapsed(all_reduce, size, count, network), 2 * half) << size << " ranks, " << count;
      }
    }
  }
}

// Recurrence (1), for `steps` steps in which rank i first sends chunk i - first and then each time the one before.
std::vector<Duration> recurrence(int size, std::int64_t count, const NetworkConfig& network, int first, int steps) {
  std::vector<Duration> done(static_cast<std::size_t>(size));
  for (int step = 0; step < steps; ++step) {
    const std::vector<Duration> before = done;
    for (int i = 0; i < size; ++i) {
      const int chunk = ((i - first - step) % size + size) % size;
      const int incoming = (chunk + size - 1) % size;
      const Bytes sent(elements_of(chunk, count, size) * kElement);
      const Duration left = before[static_cast<std::size_t>(i)] + transfer_time(sent, network.bandwidth);
      const Duration there = before[static_cast<std::size_t>((i + size - 1) % size)] +
                             step_time(network, elements_of(incoming, count, size));
      done[static_cast<std::size_t>(i)] = std::max(left, there);
    }
  }
  return done;
}

TEST(RingTime, EveryRankIsDoneWhenTheRecurrenceSays) {
  for (const NetworkConfig& network : networks()) {
    for (int size = 2; size <= 9; ++size) {
      for (const std::int64_t count : {1, 2, 5, 9, 97}) {
        Ranks scatter(size, network, Storing::kShapeOnly);
        run(scatter, reduce_scatter, count);
        const std::vector<Duration> scattered = recurrence(size, count, network, 1, size - 1);
        // The all-gather goes on with the chunk that came last, i - 1 - (N-1) = i: one recurrence for both halves.
        Ranks both(size, network, Storing::kShapeOnly);
        run(both, all_reduce, count);
        const std::vector<Duration> reduced = recurrence(size, count, network, 1, 2 * (size - 1));
        Ranks gather(size, network, Storing::kShapeOnly);
        run(gather, all_gather, count);
        const std::vector<Duration> gathered = recurrence(size, count, network, 0, size - 1);
        for (int i = 0; i < size; ++i) {
          EXPECT_EQ(scatter.finished(i), scattered[static_cast<std::size_t>(i)]) << size << " ranks, " << count;
          EXPECT_EQ(both.finished(i), reduced[static_cast<std::size_t>(i)]) << size << " ranks, " << count;
          EXPECT_EQ(gather.finished(i), gathered[static_cast<std::size_t>(i)]) << size << " ranks, " << count;
        }
      }
    }
  }
}

TEST(RingTime, NothingTakesNoTime) {
  for (const InPlace collective : {InPlace(reduce_scatter), InPlace(all_gather), InPlace(all_reduce)}) {
    EXPECT_EQ(elapsed(collective, 1, 1000, default_network()), Duration());
    EXPECT_EQ(elapsed(collective, 5, 0, default_network()), Duration());
  }
}

}  // namespace
}  // namespace rehearse
