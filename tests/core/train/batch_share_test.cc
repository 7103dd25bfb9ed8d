#include "core/train/batch_share.h"

#include <gtest/gtest.h>

namespace rehearse {
namespace {

TrainConfig config_of(std::int64_t data_ranks, std::int64_t batch, std::int64_t accumulate) {
  TrainConfig config;
  config.data_ranks = data_ranks;
  config.batch = batch;
  config.accumulate = accumulate;
  return config;
}

TEST(BatchShare, IsTheBatchAsConfiguredOnThePlannedRanks) {
  for (const std::int64_t planned : {0, 4}) {
    const BatchShare share = share_of_batch(config_of(planned, 6, 2), 4);
    EXPECT_EQ(share.sequences, 6);
    EXPECT_EQ(share.microbatches, 2);
    EXPECT_EQ(share.per_microbatch(), 3);
  }
}

TEST(BatchShare, DividesTheSameSequencesAmongOtherRanks) {
  for (const std::int64_t ranks : {1, 2, 3, 4, 6, 8, 12, 24}) {
    ASSERT_TRUE(divides_batch(config_of(4, 6, 2), ranks));
    EXPECT_EQ(share_of_batch(config_of(4, 6, 2), ranks).sequences * ranks, 24);
  }
  for (const std::int64_t ranks : {5, 7, 9, 25}) EXPECT_FALSE(divides_batch(config_of(4, 6, 2), ranks));
}

TEST(BatchShare, TakesTheFewestMicrobatchesThatAreNoLargerThanPlanned) {
  const TrainConfig config = config_of(4, 3, 1);
  const std::int64_t expected[][2] = {{1, 4}, {2, 2}, {3, 2}, {4, 1}, {6, 1}, {12, 1}};  // ranks, microbatches
  for (const auto& [ranks, microbatches] : expected) {
    const BatchShare share = share_of_batch(config, ranks);
    EXPECT_EQ(share.microbatches, microbatches) << ranks;
    EXPECT_LE(share.per_microbatch(), 3) << ranks;
    EXPECT_EQ(share.per_microbatch() * share.microbatches, share.sequences) << ranks;
  }
}

}  // namespace
}  // namespace rehearse
