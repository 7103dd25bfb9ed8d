#include <gtest/gtest.h>

#include <set>

#include "tests/core/checkpoint/tiny_job.h"

namespace rehearse {
namespace {

// As the ranks of a job load it, each of them reading a part: one wrong byte anywhere, and no rank keeps anything.
TEST(LoadCheckpoint, EveryFlippedByteOfEveryFileIsRefusedByAllRanks) {
  Mounts mounts = empty_mounts();
  for (const SaveResult& result : run_save(2, mounts, 10)) ASSERT_EQ(result.problem, "");
  FileSystem& files = mounts.at("shared").files;
  std::set<std::string> kinds;
  std::size_t flips = 0;
  for (const auto& [path, data] : files.files()) {
    kinds.insert(path.substr(path.find("step_000010/") + 12));
    for (std::int64_t offset = 0; offset < data.size().count(); ++offset, ++flips) {
      const int bit = static_cast<int>((offset * 5 + 3) % 8);
      ASSERT_TRUE(files.rot(path, Bytes(offset), bit));
      for (const LoadOutcome& outcome : run_load_newest(2, mounts)) {
        ASSERT_FALSE(outcome.checkpoint.has_value()) << path << ", byte " << offset << ", bit " << bit;
        ASSERT_EQ(outcome.rejected.size(), 1U);
      }
      ASSERT_TRUE(files.rot(path, Bytes(offset), bit));
    }
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"inputs/00_text.txt", "manifest.json", "model.safetensors", "run_state.json",
                                          "scenario.textproto", "shard_00000.safetensors", "shard_00001.safetensors"}));
  EXPECT_GT(flips, 4000U);
  // All flips were undone.
  for (const LoadOutcome& outcome : run_load_newest(2, mounts)) EXPECT_TRUE(outcome.checkpoint.has_value());
  std::printf("%zu flips in %zu files, all refused\n", flips, kinds.size());
}

}  // namespace
}  // namespace rehearse
