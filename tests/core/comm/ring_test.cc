// What the ring collectives compute and send; ring_time_test.cc has how long they take.

#include <gtest/gtest.h>

#include "tests/core/comm/ranks.h"

namespace rehearse {
namespace {

template <class T>
class RingTest : public testing::Test {
 protected:
  static constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  static std::int64_t bytes_of(int r, std::int64_t count, int size) {
    return kSize * elements_of((r + size) % size, count, size);
  }
  // Nothing is sent over an empty buffer, or by one rank.
  static std::int64_t steps(std::int64_t count, int size) { return count == 0 ? 0 : size - 1; }

  static void run(Ranks& ranks, InPlace collective, PerRank<T>& values) {
    ranks.run([collective, &values](RankContext& context) {
      return on_world(context, collective, view_of(values, context.rank()));
    });
  }
};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(RingTest, Elements);

TYPED_TEST(RingTest, AllReduceGivesAllRanksTheSumInTheDocumentedOrder) {
  for (int size = 1; size <= 17; ++size) {
    for (const std::int64_t count : counts_for(size)) {
      PerRank<TypeParam> values = uneven_values<TypeParam>(1, size, count);
      const std::vector<TypeParam> expected = ring_sum(values);
      Ranks ranks(size);
      this->run(ranks, all_reduce, values);
      for (int i = 0; i < size; ++i) {
        EXPECT_TRUE(same_bits(values[static_cast<std::size_t>(i)], expected)) << size << " ranks, " << count;
        const std::int64_t steps = 2 * this->steps(count, size);
        const std::int64_t all = steps == 0 ? 0 : 2 * count * this->kSize;
        const std::int64_t own = steps == 0 ? 0 : this->bytes_of(i, count, size);
        const std::int64_t next = steps == 0 ? 0 : this->bytes_of(i + 1, count, size);
        const std::int64_t previous = steps == 0 ? 0 : this->bytes_of(i - 1, count, size);
        ranks.expect_traffic(i, Operation::kAllReduce, steps, all - own - next, steps, all - previous - own);
      }
    }
  }
}

TYPED_TEST(RingTest, ReduceScatterLeavesEachRankTheSumOfItsChunk) {
  for (int size = 1; size <= 17; ++size) {
    for (const std::int64_t count : counts_for(size)) {
      PerRank<TypeParam> values = uneven_values<TypeParam>(2, size, count);
      const std::vector<TypeParam> expected = ring_sum(values);
      Ranks ranks(size);
      this->run(ranks, reduce_scatter, values);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto owner = static_cast<std::size_t>(owner_of(i, count, size));
        EXPECT_EQ(values[owner][static_cast<std::size_t>(i)], expected[static_cast<std::size_t>(i)]);
      }
      for (int i = 0; i < size; ++i) {
        const std::int64_t steps = this->steps(count, size);
        const std::int64_t all = count * this->kSize;
        const std::int64_t sent = steps == 0 ? 0 : all - this->bytes_of(i, count, size);
        const std::int64_t received = steps == 0 ? 0 : all - this->bytes_of(i - 1, count, size);
        ranks.expect_traffic(i, Operation::kReduceScatter, steps, sent, steps, received);
      }
    }
  }
}

TYPED_TEST(RingTest, AllGatherGivesAllRanksEveryChunk) {
  for (int size = 1; size <= 17; ++size) {
    for (const std::int64_t count : counts_for(size)) {
      PerRank<TypeParam> values = uneven_values<TypeParam>(3, size, count);
      std::vector<TypeParam> expected;
      for (std::int64_t i = 0; i < count; ++i) {
        expected.push_back(values[static_cast<std::size_t>(owner_of(i, count, size))][static_cast<std::size_t>(i)]);
      }
      Ranks ranks(size);
      this->run(ranks, all_gather, values);
      for (int i = 0; i < size; ++i) {
        EXPECT_TRUE(same_bits(values[static_cast<std::size_t>(i)], expected)) << size << " ranks, " << count;
        const std::int64_t steps = this->steps(count, size);
        const std::int64_t all = count * this->kSize;
        const std::int64_t sent = steps == 0 ? 0 : all - this->bytes_of(i + 1, count, size);
        const std::int64_t received = steps == 0 ? 0 : all - this->bytes_of(i, count, size);
        ranks.expect_traffic(i, Operation::kAllGather, steps, sent, steps, received);
      }
    }
  }
}

// With equal chunks the bytes are those of the literature.
TYPED_TEST(RingTest, EqualChunksSendTwoTimesSTimesNMinus1OverN) {
  constexpr int kRanks = 8;
  PerRank<TypeParam> values = uneven_values<TypeParam>(4, kRanks, 800);
  Ranks ranks(kRanks);
  this->run(ranks, all_reduce, values);
  const std::int64_t bytes = 2 * 800 * this->kSize * (kRanks - 1) / kRanks;
  for (int i = 0; i < kRanks; ++i) ranks.expect_traffic(i, Operation::kAllReduce, 14, bytes, 14, bytes);
}

// The oracle would not notice a wrong order if the numbers did not: summed by rank they have other bits.
TYPED_TEST(RingTest, TheOrderOfSummationShowsInTheBits) {
  const PerRank<TypeParam> values = uneven_values<TypeParam>(1, 5, 97);
  std::vector<TypeParam> by_rank = values[0];
  for (std::size_t r = 1; r < 5; ++r) {
    for (std::size_t i = 0; i < by_rank.size(); ++i) by_rank[i] = by_rank[i] + values[r][i];
  }
  EXPECT_FALSE(same_bits(by_rank, ring_sum(values)));
}

// An integer buffer can be gathered: nothing is summed.
TEST(RingAllGather, TakesAnyDtype) {
  PerRank<std::int32_t> values;
  for (std::int32_t i = 0; i < 3; ++i) values.push_back({10 + i, 20 + i, 30 + i});
  Ranks ranks(3);
  ranks.run([&values](RankContext& context) { return on_world(context, all_gather, view_of(values, context.rank())); });
  for (const auto& all : values) EXPECT_EQ(all, (std::vector<std::int32_t>{10, 21, 32}));
}

Task<> take_apart(RankContext& context, BufferView buffer) {
  ProcessGroup world = ProcessGroup::world(context);
  co_await reduce_scatter(world, buffer);
  co_await all_gather(world, buffer);
}

// What lets ZeRO stages have equal bits (design section 7).
TEST(RingAllReduce, IsReduceScatterThenAllGather) {
  for (const std::int64_t count : {5, 97, 1024}) {
    PerRank<float> whole = uneven_values<float>(6, 7, count);
    PerRank<float> apart = whole;
    Ranks one(7);
    one.run([&whole](RankContext& context) { return on_world(context, all_reduce, view_of(whole, context.rank())); });
    Ranks two(7);
    two.run([&apart](RankContext& context) { return take_apart(context, view_of(apart, context.rank())); });
    for (std::size_t r = 0; r < 7; ++r) EXPECT_TRUE(same_bits(whole[r], apart[r]));
    EXPECT_EQ(one.elapsed(), two.elapsed());
  }
}

// Messages are given back: no payload is held once a collective is over, and in a ring no rank ever holds more than a
// few.
TEST(RingAllReduce, HoldsFewPayloadsAtATime) {
  constexpr int kRanks = 16;
  PerRank<float> values = uneven_values<float>(7, kRanks, 1600);
  Ranks ranks(kRanks);
  ranks.run([&values](RankContext& context) { return on_world(context, all_reduce, view_of(values, context.rank())); });
  for (int i = 0; i < kRanks; ++i) {
    const MemoryAccount& memory = ranks.world().memory(i);
    EXPECT_EQ(memory.current(MemoryKind::kCommunication), Bytes());
    EXPECT_GT(memory.peak(MemoryKind::kCommunication), Bytes());
    EXPECT_LE(memory.peak(MemoryKind::kCommunication), Bytes(4 * 100 * 4));
  }
}

}  // namespace
}  // namespace rehearse
