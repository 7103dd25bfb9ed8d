// Every algorithm of the other collectives on 1 to 17 ranks and any number of elements: what arrives, sums in the order
// the header says, messages, bytes and times of every rank as the message graph has them, the same without elements.

#include <gtest/gtest.h>

#include "tests/core/comm/algorithm_cases.h"

namespace rehearse {
namespace {

template <class T>
void expect_reduce_scatter(ReduceScatterAlgorithm algorithm, int ranks, std::int64_t count,
                           const NetworkConfig& network) {
  PerRank<T> values = uneven_values<T>(21, ranks, count);
  const std::vector<T> expected = sums_in_order(orders_of(algorithm, ranks, count), values);
  const OnBuffer call = [algorithm](ProcessGroup& group, BufferView buffer) {
    return reduce_scatter(group, buffer, algorithm);
  };
  const std::string what = name_of(algorithm) + (", " + std::to_string(count)) + " elements";
  EXPECT_TRUE(expect_on_buffers(what, values, network, Operation::kReduceScatter,
                                schedule_of(algorithm, ranks, count, sizeof(T)), call))
      << what;
  std::vector<T> found;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    found.push_back(values[static_cast<std::size_t>(owner_of(static_cast<std::int64_t>(i), count, ranks))][i]);
  }
  EXPECT_TRUE(same_bits(found, expected)) << what << ", " << ranks << " ranks";
}

template <class T>
void expect_all_gather(AllGatherAlgorithm algorithm, int ranks, std::int64_t count, const NetworkConfig& network) {
  PerRank<T> values = uneven_values<T>(22, ranks, count);
  std::vector<T> expected;
  for (std::int64_t i = 0; i < count; ++i) {
    expected.push_back(values[static_cast<std::size_t>(owner_of(i, count, ranks))][static_cast<std::size_t>(i)]);
  }
  const OnBuffer call = [algorithm](ProcessGroup& group, BufferView buffer) {
    return all_gather(group, buffer, algorithm);
  };
  const std::string what = name_of(algorithm) + (", " + std::to_string(count)) + " elements";
  EXPECT_TRUE(expect_on_buffers(what, values, network, Operation::kAllGather,
                                schedule_of(algorithm, ranks, count, sizeof(T)), call))
      << what;
  for (const std::vector<T>& all : values) EXPECT_TRUE(same_bits(all, expected)) << what << ", " << ranks << " ranks";
}

template <class T>
void expect_broadcast(BroadcastAlgorithm algorithm, int ranks, int root, std::int64_t count, Bytes segment) {
  PerRank<T> values = uneven_values<T>(23, ranks, count);
  const std::vector<T> expected = values[static_cast<std::size_t>(root)];
  const AlgorithmOptions options(segment, 1);
  const OnBuffer call = [=](ProcessGroup& group, BufferView buffer) {
    return broadcast(group, buffer, root, algorithm, options);
  };
  const std::string what = name_of(algorithm) + (", " + std::to_string(count)) + " elements";
  EXPECT_TRUE(expect_on_buffers(what, values, default_network(), Operation::kBroadcast,
                                schedule_of(algorithm, ranks, root, count, sizeof(T), options), call))
      << what;
  for (const std::vector<T>& all : values) EXPECT_TRUE(same_bits(all, expected)) << what << ", root " << root;
}

template <class T>
void expect_reduce(ReduceAlgorithm algorithm, int ranks, int root, std::int64_t count, Bytes segment) {
  PerRank<T> values = uneven_values<T>(24, ranks, count);
  const std::vector<SumOrder> orders(static_cast<std::size_t>(count), order_of(algorithm, ranks, root));
  const std::vector<T> expected = sums_in_order(orders, values);
  const AlgorithmOptions options(segment, 1);
  const OnBuffer call = [=](ProcessGroup& group, BufferView buffer) {
    return reduce(group, buffer, root, algorithm, options);
  };
  const std::string what = name_of(algorithm) + (", " + std::to_string(count)) + " elements";
  EXPECT_TRUE(expect_on_buffers(what, values, default_network(), Operation::kReduce,
                                schedule_of(algorithm, ranks, root, count, sizeof(T), options), call))
      << what;
  EXPECT_TRUE(same_bits(values[static_cast<std::size_t>(root)], expected)) << what << ", root " << root;
}

TEST(ReduceScatterAlgorithms, LeaveEachRankTheSumOfItsChunkInTheStatedOrder) {
  for (int k = 0; k < kReduceScatterAlgorithms; ++k) {
    const auto algorithm = static_cast<ReduceScatterAlgorithm>(k);
    for (int ranks = 1; ranks <= 17; ++ranks) {
      for (const std::int64_t count : counts_for(ranks)) {
        expect_reduce_scatter<float>(algorithm, ranks, count, default_network());
      }
      expect_reduce_scatter<double>(algorithm, ranks, 97, default_network());
    }
    for (const NetworkConfig& network : networks_with_latency()) {
      for (const int ranks : {2, 5, 8, 12}) expect_reduce_scatter<float>(algorithm, ranks, 97, network);
    }
  }
}

TEST(AllGatherAlgorithms, GiveAllRanksEveryChunk) {
  for (int k = 0; k < kAllGatherAlgorithms; ++k) {
    const auto algorithm = static_cast<AllGatherAlgorithm>(k);
    for (int ranks = 1; ranks <= 17; ++ranks) {
      for (const std::int64_t count : counts_for(ranks)) {
        expect_all_gather<float>(algorithm, ranks, count, default_network());
      }
      expect_all_gather<std::int32_t>(algorithm, ranks, 97, default_network());
    }
    for (const NetworkConfig& network : networks_with_latency()) {
      for (const int ranks : {2, 5, 8, 12}) expect_all_gather<double>(algorithm, ranks, 97, network);
    }
  }
}

// What lets ZeRO stages have equal bits: also with other algorithms than the ring.
TEST(ReduceScatterAlgorithms, RecursiveHalvingHasTheBitsOfHalvingDoubling) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    EXPECT_EQ(orders_of(ReduceScatterAlgorithm::kRecursiveHalving, ranks, 5),
              orders_of(AllReduceAlgorithm::kHalvingDoubling, ranks, 5, AlgorithmOptions()));
    EXPECT_EQ(orders_of(ReduceScatterAlgorithm::kRing, ranks, 5),
              orders_of(AllReduceAlgorithm::kRing, ranks, 5, AlgorithmOptions()));
  }
}

TEST(ReduceScatterAlgorithms, TheDirectOrderOfThreeRanks) {
  EXPECT_EQ(text_of(orders_of(ReduceScatterAlgorithm::kDirect, 3, 3)[0]), "((x0 + x2) + x1)");
  EXPECT_EQ(text_of(orders_of(ReduceScatterAlgorithm::kDirect, 3, 3)[2]), "((x2 + x1) + x0)");
}

TEST(BroadcastAlgorithms, CopyAnyRootsBufferToAll) {
  for (int k = 0; k < kBroadcastAlgorithms; ++k) {
    const auto algorithm = static_cast<BroadcastAlgorithm>(k);
    for (int ranks = 1; ranks <= 17; ++ranks) {
      for (int root = 0; root < ranks; ++root) expect_broadcast<float>(algorithm, ranks, root, 97, Bytes(100));
      for (const std::int64_t count : counts_for(ranks)) {
        for (const std::int64_t segment : {0, 1, 400}) {
          expect_broadcast<double>(algorithm, ranks, ranks / 2, count, Bytes(segment));
        }
      }
    }
  }
}

TEST(ReduceAlgorithms, GiveAnyRootTheSumInTheStatedOrder) {
  for (int k = 0; k < kReduceAlgorithms; ++k) {
    const auto algorithm = static_cast<ReduceAlgorithm>(k);
    for (int ranks = 1; ranks <= 17; ++ranks) {
      for (int root = 0; root < ranks; ++root) expect_reduce<float>(algorithm, ranks, root, 97, Bytes(100));
      for (const std::int64_t count : counts_for(ranks)) {
        for (const std::int64_t segment : {0, 1, 400}) {
          expect_reduce<double>(algorithm, ranks, ranks / 2, count, Bytes(segment));
        }
      }
    }
  }
}

TEST(ReduceAlgorithms, TheOrdersOfFourRanks) {
  EXPECT_EQ(text_of(order_of(ReduceAlgorithm::kBinomial, 4, 0)), "((x0 + x1) + (x2 + x3))");
  EXPECT_EQ(text_of(order_of(ReduceAlgorithm::kBinomial, 4, 3)), "((x3 + x0) + (x1 + x2))");
  EXPECT_EQ(text_of(order_of(ReduceAlgorithm::kChain, 4, 1)), "(x1 + (x2 + (x3 + x0)))");
}

// Elements from rank `from` to rank `to`: some none, all other, so that hardly two things happen at the same moment.
std::int64_t uneven(int from, int to) {
  return (3 * from + 5 * to) % 4 == 0 ? 0 : 1 + (from + 1) * (from + 1) * 37 % 101 + (to + 3) * (to + 3) * 59 % 103;
}
std::int64_t equal(int, int) { return 13; }
std::int64_t none(int, int) { return 0; }

Task<> all_to_all_parts(RankContext& context, std::vector<BufferView> out, std::vector<BufferView> into,
                        AllToAllAlgorithm algorithm) {
  ProcessGroup world = ProcessGroup::world(context);
  co_await all_to_all(world, std::move(out), std::move(into), algorithm);
}

template <class T>
void expect_all_to_all(AllToAllAlgorithm algorithm, int ranks, std::int64_t (*count)(int, int),
                       const NetworkConfig& network) {
  std::vector<PerRank<T>> out;                                    // by sender, then receiver
  std::vector<PerRank<T>> into(static_cast<std::size_t>(ranks));  // by receiver, then sender
  for (int from = 0; from < ranks; ++from) {
    PerRank<T> parts;
    for (int to = 0; to < ranks; ++to) {
      std::vector<T> part;
      for (std::int64_t i = 0; i < count(from, to); ++i) part.push_back(static_cast<T>(10000 * from + 100 * to + i));
      parts.push_back(std::move(part));
      into[static_cast<std::size_t>(to)].emplace_back(static_cast<std::size_t>(count(from, to)));
    }
    out.push_back(std::move(parts));
  }
  const auto bytes = [count](int from, int to) { return count(from, to) * static_cast<std::int64_t>(sizeof(T)); };
  expect_schedule(
      name_of(algorithm), ranks, network, Operation::kAllToAll, schedule_of(algorithm, ranks, bytes),
      [&](RankContext& context, bool with_elements) {
        std::vector<BufferView> from_here;
        std::vector<BufferView> to_here;
        for (int r = 0; r < ranks; ++r) {
          const auto rank = static_cast<std::size_t>(context.rank());
          from_here.push_back(with_elements ? view_of(out[rank], r) : shape_of(dtype_of<T>, count(context.rank(), r)));
          to_here.push_back(with_elements ? view_of(into[rank], r) : shape_of(dtype_of<T>, count(r, context.rank())));
        }
        return all_to_all_parts(context, std::move(from_here), std::move(to_here), algorithm);
      });
  for (std::size_t to = 0; to < into.size(); ++to) {
    for (std::size_t from = 0; from < into.size(); ++from) EXPECT_EQ(into[to][from], out[from][to]);
  }
}

TEST(AllToAllAlgorithms, BringEveryPartToItsRank) {
  for (int k = 0; k < kAllToAllAlgorithms; ++k) {
    const auto algorithm = static_cast<AllToAllAlgorithm>(k);
    for (int ranks = 1; ranks <= 17; ++ranks) {
      expect_all_to_all<float>(algorithm, ranks, uneven, default_network());
      expect_all_to_all<double>(algorithm, ranks, equal, default_network());
      expect_all_to_all<std::int32_t>(algorithm, ranks, none, default_network());
    }
    for (const NetworkConfig& network : networks_with_latency()) expect_all_to_all<float>(algorithm, 7, equal, network);
  }
}

// As on a real network with large messages: nobody may count on its message leaving before the receiver waits for it.
TEST(OtherAlgorithms, EndWhereSendsWaitForTheirReceivers) {
  const AlgorithmOptions options(Bytes(100), 1);
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (int k = 0; k < 3; ++k) {
      EXPECT_TRUE(schedule_of(static_cast<ReduceScatterAlgorithm>(k), ranks, 97, 4).ends_where_sends_wait()) << k;
      EXPECT_TRUE(schedule_of(static_cast<AllGatherAlgorithm>(k), ranks, 97, 4).ends_where_sends_wait()) << k;
    }
    for (int k = 0; k < 2; ++k) {
      EXPECT_TRUE(schedule_of(static_cast<BroadcastAlgorithm>(k), ranks, 0, 97, 4, options).ends_where_sends_wait())
          << k;
      EXPECT_TRUE(schedule_of(static_cast<ReduceAlgorithm>(k), ranks, 0, 97, 4, options).ends_where_sends_wait()) << k;
      EXPECT_TRUE(schedule_of(static_cast<AllToAllAlgorithm>(k), ranks, uneven).ends_where_sends_wait()) << k;
    }
  }
  // What the check is for: two ranks that both send first.
  MessageGraph stuck(2);
  for (const int rank : {0, 1}) {
    stuck.send(rank, 1 - rank, 4);
    stuck.take(rank, 1 - rank);
  }
  EXPECT_FALSE(stuck.ends_where_sends_wait());
}

Task<> scatter_parts(RankContext& context, std::vector<BufferView> from, BufferView own, int root) {
  ProcessGroup world = ProcessGroup::world(context);
  co_await scatter(world, std::move(from), own, root);
}

template <class T>
void expect_scatter(int ranks, int root, std::int64_t (*count)(int, int)) {
  PerRank<T> from;
  PerRank<T> own;
  MessageGraph graph(ranks);
  for (int r = 0; r < ranks; ++r) {
    from.push_back(uneven_values<T>(25, ranks, count(root, r))[static_cast<std::size_t>(r)]);
    own.emplace_back(static_cast<std::size_t>(count(root, r)));
    if (r == root || count(root, r) == 0) continue;
    graph.send(root, r, count(root, r) * static_cast<std::int64_t>(sizeof(T)));
    graph.take(r, root);
  }
  expect_schedule(
      "scatter", ranks, default_network(), Operation::kScatter, graph, [&](RankContext& context, bool with_elements) {
        const int rank = context.rank();
        std::vector<BufferView> parts;
        for (int r = 0; r < ranks && rank == root; ++r) {
          parts.push_back(with_elements ? view_of(from, r) : shape_of(dtype_of<T>, count(root, r)));
        }
        const BufferView mine = with_elements ? view_of(own, rank) : shape_of(dtype_of<T>, count(root, rank));
        return scatter_parts(context, std::move(parts), mine, root);
      });
  EXPECT_EQ(own, from);
}

TEST(DirectScatter, BringsEveryPartOfAnyRootToItsRank) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (int root = 0; root < ranks; ++root) expect_scatter<float>(ranks, root, uneven);
    expect_scatter<double>(ranks, ranks / 2, equal);
    expect_scatter<float>(ranks, 0, none);
  }
}

}  // namespace
}  // namespace rehearse
