// Saves to the local disks of the ranks, and loads from whatever disks are left.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/checkpoint/tiny_job.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kRanks = 3;
constexpr const char* kShard = "checkpoints/step_000010/shard_00001.safetensors";

FileSystem& disk(Mounts& mounts, int rank) { return mounts.at("local" + std::to_string(rank)).files; }

std::vector<std::string> names(const FileSystem& files) {
  std::vector<std::string> all;
  for (const auto& [path, data] : files.durable_files()) all.push_back(path);
  return all;
}

std::vector<SaveResult> save_on_disks(Mounts& mounts, std::int64_t step, SaveOptions options = {},
                                      std::int64_t distance = 1) {
  options.local.emplace();
  options.local->replica_distance = distance;
  return run_save(kRanks, mounts, step, options);
}

// Of all ranks: from their own disks, from others', from the shared storage.
std::vector<std::int64_t> shards_of(const std::vector<LoadOutcome>& outcomes) {
  TierReads reads;
  for (const LoadOutcome& one : outcomes) reads += one.checkpoint->reads;
  return {reads.shards_from_own_disk, reads.shards_from_other_disks, reads.shards_from_remote};
}

void expect_loaded(const std::vector<LoadOutcome>& outcomes, std::int64_t step, float salt = 0) {
  const int ranks = static_cast<int>(outcomes.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const LoadOutcome& one = outcomes[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(one.checkpoint.has_value()) << (one.rejected.empty() ? "" : one.rejected.back().reason);
    EXPECT_EQ(one.checkpoint->manifest.step, step);
    EXPECT_TRUE(has_values(one.checkpoint->state, tiny_wanted(rank, ranks), step, salt)) << rank;
  }
}

TEST(LocalTier, EachDiskHasTwoShardsAndWhatIsSaidOfThem) {
  Mounts mounts = mounts_with_disks(kRanks);
  for (const SaveResult& result : save_on_disks(mounts, 10)) EXPECT_EQ(result.problem, "");
  const std::string directory = "checkpoints/step_000010/";
  EXPECT_THAT(names(disk(mounts, 0)),
              ElementsAre(directory + "manifest.json", directory + "run_state.json",
                          directory + "shard_00000.safetensors", directory + "shard_00002.safetensors"));
  EXPECT_THAT(directories(mounts), IsEmpty());  // of the shared storage
}

TEST(LocalTier, ManifestAndShardsAreThoseOfTheSharedStorage) {
  Mounts mounts = mounts_with_disks(kRanks);
  save_on_disks(mounts, 10);
  run_save(kRanks, mounts, 10);
  const auto shared = mounts.at("shared").files.durable_files();
  for (int rank = 0; rank < kRanks; ++rank) {
    for (const auto& [path, data] : disk(mounts, rank).durable_files()) {
      if (!path.ends_with("run_state.json")) {
        EXPECT_EQ(data.text(), shared.at(path).text()) << path;
      }
    }
  }
}

TEST(LocalTier, EveryRankLoadsFromItsOwnDisk) {
  Mounts mounts = mounts_with_disks(kRanks);
  save_on_disks(mounts, 10);
  const auto outcomes = run_load_of_tiers(kRanks, mounts);
  expect_loaded(outcomes, 10);
  EXPECT_THAT(shards_of(outcomes), ElementsAre(3, 0, 0));
}

TEST(LocalTier, ALostDiskLeavesACopyOfEachShard) {
  for (int lost = 0; lost < kRanks; ++lost) {
    Mounts mounts = mounts_with_disks(kRanks);
    save_on_disks(mounts, 10);
    mounts.replace("local" + std::to_string(lost));
    const auto outcomes = run_load_of_tiers(kRanks, mounts);
    expect_loaded(outcomes, 10);
    EXPECT_THAT(shards_of(outcomes), ElementsAre(2, 1, 0));
  }
}

TEST(LocalTier, WithoutACopyTheSharedStorageGivesTheShardOrAnOlderCheckpointIsTaken) {
  for (const bool uploaded : {true, false}) {
    Mounts mounts = mounts_with_disks(kRanks);
    run_save(kRanks, mounts, 5);
    save_on_disks(mounts, 10, {}, 0);
    if (uploaded) run_save(kRanks, mounts, 10);
    mounts.replace("local1");
    const auto outcomes = run_load_of_tiers(kRanks, mounts);
    expect_loaded(outcomes, uploaded ? 10 : 5);
    if (uploaded) {
      EXPECT_THAT(shards_of(outcomes), ElementsAre(2, 0, 1));
    } else {
      EXPECT_THAT(shards_of(outcomes), ElementsAre(0, 0, 3));
    }
    EXPECT_THAT(outcomes[2].rejected, IsEmpty());
  }
}

TEST(LocalTier, ARottenCopyGivesWayToTheOtherAndIsNamedOnEveryRank) {
  Mounts mounts = mounts_with_disks(kRanks);
  save_on_disks(mounts, 10);
  disk(mounts, 1).rot(kShard, Bytes(250), 2);
  const auto outcomes = run_load_of_tiers(kRanks, mounts);
  expect_loaded(outcomes, 10);
  EXPECT_THAT(shards_of(outcomes), ElementsAre(2, 1, 0));
  for (const LoadOutcome& one : outcomes) {
    ASSERT_EQ(one.refused_copies.size(), 1U);
    EXPECT_THAT(one.refused_copies[0], HasSubstr("rank 1: local:checkpoints/step_000010/shard_00001.safetensors"));
  }
}

TEST(LocalTier, WhereNoCopyIsWholeTheCheckpointIsRefusedAndAnOlderOneOfTheDisksTaken) {
  Mounts mounts = mounts_with_disks(kRanks);
  save_on_disks(mounts, 5);
  save_on_disks(mounts, 10);
  disk(mounts, 1).rot(kShard, Bytes(250), 2);
  disk(mounts, 2).rot(kShard, Bytes(251), 2);
  const auto outcomes = run_load_of_tiers(kRanks, mounts);
  expect_loaded(outcomes, 5);
  EXPECT_EQ(outcomes[0].refused_copies.size(), 2U);
  ASSERT_EQ(outcomes[2].rejected.size(), 1U);
  EXPECT_EQ(outcomes[2].rejected[0].reason, "no copy of shard 1 is left");
}

// Every file of a disk, each byte of some: nothing damaged is ever taken.
TEST(LocalTier, WhateverRotsOnADiskTheLoadIsRight) {
  Mounts whole = mounts_with_disks(kRanks);
  save_on_disks(whole, 10);
  int flips = 0;
  for (const auto& [path, data] : disk(whole, 1).files()) {
    for (std::int64_t at = 0; at < data.size().count(); at += 97) {
      Mounts mounts = whole;
      ASSERT_TRUE(disk(mounts, 1).rot(path, Bytes(at), static_cast<int>(at % 8)));
      const auto outcomes = run_load_of_tiers(kRanks, mounts);
      expect_loaded(outcomes, 10);
      ++flips;
    }
  }
  EXPECT_GT(flips, 20);
}

TEST(LocalTier, AFailureOnOneDiskLeavesTheCheckpointOnNone) {
  Mounts mounts = mounts_with_disks(kRanks);
  save_on_disks(mounts, 5);
  disk(mounts, 2).set_capacity(disk(mounts, 2).used() + Bytes(100));
  for (const SaveResult& result : save_on_disks(mounts, 10)) {
    EXPECT_THAT(result.problem, HasSubstr("rank 2: write local2:checkpoints/.building-g0-step_000010/"));
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_THAT(disk(mounts, rank).list("checkpoints"), ElementsAre("step_000005")) << rank;
  }
  expect_loaded(run_load_of_tiers(kRanks, mounts), 5);
}

TEST(LocalTier, ANaNIsNeverPublished) {
  Mounts mounts = mounts_with_disks(kRanks);
  SaveOptions options;
  options.nan_rank = 1;
  for (const SaveResult& result : save_on_disks(mounts, 10, options)) {
    EXPECT_THAT(result.problem, HasSubstr("rank 1: m has a NaN"));
  }
  EXPECT_THAT(disk(mounts, 0).list("checkpoints"), IsEmpty());
}

TEST(LocalTier, RotationGoesByOneRuleOnEveryDisk) {
  Mounts mounts = mounts_with_disks(kRanks);
  for (const std::int64_t step : {5, 10, 15}) save_on_disks(mounts, step);
  mounts.replace("local2");
  SaveOptions options;
  options.keep = 1;
  options.keep_also = {10};
  save_on_disks(mounts, 20, options);
  EXPECT_THAT(disk(mounts, 0).list("checkpoints"), ElementsAre("step_000010", "step_000020"));
  EXPECT_THAT(disk(mounts, 1).list("checkpoints"), ElementsAre("step_000010", "step_000020"));
  EXPECT_THAT(disk(mounts, 2).list("checkpoints"), ElementsAre("step_000020"));
}

// The job came to the step again, on another way.
TEST(LocalTier, WhatIsSavedAgainTakesThePlace) {
  Mounts mounts = mounts_with_disks(kRanks);
  save_on_disks(mounts, 10);
  SaveOptions options;
  options.salt = 7;
  save_on_disks(mounts, 10, options);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_THAT(disk(mounts, rank).list("checkpoints"), ElementsAre("step_000010"));
  }
  expect_loaded(run_load_of_tiers(kRanks, mounts), 10, 7);
}

TEST(LocalTier, OtherNumbersOfRanksTakeItOverFromTheDisks) {
  for (const int ranks : {1, 2}) {
    Mounts mounts = mounts_with_disks(kRanks);
    save_on_disks(mounts, 10);
    const auto outcomes = run_load_of_tiers(ranks, mounts, true);
    if (ranks == 1) {
      // The disk of rank 0 alone lacks shard 1.
      EXPECT_FALSE(outcomes[0].checkpoint.has_value());
    } else {
      expect_loaded(outcomes, 10);
    }
  }
}

}  // namespace
}  // namespace rehearse
