// Checkpoints whose shards are spread over the hosts' disks: who has what, and who gives it. Pure.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checkpoint/local_tier.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/spread_load.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LocalCopy copy_of(std::int64_t step, const std::string& manifest, std::int64_t generation, std::int64_t saved,
                  std::vector<std::int64_t> shards) {
  LocalCopy copy;
  copy.step = step;
  copy.manifest_sha256 = manifest;
  copy.generation = generation;
  copy.saved = TimePoint::at(Duration::picoseconds(saved));
  copy.world_size = 3;
  copy.shards = std::move(shards);
  return copy;
}

TEST(Spread, CopiesAsTextAndBack) {
  const std::vector<LocalCopy> copies = {copy_of(10, "aa", 0, 5, {0, 2}), copy_of(20, "bb", 3, 1'000'000'000'007, {})};
  const std::vector<LocalCopy> back = parse_copies(write_copies(copies));
  ASSERT_EQ(back.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back[i].step, copies[i].step);
    EXPECT_EQ(back[i].manifest_sha256, copies[i].manifest_sha256);
    EXPECT_EQ(back[i].generation, copies[i].generation);
    EXPECT_EQ(back[i].saved, copies[i].saved);
    EXPECT_EQ(back[i].world_size, 3);
    EXPECT_EQ(back[i].shards, copies[i].shards);
  }
  EXPECT_THAT(parse_copies(""), IsEmpty());
  EXPECT_THAT(parse_numbers(write_numbers({-1, 0, 7})), ElementsAre(-1, 0, 7));
  EXPECT_THAT(parse_numbers(""), IsEmpty());
}

TEST(Spread, SecondCopiesAreOnAnotherHost) {
  for (int ranks = 1; ranks <= 13; ++ranks) {
    for (int per_host = 1; per_host <= 5; ++per_host) {
      const int hosts = (ranks + per_host - 1) / per_host;
      for (int distance = 0; distance <= 6; ++distance) {
        LocalTier tier;
        tier.replica_distance = distance;
        tier.ranks_per_host = per_host;
        const int shift = replica_shift(tier, ranks);
        SCOPED_TRACE(testing::Message() << ranks << " ranks, " << per_host << " a host, distance " << distance);
        EXPECT_EQ(shift == 0, distance == 0 || hosts == 1);
        if (shift == 0) continue;
        int on_the_same = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          on_the_same += rank / per_host == (rank + shift) % ranks / per_host ? 1 : 0;
        }
        // Of two hosts the smaller one has not room for all.
        if (hosts > 2 || ranks % per_host == 0) {
          EXPECT_EQ(on_the_same, 0);
        } else {
          EXPECT_LT(on_the_same, ranks);
        }
      }
    }
  }
  LocalTier next;
  EXPECT_EQ(replica_shift(next, 4), 1);
  next.replica_distance = 3;
  EXPECT_EQ(replica_shift(next, 4), 3);
  next.ranks_per_host = 2;
  EXPECT_EQ(replica_shift(next, 8), 6);
}

TEST(Spread, ShardFilesHaveOneSpelling) {
  EXPECT_EQ(rank_of_shard_file("shard_00012.safetensors"), 12);
  EXPECT_EQ(rank_of_shard_file("shard_123456.safetensors"), 123456);
  for (const char* name : {"shard_12.safetensors", "shard_00012", "shard_-0012.safetensors", "shard_.safetensors",
                           "model.safetensors", "shard_00012.safetensors.new"}) {
    EXPECT_FALSE(rank_of_shard_file(name).has_value()) << name;
  }
}

TEST(Spread, DisksTogetherHaveWhatNoneHasAlone) {
  const std::vector<SpreadCheckpoint> spread =
      spread_over_disks({{copy_of(10, "aa", 0, 5, {0, 2})}, {copy_of(10, "aa", 0, 5, {0, 1})}, {}});
  ASSERT_EQ(spread.size(), 1U);
  EXPECT_TRUE(spread[0].is_complete());
  EXPECT_EQ(spread[0].manifest_at, 0);
  EXPECT_THAT(spread[0].holders, ElementsAre(ElementsAre(0, 1), ElementsAre(1), ElementsAre(0)));
}

TEST(Spread, ShardsOfTwoManifestsNeverMix) {
  const std::vector<SpreadCheckpoint> spread =
      spread_over_disks({{copy_of(10, "aa", 0, 5, {0, 2})}, {copy_of(10, "bb", 0, 5, {0, 1})}});
  ASSERT_EQ(spread.size(), 2U);
  EXPECT_FALSE(spread[0].is_complete());
  EXPECT_FALSE(spread[1].is_complete());
}

// After the job went back and came to the step again, on another way.
TEST(Spread, WhatWasSavedLastAtAStepComesLast) {
  const std::vector<SpreadCheckpoint> by_time =
      spread_over_disks({{copy_of(20, "aa", 1, 7, {}), copy_of(10, "zz", 0, 1, {})}, {copy_of(20, "bb", 1, 9, {})}});
  ASSERT_EQ(by_time.size(), 3U);
  EXPECT_EQ(by_time[0].manifest_sha256, "zz");
  EXPECT_EQ(by_time[1].manifest_sha256, "aa");
  EXPECT_EQ(by_time[2].manifest_sha256, "bb");
  const std::vector<SpreadCheckpoint> by_generation =
      spread_over_disks({{copy_of(20, "bb", 1, 9, {})}, {copy_of(20, "aa", 2, 7, {})}});
  EXPECT_EQ(by_generation[1].manifest_sha256, "aa");
}

SpreadCheckpoint spread_with(std::vector<std::vector<int>> holders) {
  SpreadCheckpoint spread;
  spread.holders = std::move(holders);
  return spread;
}

TEST(ShardSources, AnOwnCopyComesFirstThenTheOther) {
  ShardSources sources(spread_with({{0, 1}, {1, 2}, {0, 2}}), {{0}, {1}, {2}}, false);
  EXPECT_THAT(sources.to_read(), ElementsAre(0, 0, 1, 1, 2, 2));
  sources.refuse({1});
  EXPECT_THAT(sources.to_read(), ElementsAre(1, 2));
  sources.refuse({});
  EXPECT_THAT(sources.to_read(), IsEmpty());
  EXPECT_FALSE(sources.missing().has_value());
  // Shard, source, receivers.
  EXPECT_THAT(sources.plan(), ElementsAre(0, 0, 0, 1, 2, 1, 1, 2, 2, 0));
}

TEST(ShardSources, WithoutACopyTheSharedStorageIsLeftOrNothing) {
  for (const bool remote : {false, true}) {
    ShardSources sources(spread_with({{1}, {1}}), {{0}, {1}}, remote);
    EXPECT_THAT(sources.to_read(), ElementsAre(0, 1, 1, 1));
    sources.refuse({0});
    EXPECT_THAT(sources.to_read(), IsEmpty());
    EXPECT_EQ(sources.missing().has_value(), !remote);
    if (remote) {
      EXPECT_THAT(sources.plan(), ElementsAre(0, ShardSources::kRemote, 1, 0, 1, 1, 0));
    } else {
      EXPECT_EQ(*sources.missing(), 0);
    }
  }
}

// Two ranks take over what three have saved.
TEST(ShardSources, WhoNeedsAShardReadsItWhereItCan) {
  const ShardSources sources(spread_with({{1, 2}, {1}, {0}}), {{0, 1}, {1, 2}, {}}, false);
  EXPECT_THAT(sources.to_read(), ElementsAre(0, 1, 1, 1, 2, 0));
}

TEST(ShardSources, AShardThatNobodyNeedsIsNotMissed) {
  const ShardSources sources(spread_with({{0}, {}}), {{0}, {}}, false);
  EXPECT_FALSE(sources.missing().has_value());
  EXPECT_THAT(sources.to_read(), ElementsAre(0, 0));
}

}  // namespace
}  // namespace rehearse
