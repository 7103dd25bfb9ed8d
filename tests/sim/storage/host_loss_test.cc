// What a lost host leaves on a file system that others use, too.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/storage/file_system.h"

namespace rehearse {
namespace {

using Survivors = PowerLoss::Survivors;
using Contents = std::map<std::string, std::string>;

FileData data(std::string_view text) { return FileData::copy_of(text); }

Contents seen(const FileSystem& files) {
  Contents out;
  for (const auto& [path, contents] : files.files()) out.emplace(path, contents.text());
  return out;
}

// d/f is durable; ranks 0 and 1 then write a file each, without syncing anything.
FileSystem with_two_writers() {
  FileSystem files("shared");
  files.import_files({{"d/f", data("old")}});
  files.write("d/zero", data("of rank 0"), 0);
  files.write("d/one", data("of rank 1"), 1);
  return files;
}

TEST(HostLoss, TakesWhatTheHostDidNotSyncAndNothingOfOthers) {
  FileSystem files = with_two_writers();
  files.lose_host(1);
  EXPECT_EQ(seen(files), (Contents{{"d/f", "old"}, {"d/zero", "of rank 0"}}));
  EXPECT_EQ(files.unsynced_operations(), 2U);  // rank 0's are still at risk
  files.fsync("d/zero");
  files.fsync_directory("d");
  files.lose_power();
  EXPECT_EQ(seen(files), (Contents{{"d/f", "old"}, {"d/zero", "of rank 0"}}));
}

TEST(HostLoss, LeavesWhatWasSynced) {
  FileSystem files = with_two_writers();
  files.fsync("d/one");
  files.fsync_directory("d");
  files.lose_host(1);
  EXPECT_EQ(seen(files), (Contents{{"d/f", "old"}, {"d/one", "of rank 1"}, {"d/zero", "of rank 0"}}));
}

TEST(HostLoss, SyncedContentsWithoutASyncedNameAreGone) {
  FileSystem files = with_two_writers();
  files.fsync("d/one");
  files.lose_host(1);
  EXPECT_EQ(seen(files).count("d/one"), 0U);
}

TEST(HostLoss, ARenameComesBackWithItsOldName) {
  FileSystem files("shared");
  files.import_files({{"building/f", data("x")}});
  files.rename("building", "step", 0);
  files.lose_host(0);
  EXPECT_EQ(seen(files), (Contents{{"building/f", "x"}}));
}

TEST(HostLoss, WhatSurvivesIsNotDurableYet) {
  FileSystem files = with_two_writers();
  files.lose_host(1, {Survivors::kAll, 0, Bytes(2)});
  EXPECT_EQ(seen(files), (Contents{{"d/f", "old"}, {"d/one", "of"}, {"d/zero", "of rank 0"}}));
  files.lose_power();
  EXPECT_EQ(seen(files), (Contents{{"d/f", "old"}}));
}

TEST(HostLoss, CountsTheHostsOwnOperations) {
  FileSystem files = with_two_writers();
  FileSystem alone = files;
  alone.lose_host(1, {Survivors::kOnly, 0, {}});  // the name, without its contents
  EXPECT_EQ(seen(alone), (Contents{{"d/f", "old"}, {"d/one", ""}, {"d/zero", "of rank 0"}}));
  files.lose_host(1, {Survivors::kAllBut, 0, {}});
  EXPECT_EQ(seen(files), (Contents{{"d/f", "old"}, {"d/zero", "of rank 0"}}));
}

TEST(HostLoss, OfADirectoryTakesWhatOthersPutInIt) {
  FileSystem files("shared");
  files.make_directory("d", 0);
  files.write("d/f", data("x"), 1);
  files.lose_host(0);
  EXPECT_EQ(seen(files), Contents{});
}

TEST(PowerLossOfOneTornWrite, LeavesTheOthersWhole) {
  FileSystem files = with_two_writers();
  files.lose_power({Survivors::kAllTornOne, 1, Bytes(2)});
  EXPECT_EQ(seen(files), (Contents{{"d/f", "old"}, {"d/one", "of rank 1"}, {"d/zero", "of"}}));
}

TEST(UnsyncedOperations, GiveTheSizesOfWrites) {
  const FileSystem files = with_two_writers();
  ASSERT_EQ(files.unsynced_operations(), 4U);
  EXPECT_EQ(files.unsynced_write(0), std::nullopt);
  EXPECT_EQ(files.unsynced_write(1), Bytes(9));
}

TEST(FullDisk, TakesWhatIsImportedAndNothingMore) {
  FileSystem files("shared");
  files.set_capacity(Bytes(2));
  files.import_files({{"f", data("more than two bytes")}});
  EXPECT_THROW(files.write("g", data("x")), StorageError);
}

}  // namespace
}  // namespace rehearse
