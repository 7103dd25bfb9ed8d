#include "tools/rehearse/real_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/error.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using testing_command::read_file;
using testing_command::TemporaryDirectory;
using testing_command::write_file;

// The message of the RealIoError that `work` throws.
template <class Work>
std::string message_of(const Work& work) {
  try {
    work();
  } catch (const RealIoError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kRealIo);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(RealFiles, AtomicWriteReplacesAndLeavesNoTemporaryFile) {
  TemporaryDirectory folder;
  write_file(folder / ".a.json.tmp", "left by a run that was killed");
  write_file_atomically(folder / "a.json", "one");
  write_file_atomically(folder / "a.json", "two");
  EXPECT_EQ(read_file(folder / "a.json"), "two");
  EXPECT_FALSE(std::filesystem::exists(folder / ".a.json.tmp"));
}

TEST(RealFiles, FailuresNamePathAndReason) {
  TemporaryDirectory folder;
  write_file(folder / "file", "x");
  EXPECT_THAT(message_of([&] { write_file_atomically(folder / "none/a", "x"); }),
              HasSubstr("none/.a.tmp: No such file or directory"));
  EXPECT_THAT(message_of([&] { write_new_file(folder / "file", {}); }), HasSubstr("file: File exists"));
  EXPECT_THAT(message_of([&] { make_new_directory(folder / "file"); }), HasSubstr("file"));
  EXPECT_THAT(message_of([&] { sync_directory(folder / "none"); }), HasSubstr("none: No such file or directory"));
  EXPECT_THAT(message_of([&] { rename_path(folder / "none", folder / "b"); }), HasSubstr("No such file"));
  EXPECT_THAT(message_of([&] { AppendWriter writer(folder / "file"); }), HasSubstr("File exists"));
}

TEST(RealFiles, RemovingATreeNeverFollowsLinks) {
  TemporaryDirectory folder;
  make_directories(folder / "keep");
  write_file(folder / "keep/file", "x");
  make_directories(folder / "tree/below");
  std::filesystem::create_directory_symlink(folder / "keep", folder / "tree/below/link");
  remove_tree(folder / "tree");
  EXPECT_FALSE(std::filesystem::exists(folder / "tree"));
  EXPECT_EQ(read_file(folder / "keep/file"), "x");
  remove_tree(folder / "tree");
}

TEST(RealFiles, LinesAreReadableAsTheyAreAdded) {
  TemporaryDirectory folder;
  AppendWriter writer(folder / "lines");
  writer.append("one");
  EXPECT_EQ(read_file(folder / "lines"), "one\n");
  writer.append("two");
  EXPECT_EQ(read_file(folder / "lines"), "one\ntwo\n");
}

}  // namespace
}  // namespace rehearse
