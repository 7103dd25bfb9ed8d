#include "sim/storage/sim_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rehearse {
namespace {

using testing::ElementsAre;

constexpr Duration kLatency = Duration::microseconds(100);
constexpr Duration kMillisecond = Duration::milliseconds(1);  // what 1000 bytes take at 8 Mbit/s

// One process on a mount "shared" that holds d/f, 1000 bytes.
class SimStorageTest : public testing::Test {
 protected:
  SimStorageTest() {
    FileSystem& files = mounts_.add("shared", StorageConfig{kLatency, Bandwidth::bits_per_second(8'000'000)});
    files.import_files({{"d/f", FileData::copy_of(std::string(1000, 'x'))}});
  }
  ~SimStorageTest() override { kernel_.shutdown(); }

  FileSystem& files() { return mounts_.at("shared").files; }

  void start(std::function<Task<>(Storage&)> program) {
    program_ = std::move(program);
    process_.start([this] { return program_(storage_); }, [this](std::exception_ptr error) { error_ = error; });
  }
  // Runs the program to its end and gives the time that took.
  Duration run(std::function<Task<>(Storage&)> program) {
    start(std::move(program));
    EXPECT_EQ(kernel_.run(), RunEnd::kDone);
    if (error_ != nullptr) std::rethrow_exception(error_);
    return kernel_.now().since_start();
  }

  Mounts mounts_;
  Kernel kernel_;
  Process process_{kernel_, 0};
  SimStorage storage_{process_, mounts_};
  std::function<Task<>(Storage&)> program_;
  std::exception_ptr error_;
};

TEST_F(SimStorageTest, WriteTakesLatencyAndTheTimeOfItsBytes) {
  const Duration elapsed = run([](Storage& storage) -> Task<> {
    PayloadPool pool(nullptr);
    const StoragePath path("shared", "d/g");
    Payload data = pool.copy_of(std::string(2000, 'y'));
    co_await storage.write(path, std::move(data));
  });
  EXPECT_EQ(elapsed, kLatency + 2 * kMillisecond);
  EXPECT_EQ(files().read("d/g").text(), std::string(2000, 'y'));
}

TEST_F(SimStorageTest, ReadTakesLatencyAndTheTimeOfTheFile) {
  Payload data;
  const Duration elapsed = run([&data](Storage& storage) -> Task<> {
    const StoragePath path("shared", "d/f");
    data = co_await storage.read(path);
  });
  EXPECT_EQ(elapsed, kLatency + kMillisecond);
  EXPECT_EQ(data.text(), std::string(1000, 'x'));
}

TEST_F(SimStorageTest, EveryOtherOperationTakesLatency) {
  std::vector<std::string> names;
  const Duration elapsed = run([&names](Storage& storage) -> Task<> {
    const StoragePath root("shared", "");
    const StoragePath directory("shared", "d");
    const StoragePath made = directory.child("e");
    const StoragePath from = directory.child("f");
    const StoragePath to = directory.child("g");
    co_await storage.fsync(from);
    co_await storage.fsync_directory(directory);
    co_await storage.make_directory(made);
    co_await storage.rename(from, to);
    names = co_await storage.list(directory);
    co_await storage.remove(made);
  });
  EXPECT_EQ(elapsed, 6 * kLatency);
  EXPECT_THAT(names, ElementsAre("e", "g"));
  EXPECT_THAT(files().list("d"), ElementsAre("g"));
}

TEST_F(SimStorageTest, FailuresArriveWhenTheOperationEnds) {
  const Duration elapsed = run([](Storage& storage) -> Task<> {
    const StoragePath path("shared", "nothing");
    int failures = 0;
    try {
      co_await storage.read(path);
    } catch (const StorageError& error) {
      EXPECT_EQ(error.kind(), StorageError::Kind::kNotFound);
      EXPECT_STREQ(error.what(), "read shared:nothing: no such file or directory");
      ++failures;
    }
    try {
      co_await storage.list(path);
    } catch (const StorageError& error) {
      EXPECT_EQ(error.kind(), StorageError::Kind::kNotFound);
      ++failures;
    }
    EXPECT_EQ(failures, 2);
  });
  EXPECT_EQ(elapsed, 2 * kLatency);
}

TEST_F(SimStorageTest, WriteOfAProcessThatDiesBeforeItEndsNeverHappens) {
  start([](Storage& storage) -> Task<> {
    PayloadPool pool(nullptr);
    const StoragePath path("shared", "d/f");
    Payload data = pool.copy_of("half");
    co_await storage.write(path, std::move(data));
  });
  kernel_.run(1);  // the process starts, the write is under way
  process_.kill();
  EXPECT_EQ(kernel_.run(), RunEnd::kDone);
  EXPECT_EQ(files().read("d/f").text(), std::string(1000, 'x'));
}

TEST_F(SimStorageTest, ListOfAProcessThatDiesIsDropped) {
  start([](Storage& storage) -> Task<> {
    const StoragePath path("shared", "d");
    co_await storage.list(path);
    ADD_FAILURE() << "went on after its death";
  });
  kernel_.run(1);
  process_.kill();
  EXPECT_EQ(kernel_.run(), RunEnd::kDone);
}

TEST_F(SimStorageTest, FilesWithoutBytesTakeTheTimeOfTheirSize) {
  Payload data;
  const Duration elapsed = run([&data](Storage& storage) -> Task<> {
    const StoragePath path("shared", "d/g");
    Payload shape = Payload::shape_only(Bytes(1'000'000));
    co_await storage.write(path, std::move(shape));
    data = co_await storage.read(path);
  });
  EXPECT_EQ(elapsed, 2 * (kLatency + 1000 * kMillisecond));
  EXPECT_EQ(data.size(), Bytes(1'000'000));
  EXPECT_FALSE(data.has_data());
}

// What a program calls local is a mount of the cluster, with its own speed.
TEST_F(SimStorageTest, LocalIsTheDiskOfTheProcesssHost) {
  mounts_.add("local7", StorageConfig{2 * kLatency, Bandwidth::bits_per_second(16'000'000)});
  SimStorage storage(process_, mounts_, nullptr, "local7");
  Payload read;
  std::vector<std::string> names;
  const Duration elapsed = run([&](Storage&) -> Task<> {
    const StoragePath directory("local", "a");
    const StoragePath file = directory.child("g");
    const StoragePath renamed = directory.child("h");
    PayloadPool pool(nullptr);
    Payload data = pool.copy_of(std::string(1000, 'y'));
    co_await storage.make_directory(directory);
    co_await storage.write(file, std::move(data));
    co_await storage.rename(file, renamed);
    read = co_await storage.read(renamed);
    names = co_await storage.list(directory);
  });
  EXPECT_EQ(elapsed, 10 * kLatency + kMillisecond);
  EXPECT_EQ(read.text(), std::string(1000, 'y'));
  EXPECT_THAT(names, ElementsAre("h"));
  EXPECT_EQ(mounts_.at("local7").files.files().count("a/h"), 1U);
}

}  // namespace
}  // namespace rehearse
