// The dissemination barrier. Where all enter at once, every round is one exchange of empty messages side by side,
// alpha.

#include <gtest/gtest.h>

#include "tests/core/comm/ranks.h"

namespace rehearse {
namespace {

Task<> enter(RankContext& context, Duration after) {
  ProcessGroup world = ProcessGroup::world(context);
  co_await context.clock().sleep_for(after);
  co_await barrier(world);
}

TEST(DisseminationBarrier, TakesCeilLog2NAlpha) {
  for (const NetworkConfig& network : networks()) {
    for (int size = 1; size <= 33; ++size) {
      Ranks ranks(size, network);
      ranks.run([](RankContext& context) { return enter(context, Duration()); });
      const std::int64_t rounds = ceil_log2(size);
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_EQ(ranks.finished(rank), rounds * network.latency) << size << " ranks";
        ranks.expect_traffic(rank, Operation::kBarrier, rounds, 0, rounds, 0);
      }
    }
  }
}

TEST(DisseminationBarrier, NobodyLeavesBeforeTheLastHasEntered) {
  const Duration late = Duration::milliseconds(1);
  const Duration alpha = default_network().latency;
  for (int size = 2; size <= 17; ++size) {
    for (int last = 0; last < size; ++last) {
      Ranks ranks(size);
      ranks.run([&](RankContext& context) {
        const Duration early = Duration::microseconds(context.rank());
        return enter(context, context.rank() == last ? late : early);
      });
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_GE(ranks.finished(rank), rank == last ? late : late + alpha) << size << " ranks, rank " << rank;
        EXPECT_LE(ranks.finished(rank), late + ceil_log2(size) * alpha) << size << " ranks, rank " << rank;
      }
    }
  }
}

}  // namespace
}  // namespace rehearse
