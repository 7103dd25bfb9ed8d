// Without storage the collectives send the same messages at the same times and touch no element.

#include <gtest/gtest.h>

#include "tests/core/comm/ranks.h"

namespace rehearse {
namespace {

constexpr std::int64_t kCount = 97;

// Every collective once, on buffers as the context stores them.
Task<> everything(RankContext& context) {
  ProcessGroup world = ProcessGroup::world(context);
  MemoryAccount* memory = &context.memory();
  const Storing storing = context.storing();
  Buffer buffer(memory, MemoryKind::kGradients, DType::kFloat32, kCount, storing);
  Buffer all(memory, MemoryKind::kGradients, DType::kFloat32, kCount * world.size(), storing);
  std::vector<BufferView> into;
  if (world.rank() == 1) {
    for (int r = 0; r < world.size(); ++r) into.push_back(BufferView(all, r * kCount, kCount));
  }
  const BufferView view(buffer);
  co_await broadcast(world, view, 2);
  co_await reduce_scatter(world, view);
  co_await barrier(world);
  co_await all_gather(world, view);
  co_await all_reduce(world, view);
  co_await gather(world, view, std::move(into), 1);
}

TEST(CostOnly, TimesAndTrafficAreThoseOfTheRealRun) {
  for (const NetworkConfig& network : networks()) {
    for (const int size : {3, 4, 7, 16}) {
      Ranks real(size, network, Storing::kElements);
      real.run(everything);
      Ranks cost(size, network, Storing::kShapeOnly);
      cost.run(everything);
      EXPECT_GT(real.elapsed(), Duration());
      EXPECT_EQ(real.world().kernel().events(), cost.world().kernel().events());
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_EQ(real.finished(rank), cost.finished(rank));
        for (int k = 0; k < kOperations; ++k) {
          const auto operation = static_cast<Operation>(k);
          const TrafficCounters& a = real.world().network().counters(rank, operation);
          const TrafficCounters& b = cost.world().network().counters(rank, operation);
          EXPECT_EQ(a.messages_sent, b.messages_sent);
          EXPECT_EQ(a.messages_received, b.messages_received);
          EXPECT_EQ(a.bytes_sent, b.bytes_sent);
          EXPECT_EQ(a.bytes_received, b.bytes_received);
        }
        EXPECT_EQ(cost.world().memory(rank).peak(MemoryKind::kCommunication), Bytes());
      }
    }
  }
}

// A job of a size that could not be held: 2^40 elements on 4 ranks.
TEST(CostOnly, SizesAreNotLimitedByMemory) {
  constexpr std::int64_t kElements = std::int64_t{1} << 40;
  Ranks ranks(4, default_network(), Storing::kShapeOnly);
  ranks.run([](RankContext& context) { return on_world(context, all_reduce, shape_of(DType::kFloat32, kElements)); });
  // 2^40 bytes a chunk, 80 ps each.
  EXPECT_EQ(ranks.elapsed(), 6 * (Duration::microseconds(5) + Duration::picoseconds(80 * kElements)));
}

}  // namespace
}  // namespace rehearse
