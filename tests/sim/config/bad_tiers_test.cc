// What a scenario may say of checkpoints in two tiers, and that what it does not say stands nowhere.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string with_tiers(const std::string& tiers) { return good_with("keep: 3", "keep: 3 tiers { " + tiers + " }"); }

TEST(Tiers, AreReadAndWrittenBack) {
  const Scenario scenario =
      load_text(with_tiers("upload_every: 3 replica_distance: 2 local_disk { latency: \"7us\" capacity: \"1GB\" }"));
  ASSERT_TRUE(scenario.train.checkpoint.tiers.has_value());
  EXPECT_EQ(scenario.train.checkpoint.tiers->upload_every, 3);
  EXPECT_EQ(scenario.train.checkpoint.tiers->replica_distance, 2);
  EXPECT_EQ(scenario.local_disk.latency, Duration::microseconds(7));
  EXPECT_EQ(scenario.local_disk.bandwidth, scenario.storage.bandwidth);
  EXPECT_EQ(scenario.local_disk.capacity, Bytes(1'000'000'000));
  EXPECT_EQ(scenario.storage.capacity, std::nullopt);
  EXPECT_EQ(load_text(scenario.text).text, scenario.text);
}

TEST(Tiers, DecideNoBits) {
  EXPECT_EQ(load_text(with_tiers("upload_every: 3")).arithmetic_sha256, load_text(kGoodScenario).arithmetic_sha256);
}

// Checkpoints hold the scenario's text: a longer one would change every event digest.
TEST(Tiers, WhatIsNotWrittenStaysUnwritten) {
  const Scenario scenario = load_text(kGoodScenario);
  EXPECT_FALSE(scenario.train.checkpoint.tiers.has_value());
  for (const char* field : {"tiers", "local_disk", "shards_from"}) EXPECT_THAT(scenario.text, Not(HasSubstr(field)));
}

TEST(Tiers, NeedToBeToldWhatIsUploaded) {
  EXPECT_THAT(error_of(with_tiers("replica_distance: 2")), HasSubstr("checkpoint.tiers.upload_every: missing"));
  EXPECT_THAT(error_of(with_tiers("upload_every: 0")), HasSubstr("checkpoint.tiers.upload_every: found '0'"));
}

TEST(Tiers, NeedCheckpoints) {
  const std::string text = good_with("every_steps: 10 keep: 3", "tiers { upload_every: 1 }");
  EXPECT_THAT(error_of(text), HasSubstr("checkpoint.tiers: found without checkpoints; allowed: only with "
                                        "checkpoint.every_steps or every"));
}

TEST(Tiers, TheSecondCopyIsOnAnotherHost) {
  EXPECT_THAT(error_of(with_tiers("upload_every: 1 replica_distance: 4")),
              HasSubstr("checkpoint.tiers.replica_distance: found 4; allowed: less than the hosts, which are 4"));
  EXPECT_EQ(error_of(with_tiers("upload_every: 1 replica_distance: 3")), "no error");
  EXPECT_EQ(error_of(with_tiers("upload_every: 1"), {"cluster.ranks=1"}), "no error");
  EXPECT_EQ(error_of(with_tiers("upload_every: 1"), {"cluster.ranks_per_host=4"}), "no error");
  EXPECT_THAT(error_of(with_tiers("upload_every: 1 replica_distance: 2"), {"cluster.ranks_per_host=2"}),
              HasSubstr("checkpoint.tiers.replica_distance: found 2; allowed: less than the hosts, which are 2"));
  EXPECT_EQ(error_of(with_tiers("upload_every: 1"), {"cluster.ranks_per_host=3"}), "no error");
}

TEST(Tiers, FaultsOfLocalDisksNeedThem) {
  const std::string rot = "rot { path: \"m\" offset: 0 bit: 0 at { step: 3 phase: DATA } local_disk: ";
  EXPECT_THAT(error_of(kGoodScenario + "faults { " + rot + "1 } }"),
              HasSubstr("faults.rot[0].local_disk: found 1, but nothing is saved on local disks; allowed: only with "
                        "checkpoint.tiers"));
  const std::string tiers = with_tiers("upload_every: 1");
  EXPECT_EQ(error_of(tiers + "faults { " + rot + "1 } }"), "no error");
  EXPECT_THAT(error_of(tiers + "faults { " + rot + "4 } }"),
              HasSubstr("faults.rot[0].local_disk: found 4; allowed: 0 to cluster.ranks - 1 = 3"));
  for (const char* fault :
       {"disk_full { local_disk: 4 }", "io_error { local_disk: 4 }", "slow_disk { factor: 2 local_disk: 4 }",
        "torn_write { keep: \"1B\" local_disk: 4 }", "lost_fsync { local_disk: 4 }",
        "missing_file { path: \"m\" time: \"1ms\" local_disk: 4 }", "power_loss { after { local_disk: 4 } }"}) {
    EXPECT_THAT(error_of(tiers + "faults { " + fault + " }"), HasSubstr("local_disk: found 4; allowed: 0 to")) << fault;
  }
}

TEST(Tiers, WhereShardsComeFromIsExpectedOfTiersAlone) {
  for (const char* field : {"shards_from_other_disks", "shards_from_remote", "refused_copies"}) {
    const std::string expect = "final_step: 20 " + std::string(field) + ": 0";
    EXPECT_THAT(error_of(good_with("final_step: 20", expect)),
                HasSubstr(std::string("expect.") + field +
                          ": found 0 without local disks; allowed: only with "
                          "checkpoint.tiers"));
  }
}

}  // namespace
}  // namespace rehearse
