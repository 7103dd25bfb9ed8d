#include "sim/storage/storage_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rehearse {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Effect = OperationFault::Effect;

FileData data(std::string_view text) { return FileData::copy_of(text); }

// A mount "shared" with d/f, and a plan of faults that a test writes and starts.
class StorageFaultsTest : public testing::Test {
 protected:
  StorageFaultsTest() {
    const StorageConfig config{Duration::microseconds(1), Bandwidth::bits_per_second(1'000'000'000)};
    mounts_.add("shared", config).import_files({{"d/f", data("old")}});
  }

  void start(bool has_clock = true) {
    StorageFaults::Hooks hooks;
    hooks.now = [this] { return TimePoint::at(now_); };
    hooks.on_fault = [this](const StorageFaultRecord& record) {
      told_.push_back((record.rank < 0 ? "" : "rank " + std::to_string(record.rank) + ": ") + record.what);
    };
    hooks.on_power_loss = [this] { ++power_losses_; };
    faults_ = std::make_unique<StorageFaults>(plan_, mounts_, has_clock, std::move(hooks));
    faults_->begin();
  }

  OperationFault& add(Effect effect, std::optional<FileOperation> operation = std::nullopt) {
    plan_.operations.emplace_back();
    plan_.operations.back().effect = effect;
    plan_.operations.back().on.operation = operation;
    return plan_.operations.back();
  }
  DiskFault& add(DiskFault::Kind kind, const std::string& path = "") {
    plan_.disk.emplace_back();
    plan_.disk.back().kind = kind;
    plan_.disk.back().path = path;
    return plan_.disk.back();
  }

  static FileCall call(int rank, FileOperation operation, const std::string& path) {
    return FileCall(rank, operation, StoragePath("shared", path));
  }
  // The message of the error, or "done".
  std::string change(int rank, FileOperation operation, const std::string& path, std::string_view text = "") {
    FileCall one = call(rank, operation, path);
    if (operation == FileOperation::kWrite) one.data = data(text);
    if (operation == FileOperation::kRename) one.to = std::string(text);
    try {
      faults_->change(one);
    } catch (const StorageError& error) {
      return error.what();
    }
    return "done";
  }
  std::string write(int rank, const std::string& path, std::string_view text) {
    return change(rank, FileOperation::kWrite, path, text);
  }
  std::string read(int rank, const std::string& path) {
    try {
      return std::string(faults_->read(call(rank, FileOperation::kRead, path)).text());
    } catch (const StorageError& error) {
      return error.what();
    }
  }
  std::vector<std::string> list(int rank, const std::string& path) {
    return faults_->list(call(rank, FileOperation::kList, path));
  }
  FileSystem& files() { return mounts_.at("shared").files; }
  std::string durable(const std::string& path) {
    const auto all = files().durable_files();
    const auto found = all.find(path);
    return found == all.end() ? "nothing" : std::string(found->second.text());
  }

  StorageFaultPlan plan_;
  Mounts mounts_;
  Duration now_;
  std::vector<std::string> told_;
  int power_losses_ = 0;
  std::unique_ptr<StorageFaults> faults_;
};

TEST(PathPattern, NamesAPathOrItsEnd) {
  EXPECT_TRUE(names_path("", "a/b"));
  EXPECT_TRUE(names_path("a/b", "a/b"));
  EXPECT_TRUE(names_path("b", "a/b"));
  EXPECT_TRUE(names_path("*", "b"));
  EXPECT_TRUE(names_path("*.json", "a/x.json"));
  EXPECT_TRUE(names_path("*step_10/*", "c/.building-g0-step_10/f"));
  EXPECT_TRUE(names_path("a/**", "a/b/c"));
  EXPECT_TRUE(names_path("a/**/c", "a/b/x/c"));
  EXPECT_FALSE(names_path("a", "a/b"));
  EXPECT_FALSE(names_path("a/*", "a/b/c"));
  EXPECT_FALSE(names_path("step_10/*", "c/.building-g0-step_10/f"));
  EXPECT_FALSE(names_path("b", "ab"));
  EXPECT_FALSE(names_path("*.json", "a.jsonx"));
}

TEST_F(StorageFaultsTest, AFailedWriteLeavesAnEmptyFileAndTheNextOneIsDone) {
  add(Effect::kIoError, FileOperation::kWrite).on.rank = 1;
  start();
  EXPECT_EQ(write(0, "d/g", "zero"), "done");
  EXPECT_EQ(write(1, "d/h", "one"), "write shared:d/h: input/output error");
  EXPECT_EQ(files().read("d/h").text(), "");
  EXPECT_EQ(write(1, "d/h", "one"), "done");
  EXPECT_EQ(files().read("d/h").text(), "one");
  EXPECT_THAT(told_, ElementsAre("rank 1: write shared:d/h fails: input/output error"));
}

TEST_F(StorageFaultsTest, EveryKindOfOperationCanFailAndThenHasDoneNothing) {
  for (const FileOperation operation :
       {FileOperation::kRead, FileOperation::kFsync, FileOperation::kFsyncDirectory, FileOperation::kRename,
        FileOperation::kRemove, FileOperation::kMakeDirectory}) {
    add(Effect::kIoError, operation);
  }
  start();
  EXPECT_EQ(read(0, "d/f"), "read shared:d/f: input/output error");
  EXPECT_EQ(write(0, "d/f", "new"), "done");
  EXPECT_EQ(change(0, FileOperation::kFsync, "d/f"), "fsync shared:d/f: input/output error");
  EXPECT_EQ(durable("d/f"), "old");
  EXPECT_EQ(change(0, FileOperation::kFsyncDirectory, "d"), "fsync_directory shared:d: input/output error");
  EXPECT_EQ(change(0, FileOperation::kRename, "d/f", "d/g"), "rename shared:d/f: input/output error");
  EXPECT_EQ(change(0, FileOperation::kRemove, "d/f"), "remove shared:d/f: input/output error");
  EXPECT_EQ(change(0, FileOperation::kMakeDirectory, "e"), "make_directory shared:e: input/output error");
  EXPECT_THAT(list(0, ""), ElementsAre("d"));
  EXPECT_THAT(list(0, "d"), ElementsAre("f"));
  EXPECT_EQ(told_.size(), 6U);
  EXPECT_THAT(faults_->not_struck(), IsEmpty());
}

TEST_F(StorageFaultsTest, StrikesFromTheNthOnAsOftenAsItSays) {
  OperationFault& fault = add(Effect::kNoSpace, FileOperation::kWrite);
  fault.on.path = "d/*";
  fault.nth = 2;
  fault.count = 2;
  start();
  write(0, "x", "not in d");
  std::vector<std::string> results;
  for (int i = 0; i < 4; ++i) results.push_back(write(i, "d/g", "text"));
  EXPECT_THAT(results,
              ElementsAre("done", "write shared:d/g: no space left", "write shared:d/g: no space left", "done"));
}

TEST_F(StorageFaultsTest, ARenameIsNamedByEitherName) {
  add(Effect::kIoError, FileOperation::kRename).on.path = "g";
  start();
  EXPECT_EQ(change(0, FileOperation::kRename, "d/f", "d/h"), "done");
  EXPECT_EQ(change(0, FileOperation::kRename, "d/h", "d/g"), "rename shared:d/h: input/output error");
}

TEST_F(StorageFaultsTest, WindowsByTimeAndByStepOpenAndClose) {
  OperationFault& timed = add(Effect::kIoError, FileOperation::kWrite);
  timed.count = 0;
  timed.window.from = TimePoint::at(Duration::microseconds(10));
  timed.window.until = TimePoint::at(Duration::microseconds(20));
  OperationFault& stepped = add(Effect::kNoSpace, FileOperation::kWrite);
  stepped.count = 0;
  stepped.window.from_step = 3;
  stepped.window.until_step = 5;
  start();
  const auto result = [&] { return write(0, "d/g", "text").substr(0, 25); };
  EXPECT_EQ(result(), "done");
  now_ = Duration::microseconds(10);
  EXPECT_EQ(result(), "write shared:d/g: input/o");
  now_ = Duration::microseconds(20);
  EXPECT_EQ(result(), "done");
  faults_->enter(1, 3, Phase::kData);
  EXPECT_EQ(result(), "write shared:d/g: no spac");
  // A step that is begun again does not bring the time before it back.
  faults_->enter(0, 1, Phase::kData);
  EXPECT_EQ(result(), "write shared:d/g: no spac");
  faults_->enter(0, 5, Phase::kData);
  EXPECT_EQ(result(), "done");
}

TEST_F(StorageFaultsTest, TimesDoNotCountInARunThatContinuesAnother) {
  add(Effect::kIoError, FileOperation::kWrite).window.from = TimePoint();
  start(false);
  EXPECT_EQ(write(0, "d/g", "text"), "done");
}

TEST_F(StorageFaultsTest, ATornWriteKeepsItsFirstBytesAndSaysNothing) {
  OperationFault& fault = add(Effect::kTorn, FileOperation::kWrite);
  fault.keep = Bytes(2);
  start();
  EXPECT_EQ(write(0, "d/f", "brand new"), "done");
  EXPECT_EQ(files().read("d/f").text(), "br");
  EXPECT_THAT(told_, ElementsAre("rank 0: write shared:d/f keeps 2 of its 9 bytes"));
}

TEST_F(StorageFaultsTest, ALostFsyncShowsInALossOfPower) {
  add(Effect::kLost);
  start();
  write(0, "d/f", "new");
  EXPECT_EQ(change(0, FileOperation::kFsync, "d/f"), "done");
  EXPECT_EQ(files().read("d/f").text(), "new");
  EXPECT_EQ(durable("d/f"), "old");
  EXPECT_EQ(change(0, FileOperation::kFsync, "d/f"), "done");
  EXPECT_EQ(durable("d/f"), "new");
}

TEST_F(StorageFaultsTest, ASlowDiskTakesItsFactorOfTheTime) {
  plan_.slow.emplace_back();
  plan_.slow[0].rank = 1;
  plan_.slow[0].numerator = 5;
  plan_.slow[0].denominator = 2;
  start();
  EXPECT_EQ(faults_->time_of(0, "shared", Duration::picoseconds(3)), Duration::picoseconds(3));
  EXPECT_EQ(faults_->time_of(1, "shared", Duration::picoseconds(3)), Duration::picoseconds(8));
  faults_->time_of(1, "shared", Duration::picoseconds(3));
  EXPECT_THAT(told_, ElementsAre("rank 1: the disk takes 2.5 times as long"));
}

TEST_F(StorageFaultsTest, RotInvertsTheBitOfWhatIsSeenAndOfWhatIsDurable) {
  DiskFault& fault = add(DiskFault::Kind::kRot, "d/*");
  fault.offset = 1;
  fault.bit = 0;
  fault.time = TimePoint::at(Duration::microseconds(1));
  start();
  write(0, "d/g", "x");  // too short
  faults_->strike_in_time(0);
  EXPECT_EQ(read(0, "d/f"), "omd");
  EXPECT_EQ(read(0, "d/g"), "x");
  EXPECT_EQ(durable("d/f"), "omd");
  EXPECT_THAT(told_, ElementsAre("bit 0 of byte 1 of shared:d/f is inverted at rest"));
  faults_->strike_in_time(0);  // once
  EXPECT_EQ(read(0, "d/f"), "omd");
}

TEST_F(StorageFaultsTest, AFileVanishesForGood) {
  DiskFault& fault = add(DiskFault::Kind::kMissing, "d/f");
  fault.rank = 1;
  fault.step = 2;
  fault.phase = Phase::kForward;
  start();
  faults_->enter(0, 2, Phase::kForward);
  faults_->enter(1, 2, Phase::kData);
  EXPECT_EQ(read(0, "d/f"), "old");
  faults_->enter(1, 2, Phase::kForward);
  EXPECT_EQ(read(0, "d/f"), "read shared:d/f: no such file or directory");
  files().lose_power();
  EXPECT_THAT(files().list("d"), IsEmpty());
}

TEST_F(StorageFaultsTest, PowerGoesAfterTheNthOperation) {
  DiskFault& fault = add(DiskFault::Kind::kPower);
  fault.after.emplace();
  fault.after->operation = FileOperation::kWrite;
  fault.nth = 2;
  start();
  write(0, "d/f", "one");
  EXPECT_EQ(power_losses_, 0);
  write(0, "d/g", "two");
  EXPECT_EQ(power_losses_, 1);
  EXPECT_EQ(read(0, "d/f"), "old");
  EXPECT_THAT(told_, ElementsAre("the power of all hosts and disks goes, with 3 operations not yet synced"));
}

TEST_F(StorageFaultsTest, WhatNeverStruckIsNamed) {
  add(DiskFault::Kind::kMissing, "nothing").time = TimePoint::at(Duration::milliseconds(3));
  add(Effect::kIoError, FileOperation::kFsync).on.path = "manifest.json";
  plan_.operations[0].nth = 3;
  plan_.operations[0].on.rank = 1;
  start();
  faults_->strike_in_time(0);
  EXPECT_THAT(faults_->not_struck(),
              ElementsAre("the I/O error in the 3rd fsync of manifest.json by rank 1", "the loss of nothing at 3 ms"));
}

TEST_F(StorageFaultsTest, ARankWithAStaleViewSeesOthersChangesLaterAndItsOwnAtOnce) {
  plan_.stale.emplace_back();
  plan_.stale[0].rank = 1;
  plan_.stale[0].path = "d";
  plan_.stale[0].delay = Duration::microseconds(10);
  start();
  write(0, "d/f", "new");
  write(0, "d/g", "0");
  write(1, "d/h", "1");
  EXPECT_THAT(list(0, "d"), ElementsAre("f", "g", "h"));
  EXPECT_THAT(list(1, "d"), ElementsAre("f", "h"));
  EXPECT_EQ(read(0, "d/f"), "new");
  EXPECT_EQ(read(1, "d/f"), "old");
  EXPECT_EQ(read(1, "d/g"), "read shared:d/g: no such file or directory");
  EXPECT_EQ(read(1, "d/h"), "1");
  now_ = Duration::microseconds(9);
  EXPECT_EQ(read(1, "d/f"), "old");
  now_ = Duration::microseconds(10);
  EXPECT_EQ(read(1, "d/f"), "new");
  EXPECT_THAT(list(1, "d"), ElementsAre("f", "g", "h"));
  EXPECT_THAT(told_, ElementsAre("rank 1: list shared:d gives what was there 10 us before"));
}

TEST_F(StorageFaultsTest, OtherDirectoriesAreNotStale) {
  plan_.stale.emplace_back();
  plan_.stale[0].path = "e";
  plan_.stale[0].delay = Duration::seconds(10);
  start();
  write(1, "d/f", "new");
  EXPECT_EQ(read(0, "d/f"), "new");
}

TEST_F(StorageFaultsTest, WhatHasStruckIsCarriedOverAsNumbers) {
  OperationFault& fault = add(Effect::kIoError, FileOperation::kWrite);
  fault.nth = 2;
  fault.window.from_step = 4;
  start();
  faults_->enter(0, 4, Phase::kData);
  write(0, "d/g", "one");
  const std::vector<std::int64_t> before = faults_->state();
  start();
  faults_->set_state(before);
  EXPECT_EQ(write(0, "d/g", "two"), "write shared:d/g: input/output error");
  const std::vector<std::int64_t> after = faults_->state();
  start();
  faults_->set_state(after);
  EXPECT_EQ(faults_->state(), after);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(write(0, "d/g", "more"), "done");
}

}  // namespace
}  // namespace rehearse
