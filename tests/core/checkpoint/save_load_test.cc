#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/names.h"
#include "tests/core/checkpoint/tiny_job.h"

namespace rehearse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void flip_last_bit(Mounts& mounts, const std::string& path) {
  FileSystem& files = mounts.at("shared").files;
  std::string contents(files.read(path).text());
  contents.back() = static_cast<char>(contents.back() ^ 1);
  files.write(path, FileData::copy_of(contents));
}

void expect_saved(const std::vector<SaveResult>& results) {
  for (const SaveResult& result : results) EXPECT_EQ(result.problem, "");
}

class SaveLoad : public testing::TestWithParam<int> {};

TEST_P(SaveLoad, RoundTrips) {
  const int ranks = GetParam();
  Mounts mounts = empty_mounts();
  expect_saved(run_save(ranks, mounts, 10));
  EXPECT_THAT(directories(mounts), ElementsAre("step_000010"));
  // A loss of power right after changes nothing.
  mounts.lose_power();
  const VerifiedCheckpoint checkpoint = verified(mounts.at("shared").files.files(), 10);
  EXPECT_EQ(checkpoint.manifest.world_size, ranks);
  EXPECT_TRUE(has_values(checkpoint.state, {FlatRange(0, 57)}, 10));
  const std::vector<LoadOutcome> outcomes = run_load_newest(ranks, mounts);
  for (int rank = 0; rank < ranks; ++rank) {
    const LoadOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(outcome.checkpoint.has_value());
    EXPECT_TRUE(outcome.rejected.empty());
    EXPECT_EQ(outcome.checkpoint->manifest, checkpoint.manifest);
    EXPECT_TRUE(has_values(outcome.checkpoint->state, tiny_wanted(rank, ranks), 10)) << rank;
  }
}

// 7 ranks: the last have nothing but padding.
INSTANTIATE_TEST_SUITE_P(Ranks, SaveLoad, testing::Values(1, 2, 3, 7));

TEST(Save, ShardsModelAndManifestDoNotDependOnTime) {
  Mounts fast = empty_mounts();
  Mounts slow = empty_mounts(StorageConfig{Duration::milliseconds(7), Bandwidth::bits_per_second(1'000)});
  expect_saved(run_save(3, fast, 10));
  expect_saved(run_save(3, slow, 10));
  const auto fast_files = files_of(fast.at("shared").files.files(), "step_000010");
  const auto slow_files = files_of(slow.at("shared").files.files(), "step_000010");
  ASSERT_EQ(fast_files.size(), 8U);
  for (const auto& [name, data] : fast_files) {
    const bool is_time = name == kRunStateFile;
    EXPECT_EQ(data.text() == slow_files.at(name).text(), !is_time) << name;
  }
}

TEST(Save, StateWithANanIsNeverPublishedAndAllRanksLearnWhy) {
  Mounts mounts = empty_mounts();
  SaveOptions options;
  options.nan_rank = 1;
  for (const SaveResult& result : run_save(3, mounts, 10, options)) {
    EXPECT_EQ(result.problem,
              "rank 1: m has a NaN or an infinity at unit 0, element 18; "
              "such a checkpoint is never published");
  }
  EXPECT_TRUE(directories(mounts).empty());
}

TEST(Save, FullDiskFailsTheSaveAloneAndALaterOneSucceeds) {
  Mounts mounts = empty_mounts();
  expect_saved(run_save(2, mounts, 10));
  FileSystem& files = mounts.at("shared").files;
  const std::map<std::string, FileData> before = files.files();
  const std::int64_t one = files.used().count();
  for (const std::int64_t room : {std::int64_t{0}, std::int64_t{600}, one / 2, one - 1}) {
    files.set_capacity(Bytes(one + room));
    for (const SaveResult& result : run_save(2, mounts, 20)) EXPECT_THAT(result.problem, HasSubstr("no space left"));
    EXPECT_THAT(directories(mounts), ElementsAre("step_000010"));
    EXPECT_EQ(files.used().count(), one);
  }
  files.set_capacity(Bytes(3 * one));
  expect_saved(run_save(2, mounts, 30));
  EXPECT_THAT(directories(mounts), ElementsAre("step_000010", "step_000030"));
}

TEST(Save, CostOnlyModeWritesFilesOfTheirSizes) {
  Mounts mounts = empty_mounts();
  expect_saved(run_save(2, mounts, 10, {}, Storing::kShapeOnly));
  const auto files = files_of(mounts.at("shared").files.files(), "step_000010");
  EXPECT_FALSE(files.at("shard_00000.safetensors").has_bytes());
  Mounts real = empty_mounts();
  expect_saved(run_save(2, real, 10));
  const auto real_files = files_of(real.at("shared").files.files(), "step_000010");
  ASSERT_EQ(files.size(), real_files.size());
  for (const auto& [name, data] : files) {
    // What the tiny job's draft has as its model is of its own making.
    if (name != "model.safetensors") {
      EXPECT_EQ(data.size(), real_files.at(name).size()) << name;
    }
  }
}

TEST(Rotation, KeepsTheNewestByNumber) {
  EXPECT_THAT(rotated_out({1, 2, 3}, 0, {}), ElementsAre());
  EXPECT_THAT(rotated_out({1, 2, 3}, 3, {}), ElementsAre());
  EXPECT_THAT(rotated_out({1, 2, 3, 4}, 1, {2}), ElementsAre(1, 3));
  Mounts mounts = empty_mounts();
  SaveOptions options;
  options.keep = 2;
  for (const std::int64_t step : {999'998, 999'999, 1'000'000}) {
    const std::vector<SaveResult> results = run_save(2, mounts, step, options);
    expect_saved(results);
    EXPECT_EQ(results[0].rotation_problem, "");
  }
  // By name, step_1000000 would come first.
  EXPECT_THAT(directories(mounts), ElementsAre("step_1000000", "step_999999"));
  options.keep = 1;
  options.keep_also = {999'999};
  EXPECT_THAT(run_save(2, mounts, 1'000'001, options)[0].deleted, ElementsAre(1'000'000));
  EXPECT_THAT(directories(mounts), ElementsAre("step_1000001", "step_999999"));
}

TEST(SaveAgain, SameStateKeepsTheCheckpointThatIsThere) {
  Mounts mounts = empty_mounts();
  expect_saved(run_save(2, mounts, 10));
  const std::string before(mounts.at("shared").files.read("checkpoints/step_000010/run_state.json").text());
  expect_saved(run_save(2, mounts, 10));
  EXPECT_EQ(mounts.at("shared").files.read("checkpoints/step_000010/run_state.json").text(), before);
  EXPECT_THAT(directories(mounts), ElementsAre("step_000010"));
}

TEST(SaveAgain, DamagedAndOtherCheckpointsAreReplaced) {
  Mounts mounts = empty_mounts();
  expect_saved(run_save(2, mounts, 10));
  flip_last_bit(mounts, "checkpoints/step_000010/shard_00001.safetensors");
  expect_saved(run_save(2, mounts, 10));
  mounts.lose_power();
  EXPECT_TRUE(has_values(verified(mounts.at("shared").files.files(), 10).state, {FlatRange(0, 57)}, 10));
  SaveOptions other;
  other.salt = 0.25F;
  expect_saved(run_save(2, mounts, 10, other));
  EXPECT_THAT(directories(mounts), ElementsAre("step_000010"));
  mounts.lose_power();
  EXPECT_TRUE(has_values(verified(mounts.at("shared").files.files(), 10).state, {FlatRange(0, 57)}, 10, 0.25F));
}

TEST(Prepare, ClearsWhatWasCutShortAndBringsAReplacedCheckpointBack) {
  Mounts mounts = empty_mounts();
  expect_saved(run_save(2, mounts, 10));
  expect_saved(run_save(2, mounts, 20));
  FileSystem& files = mounts.at("shared").files;
  files.rename("checkpoints/step_000010", "checkpoints/" + replaced_directory_name(10));
  files.make_directory("checkpoints/" + replaced_directory_name(20) + "/inputs");
  files.make_directory("checkpoints/" + deleting_directory_name(5));
  files.make_directory("checkpoints/" + building_directory_name(30, 2) + "/inputs");
  files.write("checkpoints/" + building_directory_name(30, 2) + "/inputs/x", FileData::copy_of("half"));
  files.make_directory("checkpoints/notes");
  std::vector<std::int64_t> steps;
  const auto program = [&](RankContext& context) -> Task<> {
    steps = co_await prepare_checkpoints(context.storage(), checkpoints());
  };
  run_ranks(1, mounts, program);
  EXPECT_THAT(steps, ElementsAre(10, 20));
  mounts.lose_power();
  // What is not ours stays.
  EXPECT_THAT(directories(mounts), ElementsAre("notes", "step_000010", "step_000020"));
  EXPECT_TRUE(has_values(verified(files.files(), 10).state, {FlatRange(0, 57)}, 10));
}

TEST(Load, FallsBackToTheNewestThatEveryRankCanLoad) {
  Mounts mounts = empty_mounts();
  for (const std::int64_t step : {10, 20, 30, 40}) expect_saved(run_save(3, mounts, step));
  flip_last_bit(mounts, "checkpoints/step_000040/shard_00002.safetensors");
  mounts.at("shared").files.remove("checkpoints/step_000030/shard_00001.safetensors");
  flip_last_bit(mounts, "checkpoints/step_000020/inputs/00_text.txt");
  const std::vector<LoadOutcome> outcomes = run_load_newest(3, mounts);
  for (int rank = 0; rank < 3; ++rank) {
    const LoadOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(outcome.checkpoint.has_value());
    EXPECT_EQ(outcome.checkpoint->manifest.step, 10);
    EXPECT_TRUE(has_values(outcome.checkpoint->state, tiny_wanted(rank, 3), 10));
    ASSERT_EQ(outcome.rejected.size(), 3U);
    EXPECT_EQ(outcome.rejected[0].step, 40);
    EXPECT_THAT(outcome.rejected[0].reason,
                HasSubstr("rank 2: shared:checkpoints/step_000040/shard_00002.safetensors: SHA-256 is"));
    EXPECT_THAT(outcome.rejected[1].reason, HasSubstr("shard_00001.safetensors, the shard of rank 1, is missing"));
    EXPECT_THAT(outcome.rejected[2].reason,
                HasSubstr("rank 0: shared:checkpoints/step_000020/inputs/00_text.txt: SHA-256"));
  }
}

TEST(Load, WithoutAnyCheckpointThereIsNothingToLoad) {
  Mounts mounts = empty_mounts();
  for (const LoadOutcome& outcome : run_load_newest(2, mounts)) EXPECT_FALSE(outcome.checkpoint.has_value());
}

TEST(Load, OtherWorldSizeIsRefusedUnlessReshardingIsAskedFor) {
  Mounts mounts = empty_mounts();
  expect_saved(run_save(4, mounts, 10));
  for (const LoadOutcome& outcome : run_load_newest(3, mounts)) {
    EXPECT_FALSE(outcome.checkpoint.has_value());
    EXPECT_THAT(outcome.rejected[0].reason, HasSubstr("world_size of the checkpoint is 4, of this job 3"));
  }
  for (const int ranks : {1, 3, 7}) {
    const std::vector<LoadOutcome> outcomes = run_load_newest(ranks, mounts, true);
    for (int rank = 0; rank < ranks; ++rank) {
      const LoadOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      ASSERT_TRUE(outcome.checkpoint.has_value());
      EXPECT_TRUE(has_values(outcome.checkpoint->state, tiny_wanted(rank, ranks), 10)) << rank << " of " << ranks;
    }
  }
}

TEST(Load, AgreedLoadFailsOnEveryRankWhereItFailsOnOne) {
  Mounts mounts = empty_mounts();
  expect_saved(run_save(2, mounts, 10));
  flip_last_bit(mounts, "checkpoints/step_000010/shard_00001.safetensors");
  int refusals = 0;
  const auto program = [&](RankContext& context) -> Task<> {
    StarCoordinator coordinator(context);
    const LoadRequest request(tiny_expectation(2), tiny_wanted(context.rank(), 2));
    const StoragePath directory = checkpoints().child("step_000010");
    try {
      co_await load_agreed(context, coordinator, directory, request);
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 1: shared:checkpoints/step_000010/shard_00001.safetensors: SHA-256"));
      ++refusals;
    }
  };
  run_ranks(2, mounts, program);
  EXPECT_EQ(refusals, 2);
}

}  // namespace
}  // namespace rehearse
