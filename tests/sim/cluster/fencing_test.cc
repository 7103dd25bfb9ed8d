// Hosts that live but are not heard of: they are taken for lost, and whatever becomes of the ranks on them, the job
// ends with the bytes of the run in which everybody was heard.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kQuick = {"recovery.heartbeat_timeout=120us", "recovery.heartbeat_interval=40us",
                                         "recovery.restart_delay=100us"};

TrainingRecord run_with(const std::string& more, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = kQuick;
  all.insert(all.end(), overrides.begin(), overrides.end());
  return run_training(tiny_training(more, all));
}

std::string link(const std::string& fields) { return "faults { supervisor_link { " + fields + " } }\n"; }

// The job without a fault, and how long it takes.
const TrainingRecord& calm() {
  static const TrainingRecord record = run_with("");
  return record;
}

void expect_same_end(const TrainingRecord& record) {
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_THAT(record.violations, IsEmpty());
  EXPECT_EQ(record.weights_sha256, calm().weights_sha256);
}

TEST(Fencing, AHostThatIsNotHeardOfIsStoppedAndStartsAgainWithTheOthers) {
  const TrainingRecord record = run_with(link("rank: 1 way: TO_SUPERVISOR from_time: \"50us\" until_time: \"250us\""));
  expect_same_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  const RecoveryRecord& recovery = record.recoveries[0];
  // Last heard of as it said at 40 us that it lives.
  EXPECT_EQ(recovery.detected, TimePoint::at(Duration::microseconds(40 + 5 + 120)));
  EXPECT_EQ(recovery.cause, "rank 1 was not heard of for 120 us");
  EXPECT_THAT(recovery.suspected, ElementsAre(1));
  EXPECT_THAT(record.fenced, IsEmpty());
  // It hears at 170 us that it shall stop, and says so until it comes through, at 250 us.
  EXPECT_GE(recovery.restarted, TimePoint::at(Duration::microseconds(255)));
}

TEST(Fencing, TheSupervisorWaitsForAHostThatHearsLateThatItShallStop) {
  const TrainingRecord record = run_with(link("rank: 1 from_time: \"50us\" until_time: \"800us\""));
  expect_same_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_GE(record.recoveries[0].restarted, TimePoint::at(Duration::microseconds(800)));
  EXPECT_THAT(record.recoveries[0].late, IsEmpty());
}

TEST(Fencing, ADelayBelowTheTimeoutIsNoFailure) {
  const TrainingRecord record = run_with(link("delay: \"70us\""));
  expect_same_end(record);
  EXPECT_THAT(record.recoveries, IsEmpty());
}

TEST(Fencing, TheNewsOfACrashIsSaidAgainUntilItComesThrough) {
  const std::string crash = "crash { rank: 1 time: \"60us\" kind: PROCESS }";
  const TrainingRecord record =
      run_with("faults { " + crash + " supervisor_link { rank: 1 from_time: \"50us\" until_time: \"90us\" } }\n");
  expect_same_end(record);
  // First said at 60 us, again at 100 us; that its peers failed is said at once, and heard first.
  EXPECT_LE(record.recoveries.at(0).detected, TimePoint::at(Duration::microseconds(105)));
  const TrainingRecord alone =
      run_with("faults { " + crash + " supervisor_link { from_time: \"50us\" until_time: \"90us\" } }\n");
  expect_same_end(alone);
  EXPECT_GE(alone.recoveries.at(0).detected, TimePoint::at(Duration::microseconds(95)));
}

TEST(Fencing, AHostThatNeverComesBackUsesUpTheRestarts) {
  const TrainingRecord record =
      run_with(link("rank: 1 from_time: \"50us\""), {"recovery.max_restarts=3", "recovery.rendezvous_timeout=1ms"});
  EXPECT_EQ(record.outcome, Outcome::kFailed);
  EXPECT_THAT(record.failure, HasSubstr("the 3 restarts that recovery allows are used"));
}

TEST(Fencing, AHostThatComesTooLateCountsAsARestartThatWasTried) {
  const TrainingRecord record =
      run_with(link("rank: 1 from_time: \"50us\" until_time: \"3ms\""), {"recovery.rendezvous_timeout=1ms"});
  expect_same_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_THAT(record.recoveries[0].late, ElementsAre(1));
  EXPECT_GE(record.recoveries[0].restarted, TimePoint::at(Duration::milliseconds(3)));
}

// It had not heard that it shall stop, so it was counted on to come.
TEST(Fencing, AHostThatIsLostBeforeItStopsDoesNotComeToTheRendezvous) {
  const std::string faults =
      "faults { supervisor_link { rank: 1 way: FROM_SUPERVISOR from_time: \"50us\" until_time: \"400us\" }\n"
      "  straggler { rank: 1 factor: 1000000 from_step: 1 until_step: 2 }\n"
      "  crash { rank: 0 time: \"60us\" kind: PROCESS } crash { rank: 1 time: \"200us\" kind: HOST } }\n";
  for (const int spares : {0, 1}) {
    const TrainingRecord record = run_with(faults, {"recovery.spares=" + std::to_string(spares)});
    expect_same_end(record);
    ASSERT_EQ(record.recoveries.size(), 1U);
    EXPECT_EQ(record.recoveries[0].on_spares, std::vector<int>(static_cast<std::size_t>(spares), 1));
    // The first meeting ends when rank 1 would have heard, at 400 us.
    EXPECT_GE(record.recoveries[0].restarted, TimePoint::at(Duration::microseconds(400)));
  }
}

// A rank that computes for long is replaced meanwhile, and comes to its next collective in a generation that is over.
TEST(Fencing, ARankThatLivesOnBesideItsSpareCannotCallTheOthers) {
  const TrainingRecord record = run_with(
      "faults { supervisor_link { rank: 1 from_time: \"50us\" }\n"
      "  straggler { rank: 1 factor: 1000000 from_step: 2 until_step: 3 } }\n",
      {"recovery.spares=1"});
  expect_same_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_THAT(record.recoveries[0].on_spares, ElementsAre(1));
  EXPECT_THAT(record.fenced, Contains(AllOf(Field(&FencedRecord::rank, 1), Field(&FencedRecord::generation, 0),
                                            Field(&FencedRecord::what, HasSubstr("nobody listens to it")))));
}

TEST(Fencing, ARankThatIsSavingCannotPublishOnceItIsReplaced) {
  // Rank 0 commits the checkpoint of step 2, on a disk that takes its time.
  const std::string slow = "slow_disk { rank: 0 from_step: 2 until_step: 3 factor: 100 }";
  const TrainingRecord record =
      run_with("faults { supervisor_link { rank: 0 from_time: \"50us\" } " + slow + " }\n", {"recovery.spares=1"});
  expect_same_end(record);
  EXPECT_THAT(record.fenced, Contains(Field(&FencedRecord::what, HasSubstr("the storage takes generation 1"))));
}

// A fault of rank 0 means the one that the job counts on.
TEST(Fencing, AFaultOfTheDiskIsNotForARankThatWasReplaced) {
  const std::string faults =
      "faults { supervisor_link { rank: 0 from_time: \"50us\" } "
      "slow_disk { rank: 0 from_step: 2 until_step: 3 factor: 100 } ";
  const TrainingRecord first = run_with(faults + "}\n", {"recovery.spares=1"});
  std::int64_t refused = 0;
  for (const FencedRecord& one : first.fenced) {
    if (one.what.find("the storage takes") != std::string::npos) refused = one.time.ps();
  }
  ASSERT_GT(refused, 0);
  const std::string around =
      "from: \"" + std::to_string(refused - 1000) + "ps\" until: \"" + std::to_string(refused + 1000) + "ps\"";
  const TrainingRecord record =
      run_with(faults + "io_error { rank: 0 " + around + " count: 0 } }\n", {"recovery.spares=1"});
  expect_same_end(record);
  EXPECT_THAT(record.faults_not_struck, ElementsAre(HasSubstr("the I/O error")));
}

TEST(Fencing, AReplacedRankThatHearsOfItStopsAndItsHostIsRefused) {
  const TrainingRecord record = run_with(
      "faults { supervisor_link { rank: 1 from_time: \"50us\" until_time: \"400us\" }\n"
      "  straggler { rank: 1 factor: 1000000 from_step: 2 until_step: 3 } }\n",
      {"recovery.spares=1"});
  expect_same_end(record);
  EXPECT_THAT(record.fenced,
              Contains(AllOf(Field(&FencedRecord::rank, 1),
                             Field(&FencedRecord::what, HasSubstr("is refused: the job is in generation 1")))));
}

TEST(Fencing, AnElasticJobGoesOnWithoutAHostThatLives) {
  const TrainingRecord record =
      run_with(link("rank: 0 from_time: \"50us\""), {"recovery.mode=ELASTIC", "recovery.min_ranks=1"});
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_THAT(record.violations, IsEmpty());
  EXPECT_THAT(record.recoveries.at(0).gone, ElementsAre(0));
}

// A host that is lost in the very moment in which the others start again is not the new generation's.
TEST(Fencing, AFaultInTheMomentOfTheStartStrikesTheOldGenerationAlone) {
  const std::string link = "supervisor_link { rank: 1 from_time: \"50us\" }";
  const std::vector<std::string> spares = {"recovery.spares=2"};
  const TrainingRecord first = run_with("faults { " + link + " }\n", spares);
  ASSERT_EQ(first.recoveries.size(), 1U);
  const std::string moment = std::to_string(first.recoveries[0].restarted.ps()) + "ps";
  for (const std::string fault : {"crash { rank: 1 kind: HOST time: \"", "crash { rank: 1 time: \"",
                                  "hang { rank: 1 time: \"", "power_loss { time: \""}) {
    SCOPED_TRACE(fault);
    const TrainingRecord record = run_with("faults { " + link + fault + moment + "\" } }\n", spares);
    expect_same_end(record);
    EXPECT_EQ(record.recoveries.size(), 1U);
    EXPECT_EQ(record.recoveries[0].spares_left, 1);
  }
}

TEST(Fencing, WithoutAnyTimeForTheRendezvousHealthyHostsAreNotLate) {
  const std::vector<std::string> at_once = {"recovery.rendezvous_timeout=0ps", "recovery.restart_delay=0ps"};
  const TrainingRecord record = run_with("faults { crash { rank: 1 kind: HOST time: \"60us\" } }\n", at_once);
  expect_same_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_THAT(record.recoveries[0].late, IsEmpty());
}

// The orders to stop come through, those to start do not for a while: all ranks are late in one rendezvous.
TEST(Fencing, AllWhoDoNotHearThatTheyShallStartAreLateTogether) {
  const std::string faults =
      "faults { crash { rank: 0 time: \"60us\" } "
      "supervisor_link { way: FROM_SUPERVISOR from_time: \"70us\" until_time: \"900us\" } }\n";
  const TrainingRecord record = run_with(
      faults, {"recovery.rendezvous_timeout=300us", "recovery.max_restarts=4", "recovery.heartbeat_timeout=2ms"});
  expect_same_end(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_THAT(record.recoveries[0].late, ElementsAre(0, 1));
}

// Rank 0 has ended and is not missed any more; its link has nothing to say about the host that is lost then.
TEST(Fencing, WhoHasEndedIsNotMissed) {
  const std::int64_t end = calm().simulated.ps() / 1'000'000;
  int struck = 0;
  for (std::int64_t at = end - 60; at < end; at += 2) {
    const std::string time = std::to_string(at) + "us";
    for (const std::string& fault :
         {"power_loss { time: \"" + time + "\" }", "crash { rank: 1 kind: HOST time: \"" + time + "\" }"}) {
      const TrainingRecord record =
          run_with("faults { supervisor_link { rank: 0 from_time: \"50us\" delay: \"100us\" } " + fault + " }\n");
      SCOPED_TRACE(fault);
      expect_same_end(record);
      struck += record.recoveries.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(struck, 10);
}

// From every 50th microsecond on, for a while or for good, either rank or both, either way or both.
TEST(Fencing, WhoeverIsNotHeardOfWheneverTheJobEndsTheSame) {
  const std::int64_t end = calm().simulated.ps() / 1'000'000;
  ASSERT_GT(end, 200);
  int runs = 0;
  int suspected = 0;
  int fenced = 0;
  for (std::int64_t from = 0; from < end; from += 50) {
    for (const std::string& rank : {std::string("rank: 0"), std::string("rank: 1"), std::string()}) {
      for (const std::string way : {"BOTH", "TO_SUPERVISOR", "FROM_SUPERVISOR"}) {
        for (const std::int64_t length : {110, 400}) {
          for (const std::string spares : {"0", "2"}) {
            const std::string fields = rank + " way: " + way + " from_time: \"" + std::to_string(from) +
                                       "us\" until_time: \"" + std::to_string(from + length) + "us\"";
            SCOPED_TRACE(fields + ", spares " + spares);
            const TrainingRecord record =
                run_with(link(fields), {"recovery.spares=" + spares, "recovery.max_restarts=20"});
            expect_same_end(record);
            if (HasFatalFailure()) return;
            ++runs;
            for (const RecoveryRecord& recovery : record.recoveries) suspected += !recovery.suspected.empty() ? 1 : 0;
            fenced += !record.fenced.empty() ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_EQ(runs, 36 * ((end + 49) / 50));
  EXPECT_GT(suspected, runs / 8);
  EXPECT_GT(fenced, 0);
}

TEST(Fencing, AWindowThatNeverOpensIsToldAndChangesNothing) {
  const TrainingRecord record = run_with(link("rank: 1 from_time: \"1h\""));
  expect_same_end(record);
  EXPECT_THAT(record.recoveries, IsEmpty());
  EXPECT_THAT(record.faults_not_struck,
              ElementsAre(AllOf(HasSubstr("the supervisor's link with rank 1"), HasSubstr("from 3600 s on"))));
}

}  // namespace
}  // namespace rehearse
