// Every all_reduce algorithm on 1 to 17 ranks and any number of elements: sums in the order its header says, messages,
// bytes and times of every rank as the message graph has them, the same without elements.

#include <gtest/gtest.h>

#include <cstring>

#include "tests/core/comm/algorithm_cases.h"

namespace rehearse {
namespace {

// Whether times are settled.
template <class T>
bool expect_all_reduce(const AllReduceCase& one, int ranks, std::int64_t count, const NetworkConfig& network) {
  PerRank<T> values = uneven_values<T>(11, ranks, count);
  const std::vector<T> expected = sums_in_order(orders_of(one.algorithm, ranks, count, one.options), values);
  const bool settled =
      expect_on_buffers(one.text() + ", " + std::to_string(count) + " elements", values, network, Operation::kAllReduce,
                        schedule_of(one.algorithm, ranks, count, sizeof(T), one.options), one.call());
  for (const std::vector<T>& found : values) {
    EXPECT_TRUE(same_bits(found, expected)) << one.text() << ", " << ranks << " ranks, " << count << " elements";
  }
  return settled;
}

TEST(AllReduceAlgorithms, GiveAllRanksTheFloatSumInTheStatedOrder) {
  int open = 0;
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const AllReduceCase& one : all_reduce_cases(ranks)) {
      for (const std::int64_t count : counts_for(ranks)) {
        if (one.options.segment == Bytes(1) && count > 100) continue;  // a thousand messages a rank
        open += expect_all_reduce<float>(one, ranks, count, default_network()) ? 0 : 1;
      }
    }
  }
  EXPECT_LT(open, 5);
}

TEST(AllReduceAlgorithms, GiveAllRanksTheDoubleSumInTheStatedOrder) {
  int open = 0;
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const AllReduceCase& one : all_reduce_cases(ranks)) {
      for (const std::int64_t count : {1, 3, ranks + 1, 97}) {
        open += expect_all_reduce<double>(one, ranks, count, default_network()) ? 0 : 1;
      }
    }
  }
  EXPECT_LT(open, 5);
}

TEST(AllReduceAlgorithms, TakeTheTimeOfTheirMessageGraphOnAnyNetwork) {
  int open = 0;
  for (const NetworkConfig& network : networks_with_latency()) {
    for (const int ranks : {2, 3, 4, 6, 7, 8, 12, 16, 17}) {
      for (const AllReduceCase& one : all_reduce_cases(ranks)) {
        for (const std::int64_t count : {1, 97}) open += expect_all_reduce<float>(one, ranks, count, network) ? 0 : 1;
      }
    }
  }
  EXPECT_LT(open, 50);
}

// The header's examples.
TEST(AllReduceAlgorithms, TheOrdersOfFourRanks) {
  const auto order = [](AllReduceAlgorithm algorithm, std::size_t element) {
    return text_of(orders_of(algorithm, 4, 8, AlgorithmOptions(Bytes(), 2))[element]);
  };
  EXPECT_EQ(order(AllReduceAlgorithm::kRing, 0), "(((x1 + x2) + x3) + x0)");
  EXPECT_EQ(order(AllReduceAlgorithm::kHalvingDoubling, 0), "((x0 + x2) + (x1 + x3))");
  EXPECT_EQ(order(AllReduceAlgorithm::kRecursiveDoubling, 0), "((x0 + x1) + (x2 + x3))");
  EXPECT_EQ(order(AllReduceAlgorithm::kBinomialTree, 0), "((x0 + x1) + (x2 + x3))");
  EXPECT_EQ(order(AllReduceAlgorithm::kDoubleBinaryTree, 0), "(x0 + ((x1 + x2) + x3))");
  EXPECT_EQ(order(AllReduceAlgorithm::kDoubleBinaryTree, 7), "(x3 + ((x2 + x1) + x0))");
  EXPECT_EQ(order(AllReduceAlgorithm::kHierarchical, 0), "((x3 + x2) + (x1 + x0))");
  EXPECT_EQ(order(AllReduceAlgorithm::kHierarchical, 7), "((x0 + x1) + (x2 + x3))");
}

TEST(AllReduceAlgorithms, OtherNumbersOfRanksAreFoldedByNeighbours) {
  const AlgorithmOptions options;
  EXPECT_EQ(text_of(orders_of(AllReduceAlgorithm::kHalvingDoubling, 6, 1, options)[0]),
            "(((x0 + x1) + x4) + ((x2 + x3) + x5))");
  EXPECT_EQ(text_of(orders_of(AllReduceAlgorithm::kRecursiveDoubling, 6, 1, options)[0]),
            "(((x0 + x1) + (x2 + x3)) + (x4 + x5))");
  EXPECT_EQ(text_of(orders_of(AllReduceAlgorithm::kBinomialTree, 6, 1, options)[0]),
            "(((x0 + x1) + (x2 + x3)) + (x4 + x5))");
  EXPECT_EQ(text_of(orders_of(AllReduceAlgorithm::kBinomialTree, 7, 1, options)[0]),
            "(((x0 + x1) + (x2 + x3)) + ((x4 + x5) + x6))");
}

// A sum of two NaNs is the first: ranks that add the same two the other way round would differ.
TEST(AllReduceAlgorithms, GiveAllRanksTheSameNaN) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (const AllReduceCase& one : all_reduce_cases(ranks)) {
      PerRank<float> values = uneven_values<float>(12, ranks, 97);
      for (std::size_t rank = 0; rank < values.size(); ++rank) {
        const std::uint32_t bits = (rank % 2 == 0 ? 0x7fc00000U : 0xffc00000U) + static_cast<std::uint32_t>(rank);
        for (float& value : values[rank]) std::memcpy(&value, &bits, sizeof(bits));
      }
      const OnBuffer call = one.call();
      Ranks world(ranks);
      world.run([&](RankContext& context) { return on_world_buffer(context, call, view_of(values, context.rank())); });
      for (const std::vector<float>& found : values) EXPECT_TRUE(same_bits(found, values[0])) << one.text() << ranks;
    }
  }
}

// Even and odd ranks, the odd ones backwards, at the same time; each group in its own order and its own time.
Group half_of(RankContext& context, int size) {
  const int rank = context.rank();
  std::vector<int> members;
  for (int i = 0; i < size; ++i) members.push_back(rank % 2 == 0 ? 2 * i : 2 * (size - 1 - i) + 1);
  return Group(rank % 2 == 0 ? 1 : 2, context.generation(), members, rank % 2 == 0 ? rank / 2 : size - 1 - rank / 2);
}

Task<> in_half(RankContext& context, int size, const OnBuffer& collective, BufferView buffer) {
  ProcessGroup group(context, half_of(context, size));
  co_await collective(group, buffer);
  co_await collective(group, buffer);
}

TEST(AllReduceAlgorithms, SumInSubGroupsAgainAndAgain) {
  for (const int size : {1, 3, 4, 6, 7}) {
    for (const AllReduceCase& one : all_reduce_cases(size)) {
      PerRank<double> values = uneven_values<double>(13, 2 * size, 30);
      PerRank<double> even;
      PerRank<double> odd;
      for (int i = 0; i < size; ++i) even.push_back(values[static_cast<std::size_t>(2 * i)]);
      for (int i = size - 1; i >= 0; --i) odd.push_back(values[static_cast<std::size_t>(2 * i + 1)]);
      const std::vector<SumOrder> orders = orders_of(one.algorithm, size, 30, one.options);
      for (int twice = 0; twice < 2; ++twice) {
        even.assign(static_cast<std::size_t>(size), sums_in_order(orders, even));
        odd.assign(static_cast<std::size_t>(size), sums_in_order(orders, odd));
      }
      const OnBuffer call = one.call();
      Ranks world(2 * size);
      world.run([&](RankContext& context) { return in_half(context, size, call, view_of(values, context.rank())); });
      for (std::size_t rank = 0; rank < values.size(); ++rank) {
        EXPECT_TRUE(same_bits(values[rank], rank % 2 == 0 ? even[0] : odd[0])) << one.text() << ", " << size;
      }
    }
  }
}

// As on a real network with large messages: nobody may count on its message leaving before the receiver waits for it.
TEST(AllReduceAlgorithms, EndWhereSendsWaitForTheirReceivers) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const AllReduceCase& one : all_reduce_cases(ranks)) {
      for (const std::int64_t count : {1, 97}) {
        EXPECT_TRUE(schedule_of(one.algorithm, ranks, count, 4, one.options).ends_where_sends_wait())
            << one.text() << ", " << ranks << " ranks";
      }
    }
  }
}

TEST(AllReduceAlgorithms, KnowTheirWorldSizes) {
  for (int size = 1; size <= 17; ++size) {
    for (int k = 0; k < kAllReduceAlgorithms; ++k) {
      const auto algorithm = static_cast<AllReduceAlgorithm>(k);
      const bool can = algorithm != AllReduceAlgorithm::kHierarchical || size % 4 == 0;
      EXPECT_EQ(can_do(algorithm, size, AlgorithmOptions(Bytes(), 4)), can) << name_of(algorithm) << size;
    }
    EXPECT_FALSE(can_do(AllReduceAlgorithm::kHierarchical, size, AlgorithmOptions(Bytes(), 0)));
  }
}

TEST(AllReduceAlgorithmsDeathTest, AWorldSizeThatTheAlgorithmCannotDoEndsTheProcess) {
  EXPECT_DEATH(
      {
        Ranks world(5, default_network(), Storing::kShapeOnly);
        const AllReduceCase one(AllReduceAlgorithm::kHierarchical, AlgorithmOptions(Bytes(), 2));
        const OnBuffer call = one.call();
        world.run([&](RankContext& context) { return on_world_buffer(context, call, shape_of(DType::kFloat32, 10)); });
      },
      "can_do");
}

}  // namespace
}  // namespace rehearse
