#include "sim/storage/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rehearse {
namespace {

using Kind = StorageError::Kind;
using Survivors = PowerLoss::Survivors;
using Contents = std::map<std::string, std::string>;
using testing::ElementsAre;

FileData data(std::string_view text) { return FileData::copy_of(text); }

Contents texts(const std::map<std::string, FileData>& files) {
  Contents out;
  for (const auto& [path, contents] : files) out.emplace(path, contents.text());
  return out;
}

Contents after_power_loss(FileSystem files, const PowerLoss& loss = {}) {
  files.lose_power(loss);
  EXPECT_EQ(files.unsynced_operations(), 0U);
  return texts(files.files());
}

template <class F>
Kind kind_of(F operation) {
  try {
    operation();
  } catch (const StorageError& error) {
    return error.kind();
  }
  ADD_FAILURE() << "the operation did not fail";
  return Kind::kIo;
}

FileSystem with_durable_file() {
  FileSystem files("shared");
  files.import_files({{"d/f", data("old")}});
  return files;
}

TEST(FileSystem, WrittenBytesAreSeenAtOnce) {
  FileSystem files("shared");
  files.write("f", data("one"));
  EXPECT_EQ(files.read("f").text(), "one");
  files.write("f", data("two"));
  EXPECT_EQ(files.read("f").text(), "two");
  EXPECT_THAT(files.list(""), ElementsAre("f"));
}

TEST(FileSystem, UnsyncedFileIsLost) {
  FileSystem files("shared");
  files.write("f", data("one"));
  EXPECT_EQ(after_power_loss(files), Contents{});
  EXPECT_EQ(texts(files.durable_files()), Contents{});
}

TEST(FileSystem, SyncedContentsWithoutASyncedNameAreLost) {
  FileSystem files("shared");
  files.write("f", data("one"));
  files.fsync("f");
  EXPECT_EQ(after_power_loss(files), Contents{});
}

TEST(FileSystem, SyncedNameWithoutSyncedContentsIsAnEmptyFile) {
  FileSystem files("shared");
  files.write("f", data("one"));
  files.fsync_directory("");
  EXPECT_EQ(after_power_loss(files), (Contents{{"f", ""}}));
}

TEST(FileSystem, SyncedNameAndContentsSurvive) {
  FileSystem files("shared");
  files.write("f", data("one"));
  files.fsync("f");
  files.fsync_directory("");
  EXPECT_EQ(files.unsynced_operations(), 0U);
  EXPECT_EQ(after_power_loss(files), (Contents{{"f", "one"}}));
}

TEST(FileSystem, OverwrittenFileRevertsToItsLastFsync) {
  FileSystem files = with_durable_file();
  files.write("d/f", data("new"));
  EXPECT_EQ(after_power_loss(files), (Contents{{"d/f", "old"}}));
  files.fsync("d/f");
  EXPECT_EQ(after_power_loss(files), (Contents{{"d/f", "new"}}));
}

TEST(FileSystem, NewDirectoryNeedsItsParentSynced) {
  FileSystem files("shared");
  files.make_directory("a/b");
  files.write("a/b/f", data("one"));
  files.fsync("a/b/f");
  files.fsync_directory("a/b");
  files.fsync_directory("a");
  EXPECT_EQ(after_power_loss(files), Contents{});
  files.fsync_directory("");
  EXPECT_EQ(after_power_loss(files), (Contents{{"a/b/f", "one"}}));
}

TEST(FileSystem, RenameIsDurableOnceTheDirectoryIsSynced) {
  FileSystem files = with_durable_file();
  files.rename("d/f", "d/g");
  EXPECT_THAT(files.list("d"), ElementsAre("g"));
  EXPECT_EQ(after_power_loss(files), (Contents{{"d/f", "old"}}));
  files.fsync_directory("d");
  EXPECT_EQ(after_power_loss(files), (Contents{{"d/g", "old"}}));
}

TEST(FileSystem, RenameInOneDirectoryIsOneOperation) {
  FileSystem files = with_durable_file();
  files.rename("d/f", "d/g");
  ASSERT_EQ(files.unsynced_operations(), 1U);
  EXPECT_EQ(after_power_loss(files, {Survivors::kOnly, 0, {}}), (Contents{{"d/g", "old"}}));
}

TEST(FileSystem, RenameBetweenDirectoriesNeedsBothSynced) {
  FileSystem files("shared");
  files.import_files({{"a/f", data("moved")}, {"b/x", data("x")}});
  files.rename("a/f", "b/f");
  FileSystem source_first = files;
  source_first.fsync_directory("a");  // the wrong order loses the file
  EXPECT_EQ(after_power_loss(source_first), (Contents{{"b/x", "x"}}));
  files.fsync_directory("b");
  EXPECT_EQ(after_power_loss(files), (Contents{{"a/f", "moved"}, {"b/f", "moved"}, {"b/x", "x"}}));
  files.fsync_directory("a");
  EXPECT_EQ(after_power_loss(files), (Contents{{"b/f", "moved"}, {"b/x", "x"}}));
}

TEST(FileSystem, RenameReplacesAFile) {
  FileSystem files = with_durable_file();
  files.write("d/t", data("new"));
  files.fsync("d/t");
  files.rename("d/t", "d/f");
  EXPECT_EQ(texts(files.files()), (Contents{{"d/f", "new"}}));
  EXPECT_EQ(after_power_loss(files), (Contents{{"d/f", "old"}}));
  files.fsync_directory("d");
  EXPECT_EQ(after_power_loss(files), (Contents{{"d/f", "new"}}));
}

TEST(FileSystem, RenamedDirectoryTakesItsFilesAlong) {
  FileSystem files = with_durable_file();
  files.rename("d", "e");
  EXPECT_EQ(texts(files.files()), (Contents{{"e/f", "old"}}));
  files.fsync_directory("");
  EXPECT_EQ(after_power_loss(files), (Contents{{"e/f", "old"}}));
}

TEST(FileSystem, RemovedFileComesBackUnlessTheDirectoryIsSynced) {
  FileSystem files = with_durable_file();
  files.remove("d/f");
  EXPECT_EQ(texts(files.files()), Contents{});
  EXPECT_EQ(after_power_loss(files), (Contents{{"d/f", "old"}}));
  files.fsync_directory("d");
  EXPECT_EQ(after_power_loss(files), Contents{});
}

TEST(FileSystem, AllOneAloneAndAllButOneOperationCanSurvive) {
  FileSystem files = with_durable_file();
  files.write("d/f", data("new"));    // operation 0
  files.write("d/g", data("other"));  // operations 1: the name, 2: the contents
  ASSERT_EQ(files.unsynced_operations(), 3U);
  EXPECT_EQ(after_power_loss(files, {Survivors::kAll, 0, {}}), (Contents{{"d/f", "new"}, {"d/g", "other"}}));
  EXPECT_EQ(after_power_loss(files, {Survivors::kOnly, 0, {}}), (Contents{{"d/f", "new"}}));
  EXPECT_EQ(after_power_loss(files, {Survivors::kOnly, 1, {}}), (Contents{{"d/f", "old"}, {"d/g", ""}}));
  EXPECT_EQ(after_power_loss(files, {Survivors::kOnly, 2, {}}), (Contents{{"d/f", "old"}}));
  EXPECT_EQ(after_power_loss(files, {Survivors::kAllBut, 2, {}}), (Contents{{"d/f", "new"}, {"d/g", ""}}));
}

TEST(FileSystem, SurvivingWritesCanBeTorn) {
  FileSystem files = with_durable_file();
  files.write("d/f", data("longer than before"));
  EXPECT_EQ(after_power_loss(files, {Survivors::kAll, 0, Bytes(6)}), (Contents{{"d/f", "longer"}}));
  EXPECT_EQ(after_power_loss(files, {Survivors::kAll, 0, Bytes(100)}), (Contents{{"d/f", "longer than before"}}));
}

TEST(FileSystem, FullDiskLeavesAnEmptyFile) {
  FileSystem files = with_durable_file();
  files.set_capacity(Bytes(5));
  EXPECT_EQ(kind_of([&] { files.write("d/g", data("123")); }), Kind::kNoSpace);
  EXPECT_EQ(texts(files.files()), (Contents{{"d/f", "old"}, {"d/g", ""}}));
  files.write("d/g", data("12"));
  EXPECT_EQ(files.used(), Bytes(5));
}

TEST(FileSystem, CopiesAreIndependentSnapshots) {
  FileSystem files = with_durable_file();
  FileSystem snapshot = files;
  files.write("d/f", data("new"));
  EXPECT_EQ(snapshot.read("d/f").text(), "old");
}

TEST(FileSystem, KeepsTheSizeOfFilesWithoutBytes) {
  FileSystem files("shared");
  files.write("f", FileData::of(Payload::shape_only(Bytes(1'000'000'000'000))));
  EXPECT_EQ(files.read("f").size(), Bytes(1'000'000'000'000));
  EXPECT_FALSE(files.read("f").has_bytes());
  PayloadPool pool(nullptr);
  EXPECT_EQ(files.read("f").payload().size(), Bytes(1'000'000'000'000));
}

TEST(FileSystem, EveryFailureHasItsKind) {
  FileSystem files = with_durable_file();
  files.make_directory("e");
  EXPECT_EQ(kind_of([&] { files.read("nothing"); }), Kind::kNotFound);
  EXPECT_EQ(kind_of([&] { files.read("d"); }), Kind::kIsADirectory);
  EXPECT_EQ(kind_of([&] { files.write("nothing/f", data("")); }), Kind::kNotFound);
  EXPECT_EQ(kind_of([&] { files.write("d/f/g", data("")); }), Kind::kNotADirectory);
  EXPECT_EQ(kind_of([&] { files.write("d", data("")); }), Kind::kIsADirectory);
  EXPECT_EQ(kind_of([&] { files.fsync("d"); }), Kind::kIsADirectory);
  EXPECT_EQ(kind_of([&] { files.fsync("nothing"); }), Kind::kNotFound);
  EXPECT_EQ(kind_of([&] { files.fsync_directory("d/f"); }), Kind::kNotADirectory);
  EXPECT_EQ(kind_of([&] { files.rename("nothing", "x"); }), Kind::kNotFound);
  EXPECT_EQ(kind_of([&] { files.rename("d", "e"); }), Kind::kExists);
  EXPECT_EQ(kind_of([&] { files.rename("d/f", "e"); }), Kind::kIsADirectory);
  EXPECT_EQ(kind_of([&] { files.rename("d", "d/f/x"); }), Kind::kNotADirectory);
  EXPECT_EQ(kind_of([&] { files.remove("nothing"); }), Kind::kNotFound);
  EXPECT_EQ(kind_of([&] { files.remove("d"); }), Kind::kNotEmpty);
  EXPECT_EQ(kind_of([&] { files.make_directory("d/f"); }), Kind::kNotADirectory);
  EXPECT_EQ(kind_of([&] { files.list("d/f"); }), Kind::kNotADirectory);
  files.make_directory("d");  // exists: fine
  files.remove("e");
  EXPECT_EQ(texts(files.files()), (Contents{{"d/f", "old"}}));
}

}  // namespace
}  // namespace rehearse
