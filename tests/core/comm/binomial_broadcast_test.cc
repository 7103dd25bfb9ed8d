// The binomial broadcast, and its exact time on a switch.
//
// By rounds: in round k = 1..K, K = ceil(log2 N), with distance d = 2^(K-k), every v that is a multiple of 2d sends to
// v + d, as far as that is below N. Let R(v) be when v has the data and its messages so far have left: a round makes
// R(v + d) = R(v) + alpha + t(S), then R(v) grows by t(S). By induction R(v) <= k t(S) + ones(v) alpha after round k,
// ones(v) being the number of set bits, and below N that is at most f = floor(log2 N), for v = 2^f - 1. That rank meets
// the bound: with N = 2^f every round on its path is a delivery; otherwise there is one round more, the first, in which
// the root sends to 2^f before it turns to this path. So the whole takes f alpha + K t(S).

#include <gtest/gtest.h>

#include "tests/core/comm/ranks.h"

namespace rehearse {
namespace {

Task<> on_world_from(RankContext& context, BufferView buffer, int root) {
  ProcessGroup world = ProcessGroup::world(context);
  co_await broadcast(world, buffer, root);
}

struct Rounds {
  std::vector<Duration> ready;         // R(v) at the end
  std::vector<std::int64_t> children;  // messages v sends
};

Rounds by_rounds(int size, std::int64_t bytes, const NetworkConfig& network) {
  const Duration transfer = transfer_time(Bytes(bytes), network.bandwidth);
  Rounds rounds;
  rounds.ready.resize(static_cast<std::size_t>(size));
  rounds.children.resize(static_cast<std::size_t>(size));
  for (int k = 1; k <= ceil_log2(size); ++k) {
    const int distance = 1 << (ceil_log2(size) - k);
    for (int v = 0; v + distance < size; v += 2 * distance) {
      Duration& sender = rounds.ready[static_cast<std::size_t>(v)];
      rounds.ready[static_cast<std::size_t>(v + distance)] = sender + network.latency + transfer;
      sender = sender + transfer;
      ++rounds.children[static_cast<std::size_t>(v)];
    }
  }
  return rounds;
}

template <class T>
void expect_broadcast(int size, std::int64_t count, int root) {
  PerRank<T> values = uneven_values<T>(1, size, count);
  const std::vector<T> expected = values[static_cast<std::size_t>(root)];
  Ranks ranks(size);
  ranks.run(
      [&values, root](RankContext& context) { return on_world_from(context, view_of(values, context.rank()), root); });
  const auto bytes = static_cast<std::int64_t>(sizeof(T)) * count;
  const Rounds rounds = by_rounds(size, bytes, default_network());
  for (int rank = 0; rank < size; ++rank) {
    EXPECT_TRUE(same_bits(values[static_cast<std::size_t>(rank)], expected)) << size << " ranks, root " << root;
    const int v = (rank - root + size) % size;
    const std::int64_t sent = count == 0 ? 0 : rounds.children[static_cast<std::size_t>(v)];
    const std::int64_t received = count == 0 || v == 0 ? 0 : 1;
    ranks.expect_traffic(rank, Operation::kBroadcast, sent, sent * bytes, received, received * bytes);
    const Duration ready = count == 0 ? Duration() : rounds.ready[static_cast<std::size_t>(v)];
    EXPECT_EQ(ranks.finished(rank), ready) << size << " ranks, root " << root << ", rank " << rank;
  }
}

TEST(BinomialBroadcast, CopiesAnyRootsBufferToAll) {
  for (int size = 1; size <= 17; ++size) {
    for (int root = 0; root < size; ++root) {
      expect_broadcast<float>(size, 97, root);
      expect_broadcast<double>(size, 3, root);
    }
  }
}

TEST(BinomialBroadcast, TakesAnyCountAndDtype) {
  for (int size = 1; size <= 17; ++size) {
    for (const std::int64_t count : counts_for(size)) expect_broadcast<double>(size, count, size / 2);
  }
  PerRank<std::int32_t> values = {{1, 2}, {3, 4}, {5, 6}};
  Ranks ranks(3);
  ranks.run([&values](RankContext& context) { return on_world_from(context, view_of(values, context.rank()), 1); });
  for (const auto& all : values) EXPECT_EQ(all, (std::vector<std::int32_t>{3, 4}));
}

TEST(BinomialBroadcast, TakesFloorLog2NAlphaPlusCeilLog2NTransfers) {
  for (const NetworkConfig& network : networks()) {
    for (const int size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 33, 64}) {
      for (const std::int64_t count : {1, 1000}) {
        Ranks ranks(size, network, Storing::kShapeOnly);
        ranks.run(
            [count](RankContext& context) { return on_world_from(context, shape_of(DType::kFloat32, count), 0); });
        const Duration transfer = transfer_time(Bytes(4 * count), network.bandwidth);
        EXPECT_EQ(ranks.elapsed(), floor_log2(size) * network.latency + ceil_log2(size) * transfer) << size << " ranks";
      }
    }
  }
}

// One payload travels through the tree: all that is ever held is the root's.
TEST(BinomialBroadcast, ForwardsWithoutACopy) {
  PerRank<float> values = uneven_values<float>(2, 8, 1000);
  Ranks ranks(8);
  ranks.run([&values](RankContext& context) { return on_world_from(context, view_of(values, context.rank()), 0); });
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(ranks.world().memory(rank).peak(MemoryKind::kCommunication), Bytes(rank == 0 ? 4000 : 0));
  }
}

}  // namespace
}  // namespace rehearse
