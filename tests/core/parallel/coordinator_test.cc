#include <gtest/gtest.h>

#include <functional>

#include "core/checkpoint/directory.h"
#include "core/parallel/group_coordinator.h"
#include "sim/cluster/world.h"

namespace rehearse {
namespace {

std::string text_of(int rank) { return std::string(static_cast<std::size_t>(rank * 3), static_cast<char>('a' + rank)); }

Task<> exchange_texts(RankContext& context, std::vector<std::vector<std::string>>& gathered,
                      std::vector<std::string>& told) {
  ProcessGroup group(context, ProcessGroup::world(context).group());
  GroupCoordinator coordinator(group);
  const auto rank = static_cast<std::size_t>(context.rank());
  std::string mine = text_of(context.rank());
  std::vector<std::string> all = co_await coordinator.gather(std::move(mine));
  gathered[rank] = all;
  std::string decision = context.rank() == 0 ? "go\n" : "ignored";
  told[rank] = co_await coordinator.broadcast(std::move(decision));
}

TEST(GroupCoordinator, CarriesTextsOfAnyLengthToRankZeroAndBack) {
  for (const int ranks : {1, 2, 5}) {
    WorldConfig config;
    config.ranks = ranks;
    config.network.latency = Duration::microseconds(1);
    config.network.bandwidth = Bandwidth::bits_per_second(1'000'000'000);
    config.device.rate = FlopRate::per_second(1'000'000'000);
    std::vector<std::vector<std::string>> gathered(static_cast<std::size_t>(ranks));
    std::vector<std::string> told(static_cast<std::size_t>(ranks));
    World world(config);
    world.start_all([&](RankContext& context) { return exchange_texts(context, gathered, told); });
    ASSERT_EQ(world.run(), RunEnd::kDone);
    ASSERT_EQ(gathered[0].size(), static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      ASSERT_EQ(world.state(r), World::RankState::kEnded);
      EXPECT_EQ(gathered[0][static_cast<std::size_t>(r)], text_of(r));
      EXPECT_EQ(told[static_cast<std::size_t>(r)], "go\n");
      if (r > 0) {
        EXPECT_TRUE(gathered[static_cast<std::size_t>(r)].empty());
      }
    }
  }
}

// What each rank of five is handed, by rank.
std::vector<std::string> hand_on(const std::function<Task<Payload>(GroupCoordinator&, int)>& program) {
  WorldConfig config;
  config.ranks = 5;
  config.network.latency = Duration::microseconds(1);
  config.network.bandwidth = Bandwidth::bits_per_second(1'000'000'000);
  config.device.rate = FlopRate::per_second(1'000'000'000);
  std::vector<std::string> got(5);
  World world(config);
  world.start_all([&](RankContext& context) -> Task<> {
    ProcessGroup group(context, ProcessGroup::world(context).group());
    GroupCoordinator coordinator(group);
    const Payload data = co_await program(coordinator, context.rank());
    got[static_cast<std::size_t>(context.rank())] = std::string(data.text());
  });
  EXPECT_EQ(world.run(), RunEnd::kDone);
  for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(world.state(rank), World::RankState::kEnded);
  return got;
}

TEST(GroupCoordinator, PassesShardsOnAroundTheRanks) {
  const std::vector<std::string> got = hand_on(
      [](GroupCoordinator& coordinator, int rank) { return coordinator.pass_on(host_payload(text_of(rank)), 2); });
  for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(got[static_cast<std::size_t>(rank)], text_of((rank + 3) % 5));
}

TEST(GroupCoordinator, CarriesAShardToThoseWhoNeedIt) {
  const std::vector<std::string> got = hand_on([](GroupCoordinator& coordinator, int rank) {
    return coordinator.carry(host_payload(text_of(rank)), 3, {0, 4});
  });
  EXPECT_EQ(got, (std::vector<std::string>{text_of(3), "", "", "", text_of(3)}));
}

}  // namespace
}  // namespace rehearse
