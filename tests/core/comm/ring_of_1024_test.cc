// A ring of 1,024 ranks, two million messages: 64 MiB a rank, 5 us, 12.5e9 B/s, as other simulators were measured.

#include <gtest/gtest.h>

#include "core/comm/cost_formulas.h"
#include "tests/core/comm/ranks.h"

namespace rehearse {
namespace {

TEST(RingOf1024, TakesTheTimeOfItsFormula) {
  constexpr int kRanks = 1024;
  constexpr std::int64_t kCount = std::int64_t{1} << 24;
  Ranks ranks(kRanks, default_network(), Storing::kShapeOnly);
  ranks.run([](RankContext& context) { return on_world(context, all_reduce, shape_of(DType::kFloat32, kCount)); });
  const LinkCost link(default_network().latency, default_network().bandwidth);
  EXPECT_EQ(ranks.elapsed(), Duration::picoseconds(20'956'932'480));
  EXPECT_EQ(ranks.elapsed(), all_reduce_time(AllReduceAlgorithm::kRing, kRanks, Bytes(4 * kCount), link));
  EXPECT_EQ(ranks.world().network().messages(), 2 * (kRanks - 1) * kRanks);
}

}  // namespace
}  // namespace rehearse
