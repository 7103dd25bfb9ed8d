// What a scenario may say of lost hosts, and that what it does not say stands nowhere.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPlain = good_with(" resume_from: 10", "");

TEST(Recovery, FewestRanksAreOfElasticJobsAlone) {
  EXPECT_THAT(error_of(kPlain + "recovery { min_ranks: 2 }"),
              HasSubstr("recovery.min_ranks: found 2 without fewer ranks ever being taken; allowed: only with mode "
                        "ELASTIC"));
  EXPECT_THAT(error_of(kPlain + "recovery { mode: ELASTIC min_ranks: 5 }"),
              HasSubstr("recovery.min_ranks: found 5; allowed: at most the ranks that the job has, 4"));
  EXPECT_EQ(error_of(kPlain + "recovery { mode: ELASTIC min_ranks: 4 spares: 2 }"), "no error");
}

TEST(Recovery, WhatIsOfOneNumberOfRanksIsNotExpectedOfAnElasticJob) {
  EXPECT_THAT(error_of(kGoodScenario + "recovery { mode: ELASTIC }"),
              HasSubstr("expect.resume_from: found with recovery.mode ELASTIC; allowed: only where the number of ranks "
                        "stays"));
}

TEST(Recovery, ModeAndSparesAreReadAndWrittenBack) {
  const Scenario scenario = load_text(kPlain + "recovery { mode: ELASTIC min_ranks: 3 spares: 2 }");
  EXPECT_EQ(scenario.recovery.mode, RecoveryMode::kElastic);
  EXPECT_EQ(scenario.recovery.min_ranks, 3);
  EXPECT_EQ(scenario.recovery.spares, 2);
  EXPECT_EQ(load_text(scenario.text).text, scenario.text);
}

TEST(Recovery, AHeartbeatComesAtLeastOncePerTimeout) {
  EXPECT_THAT(
      error_of(kPlain + "recovery { heartbeat_timeout: \"2s\" heartbeat_interval: \"3s\" }"),
      HasSubstr("recovery.heartbeat_interval: found \"3s\"; allowed: at most heartbeat_timeout, which is \"2s\""));
  const Scenario scenario = load_text(kPlain + "recovery { heartbeat_timeout: \"3s\" rendezvous_timeout: \"4s\" }");
  EXPECT_EQ(scenario.recovery.heartbeat_interval, Duration::seconds(1));
  EXPECT_EQ(scenario.recovery.rendezvous_timeout, Duration::seconds(4));
  EXPECT_EQ(load_text(kPlain + "recovery { heartbeat_interval: \"0ps\" }").recovery.heartbeat_interval, Duration());
}

TEST(Recovery, AHeartbeatCanComeInTime) {
  EXPECT_THAT(
      error_of(kPlain + "recovery { heartbeat_timeout: \"1us\" }"),
      HasSubstr("recovery.heartbeat_timeout: found \"1us\"; allowed: at least the latency, in which a heartbeat "
                "comes, 5 us"));
  EXPECT_EQ(error_of(kPlain + "recovery { heartbeat_timeout: \"5us\" }"), "no error");
}

TEST(Recovery, AnElasticJobHasNoMoreRanksThanItsBatchesArePlannedFor) {
  EXPECT_THAT(
      error_of(kPlain + "recovery { mode: ELASTIC }", {"train.data_ranks=2"}),
      HasSubstr(
          "--set train.data_ranks=2: found 2 with recovery.mode ELASTIC; allowed: at least cluster.ranks, which is "
          "4"));
  EXPECT_EQ(error_of(kPlain + "recovery { mode: ELASTIC }", {"train.data_ranks=8"}), "no error");
}

TEST(SupervisorLink, IsReadAndWrittenBack) {
  const Scenario scenario =
      load_text(kPlain +
                "faults { supervisor_link { rank: 2 way: TO_SUPERVISOR from_time: \"1ms\" until_time: \"2ms\" }\n"
                "supervisor_link { delay: \"3s\" } }");
  ASSERT_EQ(scenario.faults.supervisor_links.size(), 2U);
  const SupervisorLinkFault& first = scenario.faults.supervisor_links[0];
  EXPECT_EQ(first.rank, 2);
  EXPECT_TRUE(first.to_supervisor);
  EXPECT_FALSE(first.from_supervisor);
  EXPECT_EQ(first.from, TimePoint::at(Duration::milliseconds(1)));
  EXPECT_EQ(first.until, TimePoint::at(Duration::milliseconds(2)));
  EXPECT_FALSE(first.delay.has_value());
  const SupervisorLinkFault& second = scenario.faults.supervisor_links[1];
  EXPECT_EQ(second.rank, kAnyRank);
  EXPECT_TRUE(second.to_supervisor && second.from_supervisor);
  EXPECT_EQ(second.delay, Duration::seconds(3));
  EXPECT_EQ(load_text(scenario.text).text, scenario.text);
}

TEST(SupervisorLink, ThatNobodyHasOrThatEndsBeforeItBeginsIsRefused) {
  EXPECT_THAT(error_of(kPlain + "faults { supervisor_link { rank: 4 } }"),
              HasSubstr("faults.supervisor_link[0].rank: found 4; allowed: 0 to cluster.ranks - 1 = 3"));
  EXPECT_THAT(
      error_of(kPlain + "faults { supervisor_link { from_time: \"2ms\" until_time: \"2ms\" } }"),
      HasSubstr("faults.supervisor_link[0].until_time: found \"2ms\"; allowed: a time after from_time, which is "
                "\"2ms\""));
}

// Checkpoints hold the scenario's text: a longer one would change every event digest.
TEST(Recovery, WhatIsNotWrittenStaysUnwritten) {
  const Scenario scenario = load_text(kPlain);
  EXPECT_EQ(scenario.recovery.mode, RecoveryMode::kRestart);
  for (const char* field : {"mode: RESTART", "min_ranks", "spares", "data_ranks", "heartbeat_interval", "rendezvous"}) {
    EXPECT_THAT(scenario.text, Not(HasSubstr(field)));
  }
}

}  // namespace
}  // namespace rehearse
