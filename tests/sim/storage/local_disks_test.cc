#include "sim/storage/local_disks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rehearse {
namespace {

const StorageConfig kConfig{Duration::microseconds(1), Bandwidth::bits_per_second(8'000'000)};

class LocalDisksTest : public testing::Test {
 protected:
  LocalDisksTest() {
    mounts_.add("shared", kConfig);
    for (int rank = 0; rank < 4; ++rank) {
      files(rank).import_files({{"of", FileData::copy_of("host " + std::to_string(rank))}});
    }
  }
  FileSystem& files(int rank) { return mounts_.at(disks_.mount_of(rank)).files; }
  std::string owner(int rank) {
    const auto all = files(rank).files();
    return all.empty() ? "nobody" : std::string(all.at("of").text());
  }

  Mounts mounts_;
  LocalDisks disks_{mounts_, 4, kConfig};
};

TEST_F(LocalDisksTest, EachHostHasItsOwn) {
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(owner(rank), "host " + std::to_string(rank));
    EXPECT_TRUE(is_local_disk(disks_.mount_of(rank)));
  }
  EXPECT_FALSE(is_local_disk("shared"));
}

TEST_F(LocalDisksTest, ALostHostTakesItsDiskAlong) {
  disks_.lose(1);
  EXPECT_EQ(owner(1), "nobody");
  EXPECT_EQ(owner(2), "host 2");
  disks_.restart({}, {}, 4);
  EXPECT_EQ(owner(1), "nobody");
}

TEST_F(LocalDisksTest, AReplacedMachineWorksUntilTheJobStartsAgain) {
  disks_.replace_at_restart(2);
  EXPECT_EQ(owner(2), "host 2");
  disks_.restart({}, {}, 4);
  EXPECT_EQ(owner(2), "nobody");
  files(2).import_files({{"of", FileData::copy_of("new")}});
  disks_.restart({}, {}, 4);
  EXPECT_EQ(owner(2), "new");
}

// The old host may live: it was only taken for lost.
TEST_F(LocalDisksTest, ARankOnAnotherHostHasAnotherDisk) {
  const std::string before = disks_.mount_of(1);
  disks_.restart({1}, {}, 4);
  EXPECT_EQ(owner(1), "nobody");
  EXPECT_NE(disks_.mount_of(1), before);
  EXPECT_EQ(mounts_.at(before).files.files().at("of").text(), "host 1");
}

TEST_F(LocalDisksTest, HostsThatAreLeftKeepTheirDisksUnderNewNumbers) {
  disks_.lose(0);
  disks_.lose(2);
  disks_.restart({}, {0, 2}, 2);
  EXPECT_EQ(owner(0), "host 1");
  EXPECT_EQ(owner(1), "host 3");
}

TEST_F(LocalDisksTest, ADiskThatIsReplacedKeepsItsCapacity) {
  Mounts mounts;
  StorageConfig small = kConfig;
  small.capacity = Bytes(3);
  LocalDisks disks(mounts, 1, small);
  disks.lose(0);
  FileSystem& files = mounts.at(disks.mount_of(0)).files;
  files.write("f", FileData::copy_of("123"));
  EXPECT_THROW(files.write("g", FileData::copy_of("4")), StorageError);
}

}  // namespace
}  // namespace rehearse
