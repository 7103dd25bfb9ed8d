// The direct gather, and its exact time on a switch: all messages leave at once and their first bytes reach the root's
// port together, alpha later; the port then takes them one after the other without a gap, alpha + sum of t(S_r) in all.

#include <gtest/gtest.h>

#include "tests/core/comm/ranks.h"

namespace rehearse {
namespace {

Task<> on_world_to(RankContext& context, BufferView own, std::vector<BufferView> into, int root) {
  ProcessGroup world = ProcessGroup::world(context);
  co_await gather(world, own, std::move(into), root);
}

// Elements of rank r: uneven, some of them none.
std::int64_t uneven(int r) { return 7 * r % 5 * 11; }
std::int64_t equal(int) { return 97; }
std::int64_t none(int) { return 0; }

template <class T>
void expect_gather(int size, int root, std::int64_t (*count_of)(int), const NetworkConfig& network) {
  PerRank<T> own;
  for (int r = 0; r < size; ++r) own.push_back(uneven_values<T>(5, size, count_of(r))[static_cast<std::size_t>(r)]);
  PerRank<T> gathered;
  for (int r = 0; r < size; ++r) gathered.emplace_back(static_cast<std::size_t>(count_of(r)));

  Ranks ranks(size, network);
  ranks.run([&](RankContext& context) {
    std::vector<BufferView> into;
    if (context.rank() == root) {
      for (int r = 0; r < size; ++r) into.push_back(view_of(gathered, r));
    }
    return on_world_to(context, view_of(own, context.rank()), std::move(into), root);
  });

  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  Duration transfers;
  for (int r = 0; r < size; ++r) {
    EXPECT_TRUE(same_bits(gathered[static_cast<std::size_t>(r)], own[static_cast<std::size_t>(r)]));
    if (r == root || count_of(r) == 0) continue;
    const auto sent = static_cast<std::int64_t>(sizeof(T)) * count_of(r);
    const Duration transfer = transfer_time(Bytes(sent), network.bandwidth);
    ranks.expect_traffic(r, Operation::kGather, 1, sent, 0, 0);
    EXPECT_EQ(ranks.finished(r), transfer);
    ++messages;
    bytes += sent;
    transfers = transfers + transfer;
  }
  ranks.expect_traffic(root, Operation::kGather, 0, 0, messages, bytes);
  EXPECT_EQ(ranks.finished(root), messages == 0 ? Duration() : network.latency + transfers) << size << " ranks";
}

TEST(DirectGather, BringsEveryRanksBufferToAnyRoot) {
  for (int size = 1; size <= 17; ++size) {
    for (int root = 0; root < size; ++root) {
      expect_gather<float>(size, root, uneven, default_network());
      expect_gather<double>(size, root, equal, default_network());
      expect_gather<std::int32_t>(size, root, uneven, default_network());
    }
    expect_gather<double>(size, 0, none, default_network());
  }
}

TEST(DirectGather, TakesAlphaPlusTheSumOfTheTransfers) {
  for (const NetworkConfig& network : networks()) {
    expect_gather<float>(9, 4, equal, network);
    expect_gather<double>(16, 0, uneven, network);
  }
}

TEST(DirectGather, TheRootsOwnPartMayLieInPlace) {
  PerRank<float> own = uneven_values<float>(8, 3, 4);
  const PerRank<float> before = own;
  PerRank<float> others = {std::vector<float>(4), {}, std::vector<float>(4)};
  Ranks ranks(3);
  ranks.run([&](RankContext& context) {
    std::vector<BufferView> into;
    if (context.rank() == 1) into = {view_of(others, 0), view_of(own, 1), view_of(others, 2)};
    return on_world_to(context, view_of(own, context.rank()), std::move(into), 1);
  });
  EXPECT_EQ(own, before);
  EXPECT_EQ(others[0], before[0]);
  EXPECT_EQ(others[2], before[2]);
}

}  // namespace
}  // namespace rehearse
