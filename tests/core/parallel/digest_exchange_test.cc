#include "core/parallel/digest_exchange.h"

#include <gtest/gtest.h>

#include "sim/cluster/world.h"

namespace rehearse {
namespace {

constexpr int kRanks = 3;

std::vector<Digest128> digests_of(int rank) {
  std::vector<Digest128> digests(2);
  digests[0].high = ~std::uint64_t{0} - static_cast<std::uint64_t>(rank);
  digests[1].low = static_cast<std::uint64_t>(rank);
  return digests;
}

struct Heard {
  std::vector<std::vector<Digest128>> all;
  std::vector<Digest128> shared;
};

Task<> exchange(RankContext& context, std::vector<Heard>& heard) {
  ProcessGroup group(context, ProcessGroup::world(context).group());
  const std::vector<Digest128> own = digests_of(context.rank());
  Heard& mine = heard[static_cast<std::size_t>(context.rank())];
  mine.all = co_await exchange_digests(group, own);
  mine.shared = co_await share_digests(group, own, 2);
}

WorldConfig three_ranks() {
  WorldConfig config;
  config.ranks = kRanks;
  config.network.latency = Duration::microseconds(1);
  config.network.bandwidth = Bandwidth::bits_per_second(1'000'000'000);
  config.device.rate = FlopRate::per_second(1'000'000'000);
  return config;
}

TEST(DigestExchange, BringsTheDigestsOfAllToAllAndThoseOfOneToAll) {
  const WorldConfig config = three_ranks();
  std::vector<Heard> heard(kRanks);
  World world(config);
  world.start_all([&](RankContext& context) { return exchange(context, heard); });
  ASSERT_EQ(world.run(), RunEnd::kDone);
  for (int rank = 0; rank < kRanks; ++rank) {
    const Heard& one = heard[static_cast<std::size_t>(rank)];
    ASSERT_EQ(one.all.size(), static_cast<std::size_t>(kRanks));
    for (int other = 0; other < kRanks; ++other) {
      EXPECT_EQ(one.all[static_cast<std::size_t>(other)], digests_of(other));
    }
    EXPECT_EQ(one.shared, digests_of(2));
    EXPECT_EQ(world.memory(rank).current(MemoryKind::kCommunication), Bytes(0));
    // A rank's own message is on its way beside the whole.
    EXPECT_EQ(world.memory(rank).peak(MemoryKind::kCommunication), Bytes((kRanks + 1) * 2 * 16));
  }
}

TEST(DigestExchange, TakesTheSameTimeWhereThereIsNothingToTakeADigestOf) {
  WorldConfig config = three_ranks();
  TimePoint ends[2];
  for (const Storing storing : {Storing::kElements, Storing::kShapeOnly}) {
    config.storing = storing;
    std::vector<Heard> heard(kRanks);
    World world(config);
    world.start_all([&](RankContext& context) { return exchange(context, heard); });
    ASSERT_EQ(world.run(), RunEnd::kDone);
    EXPECT_EQ(heard[0].all.empty(), storing == Storing::kShapeOnly);
    ends[static_cast<int>(storing)] = world.now();
  }
  EXPECT_EQ(ends[0], ends[1]);
}

}  // namespace
}  // namespace rehearse
