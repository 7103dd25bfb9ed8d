#include "core/parallel/units.h"

#include <gtest/gtest.h>

#include "tests/core/parallel/capstone_model.h"

namespace rehearse {
namespace {

TEST(UnitPlan, IsOneUnitWithoutABucketSize) {
  const ParameterLayout layout(capstone());
  const UnitPlan plan(layout, 0, 4);
  ASSERT_EQ(plan.units().size(), 1U);
  EXPECT_EQ(plan.units()[0].numel, 29'824);
  EXPECT_EQ(plan.units()[0].padded_numel, 29'824);  // 466 * 64
  EXPECT_EQ(plan.units()[0].chunk, 7'456);
}

TEST(UnitPlan, FillsUnitsFromTheEndWithWholeParameters) {
  const ParameterLayout layout(capstone());
  for (const std::int64_t bucket : {1, 100, 2048, 2112, 2113, 5000, 1'000'000}) {
    for (const int shards : {1, 3, 7}) {
      const UnitPlan plan(layout, bucket, shards);
      std::int64_t end = layout.total();
      int tensor_end = static_cast<int>(layout.tensors().size());
      for (std::size_t u = 0; u < plan.units().size(); ++u) {
        const Unit& unit = plan.units()[u];
        EXPECT_EQ(unit.flat_offset + unit.numel, end);
        EXPECT_EQ(unit.first_tensor + unit.tensors, tensor_end);
        EXPECT_TRUE(unit.numel <= bucket || unit.tensors == 1);
        // The next parameter would not have fitted.
        if (unit.first_tensor > 0) {
          EXPECT_GT(unit.numel + layout.tensors()[static_cast<std::size_t>(unit.first_tensor) - 1].numel, bucket);
        }
        EXPECT_EQ(unit.padded_numel % (16 * shards), 0);
        EXPECT_GE(unit.padded_numel, unit.numel);
        EXPECT_LT(unit.padded_numel - unit.numel, 16 * shards);
        std::int64_t real = 0;
        for (int r = 0; r < shards; ++r) real += UnitPlan::real_elements(unit, r);
        EXPECT_EQ(real, unit.numel);
        for (int t = unit.first_tensor; t < tensor_end; ++t) {
          EXPECT_EQ(plan.unit_of(t), static_cast<int>(u));
          EXPECT_EQ(plan.offset_in_unit(t) + unit.flat_offset, layout.tensors()[static_cast<std::size_t>(t)].offset);
        }
        end = unit.flat_offset;
        tensor_end = unit.first_tensor;
      }
      EXPECT_EQ(end, 0);
    }
  }
}

TEST(UnitPlan, ARankMayHoldPaddingAlone) {
  ModelConfig config;
  config.layers = 1;
  config.embed = 1;
  config.heads = 1;
  config.vocab = 1;
  config.context = 1;
  const ParameterLayout layout(config);
  const UnitPlan plan(layout, 0, 7);
  const Unit& unit = plan.units()[0];
  ASSERT_LT(unit.numel, 7 * 16);
  EXPECT_EQ(UnitPlan::real_elements(unit, 6), 0);
}

}  // namespace
}  // namespace rehearse
