// Messages and bytes by formula against those that are counted, for every algorithm, N = 1..17 and sizes that nothing
// divides.

#include "core/comm/traffic_formulas.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/core/comm/algorithm_cases.h"

namespace rehearse {
namespace {

CollectiveTraffic counted(const OnBuffer& collective, int ranks, std::int64_t count, DType dtype) {
  Ranks world(ranks, default_network(), Storing::kShapeOnly);
  world.run([&](RankContext& context) { return on_world_buffer(context, collective, shape_of(dtype, count)); });
  CollectiveTraffic traffic;
  traffic.messages = world.world().network().messages();
  traffic.bytes = world.world().network().bytes_on_wire();
  return traffic;
}

void expect_equal(const CollectiveTraffic& found, const CollectiveTraffic& formula, const std::string& what) {
  EXPECT_EQ(found.messages, formula.messages) << what;
  EXPECT_EQ(found.bytes.count(), formula.bytes.count()) << what;
}

class TrafficFormulas : public ::testing::TestWithParam<int> {};

TEST_P(TrafficFormulas, AreWhatIsSent) {
  const int ranks = GetParam();
  for (const std::int64_t count : {0, 1, 2, 7, 64, 1001}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const std::string where = std::to_string(ranks) + " ranks, " + std::to_string(count) + " " + name_of(dtype);
      for (const AllReduceCase& one : all_reduce_cases(ranks)) {
        expect_equal(counted(one.call(), ranks, count, dtype),
                     all_reduce_traffic(one.algorithm, ranks, count, dtype, one.options), one.text() + ", " + where);
      }
      for (int i = 0; i < kReduceScatterAlgorithms; ++i) {
        const auto algorithm = static_cast<ReduceScatterAlgorithm>(i);
        const auto call = [&](ProcessGroup& group, BufferView view) { return reduce_scatter(group, view, algorithm); };
        expect_equal(counted(call, ranks, count, dtype), reduce_scatter_traffic(algorithm, ranks, count, dtype),
                     std::string(name_of(algorithm)) + " reduce_scatter, " + where);
      }
      for (int i = 0; i < kAllGatherAlgorithms; ++i) {
        const auto algorithm = static_cast<AllGatherAlgorithm>(i);
        const auto call = [&](ProcessGroup& group, BufferView view) { return all_gather(group, view, algorithm); };
        expect_equal(counted(call, ranks, count, dtype), all_gather_traffic(algorithm, ranks, count, dtype),
                     std::string(name_of(algorithm)) + " all_gather, " + where);
      }
      for (int i = 0; i < kBroadcastAlgorithms; ++i) {
        const auto algorithm = static_cast<BroadcastAlgorithm>(i);
        const AlgorithmOptions options(Bytes(64), 1);
        const auto call = [&](ProcessGroup& group, BufferView view) {
          return broadcast(group, view, 0, algorithm, options);
        };
        expect_equal(counted(call, ranks, count, dtype), broadcast_traffic(algorithm, ranks, count, dtype, options),
                     std::string(name_of(algorithm)) + " broadcast, " + where);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, TrafficFormulas, ::testing::Range(1, 18));

TEST(TrafficFormulasAtScale, SayWhereCountsLeaveSixtyThreeBits) {
  EXPECT_THROW(all_reduce_traffic(AllReduceAlgorithm::kRing, 65536, std::int64_t{1} << 50, DType::kFloat32),
               InputError);
}

}  // namespace
}  // namespace rehearse
