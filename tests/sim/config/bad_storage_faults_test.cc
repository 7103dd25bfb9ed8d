// Storage faults that cannot strike as they are written: refused before anything runs, at the field's own place.

#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

// In line 9, from column 10.
std::string with_faults(const std::string& faults) { return kGoodScenario + "faults { " + faults + " }\n"; }

struct BadStorageFault {
  const char* name;
  std::string faults;
  std::string error;  // after the file's name and the line
};

void PrintTo(const BadStorageFault& test, std::ostream* out) { *out << test.name; }

class BadStorageFaultTest : public ::testing::TestWithParam<BadStorageFault> {};

TEST_P(BadStorageFaultTest, IsRefusedWhereItStands) {
  EXPECT_EQ(error_of(with_faults(GetParam().faults)), "dir/s.textproto:9:" + GetParam().error);
}

std::string test_name(const ::testing::TestParamInfo<BadStorageFault>& info) { return info.param.name; }

const std::string kRanks = "; allowed: 0 to cluster.ranks - 1 = 3";
const std::string kSteps = "; allowed: a step of the run, 1 to train.steps, which is 20";
const std::string kNames = "; allowed: names with / between them, none of them empty, . or .., and * and ** in them";
const std::string kCounts = "; allowed: whole numbers from 1 to 1000000000";

INSTANTIATE_TEST_SUITE_P(
    Operations, BadStorageFaultTest,
    ::testing::Values(
        BadStorageFault{"NoSuchRank", "io_error { rank: 4 }", "27: faults.io_error[0].rank: found 4" + kRanks},
        BadStorageFault{"NegativeRank", "io_error { rank: -1 }",
                        "27: faults.io_error[0].rank: found '-1'; allowed: whole numbers from 0"},
        BadStorageFault{"NoSuchOperation", "io_error { operation: OPEN }",
                        "32: faults.io_error[0].operation: found 'OPEN'; allowed: ANY, WRITE, READ, FSYNC, "
                        "FSYNC_DIRECTORY, RENAME, REMOVE, MAKE_DIRECTORY, LIST"},
        BadStorageFault{"NoSuchError", "io_error { error: FULL }",
                        "28: faults.io_error[0].error: found 'FULL'; allowed: IO, NO_SPACE"},
        BadStorageFault{"NthZero", "io_error { nth: 0 }", "26: faults.io_error[0].nth: found '0'" + kCounts},
        BadStorageFault{"NegativeCount", "io_error { count: -1 }",
                        "28: faults.io_error[0].count: found '-1'; allowed: whole numbers from 0 to 1000000000"},
        BadStorageFault{"EmptyPath", "io_error { path: \"\" }",
                        "27: faults.io_error[0].path: found \"\", which is empty; allowed: text in quotes"},
        BadStorageFault{"AbsolutePath", "io_error { path: \"/checkpoints\" }",
                        "27: faults.io_error[0].path: found \"/checkpoints\"" + kNames},
        BadStorageFault{"PathWithDots", "lost_fsync { path: \"a/../b\" }",
                        "29: faults.lost_fsync[0].path: found \"a/../b\"" + kNames},
        BadStorageFault{"TornWithoutKeep", "torn_write { nth: 2 }",
                        "10: faults.torn_write[0].keep: missing; allowed: a size such as \"25MB\", in quotes"},
        BadStorageFault{"TornOfNoSuchRank", "torn_write { keep: \"1B\" rank: 9 }",
                        "40: faults.torn_write[0].rank: found 9" + kRanks},
        BadStorageFault{"LostFsyncOfNoSuchRank", "lost_fsync { rank: 9 }",
                        "29: faults.lost_fsync[0].rank: found 9" + kRanks},
        BadStorageFault{"UnknownField", "io_error { kind: READ }",
                        "21: faults.io_error[0].kind: unknown field; allowed: operation, rank, path, nth, count, from, "
                        "from_step, until, until_step, error, local_disk"}),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    Windows, BadStorageFaultTest,
    ::testing::Values(
        BadStorageFault{"StepBeyondTheRun", "disk_full { from_step: 21 }",
                        "33: faults.disk_full[0].from_step: found 21" + kSteps},
        BadStorageFault{"EndBeyondTheRun", "disk_full { until_step: 21 }",
                        "34: faults.disk_full[0].until_step: found 21" + kSteps},
        BadStorageFault{"StepZero", "disk_full { from_step: 0 }",
                        "33: faults.disk_full[0].from_step: found '0'" + kCounts},
        BadStorageFault{"EndsAsItBegins", "disk_full { from_step: 5 until_step: 5 }",
                        "47: faults.disk_full[0].until_step: found 5, when nothing has begun; allowed: later than "
                        "from_step, which is 5"},
        BadStorageFault{"EndsAtTheStart", "slow_disk { factor: 2 until: \"0ps\" }",
                        "39: faults.slow_disk[0].until: found \"0ps\", when nothing has begun; allowed: later than "
                        "from, which is \"0ps\""},
        BadStorageFault{"EndsBeforeItBegins", "stale_view { rank: 0 delay: \"1ms\" from: \"3ms\" until: \"2ms\" }",
                        "63: faults.stale_view[0].until: found \"2ms\", when nothing has begun; allowed: later than "
                        "from, which is \"3ms\""},
        BadStorageFault{"TwoBeginnings", "disk_full { from: \"1ms\" from_step: 2 }",
                        "34: faults.disk_full[0].from_step: contradicts from at dir/s.textproto:9:28; allowed: one of "
                        "from, from_step"},
        BadStorageFault{"NotADuration", "disk_full { from: \"5\" }",
                        "28: faults.disk_full[0].from: found \"5\", which has no unit; allowed: a duration such as "
                        "\"5us\", with one of the suffixes ps ns us ms s min h"}),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    Disks, BadStorageFaultTest,
    ::testing::Values(
        BadStorageFault{"SlowWithoutFactor", "slow_disk { rank: 1 }",
                        "10: faults.slow_disk[0].factor: missing; allowed: numbers from 0.001 to 1000000"},
        BadStorageFault{"SlowByNothing", "slow_disk { factor: 0 }",
                        "30: faults.slow_disk[0].factor: found '0'; allowed: numbers from 0.001 to 1000000"},
        BadStorageFault{"SlowWithTooManyDecimals", "slow_disk { factor: 1.0000000001 }",
                        "30: faults.slow_disk[0].factor: found more than 9 decimals; allowed: at most 9"},
        BadStorageFault{"SlowOfNoSuchRank", "slow_disk { factor: 2 rank: 4 }",
                        "38: faults.slow_disk[0].rank: found 4" + kRanks},
        BadStorageFault{"StaleOfNoSuchRank", "stale_view { rank: 4 delay: \"1ms\" }",
                        "29: faults.stale_view[0].rank: found 4" + kRanks},
        BadStorageFault{"StaleWithoutDelay", "stale_view { rank: 0 }",
                        "10: faults.stale_view[0].delay: missing; allowed: a duration above 0 such as \"5us\", in "
                        "quotes"},
        BadStorageFault{"StaleByNothing", "stale_view { rank: 0 delay: \"0s\" }",
                        "38: faults.stale_view[0].delay: found \"0s\"; allowed: a duration above 0 such as \"5us\", in "
                        "quotes"},
        BadStorageFault{"StaleOfABadPath", "stale_view { rank: 0 delay: \"1s\" path: \"a//b\" }",
                        "49: faults.stale_view[0].path: found \"a//b\"" + kNames}),
    test_name);

const std::string kWhen = ": says not when; allowed: at { step phase }, time, or after { operation path nth }";

INSTANTIATE_TEST_SUITE_P(
    Moments, BadStorageFaultTest,
    ::testing::Values(
        BadStorageFault{"RotWithoutWhen", "rot { path: \"f\" offset: 0 bit: 0 }", "10: faults.rot[0]" + kWhen},
        BadStorageFault{"MissingFileWithoutWhen", "missing_file { path: \"f\" }", "10: faults.missing_file[0]" + kWhen},
        BadStorageFault{"PowerLossWithoutWhen", "power_loss { }", "10: faults.power_loss[0]" + kWhen},
        BadStorageFault{"RotWithoutPath", "rot { offset: 0 bit: 0 time: \"1ms\" }",
                        "10: faults.rot[0].path: missing; allowed: text in quotes"},
        BadStorageFault{"RotOfABadPath", "rot { path: \"a/\" offset: 0 bit: 0 time: \"1ms\" }",
                        "22: faults.rot[0].path: found \"a/\"" + kNames},
        BadStorageFault{"RotOfNoBit", "rot { path: \"f\" offset: 0 bit: 8 time: \"1ms\" }",
                        "41: faults.rot[0].bit: found '8'; allowed: whole numbers from 0 to 7"},
        BadStorageFault{"RotBeforeTheFile", "rot { path: \"f\" offset: -1 bit: 0 time: \"1ms\" }",
                        "34: faults.rot[0].offset: found '-1'; allowed: whole numbers from 0"},
        BadStorageFault{"MissingFileOfABadPath", "missing_file { path: \".\" time: \"1ms\" }",
                        "31: faults.missing_file[0].path: found \".\"" + kNames},
        BadStorageFault{"AtAStepBeyondTheRun", "power_loss { at { step: 21 phase: DATA } }",
                        "34: faults.power_loss[0].at.step: found 21" + kSteps},
        BadStorageFault{"AtASaveThatIsNone", "power_loss { at { step: 7 phase: CHECKPOINT } }",
                        "43: faults.power_loss[0].at.phase: found CHECKPOINT of step 7, after which nothing is saved; "
                        "allowed: only in a multiple of checkpoint.every_steps, which is 10"},
        BadStorageFault{"AtNoSuchRank", "power_loss { at { step: 2 phase: DATA } rank: 4 }",
                        "56: faults.power_loss[0].rank: found 4" + kRanks},
        BadStorageFault{"AfterAnOperationOfNoSuchRank", "power_loss { after { rank: 5 } }",
                        "37: faults.power_loss[0].after.rank: found 5" + kRanks},
        BadStorageFault{"AfterABadPath", "power_loss { after { path: \"a//b\" } }",
                        "37: faults.power_loss[0].after.path: found \"a//b\"" + kNames},
        BadStorageFault{"AfterTheZeroth", "power_loss { after { nth: 0 } }",
                        "36: faults.power_loss[0].after.nth: found '0'" + kCounts},
        BadStorageFault{"TwoMoments", "power_loss { time: \"1ms\" after { nth: 1 } }",
                        "35: faults.power_loss[0].after: contradicts time at dir/s.textproto:9:29; allowed: one of at, "
                        "time, after"}),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    Unsynced, BadStorageFaultTest,
    ::testing::Values(
        BadStorageFault{"TornWithoutAfter", "power_loss { time: \"1ms\" unsynced: TORN }",
                        "45: faults.power_loss[0].unsynced: found TORN without torn_after; allowed: with it"},
        BadStorageFault{"TornAfterWithoutTorn", "power_loss { time: \"1ms\" torn_after: \"5B\" }",
                        "47: faults.power_loss[0].torn_after: found \"5B\"; allowed: only with unsynced: TORN"},
        BadStorageFault{"NoSuchSurvivors", "power_loss { time: \"1ms\" unsynced: SOME }",
                        "45: faults.power_loss[0].unsynced: found 'SOME'; allowed: NONE_SURVIVE, ALL_SURVIVE, TORN"},
        BadStorageFault{"UnsyncedOfAProcess", "crash { rank: 1 time: \"1ms\" unsynced: ALL_SURVIVE }",
                        "48: faults.crash[0].unsynced: found with a crash of the process, whose unsynced operations "
                        "are all there; allowed: only with kind: HOST"},
        BadStorageFault{"TornOfAProcess", "crash { rank: 1 time: \"1ms\" torn_after: \"1B\" }",
                        "50: faults.crash[0].torn_after: found with a crash of the process, whose unsynced operations "
                        "are all there; allowed: only with kind: HOST"},
        BadStorageFault{"TornOfAHostWithoutAfter", "crash { rank: 1 time: \"1ms\" kind: HOST unsynced: TORN }",
                        "59: faults.crash[0].unsynced: found TORN without torn_after; allowed: with it"}),
    test_name);

TEST(BadStorage, CapacityOfNothing) {
  EXPECT_EQ(
      error_of(good_with("network {", "storage { capacity: \"0B\" } network {")),
      "dir/s.textproto:3:40: cluster.storage.capacity: found \"0B\"; allowed: a size above 0 such as \"25MB\", in "
      "quotes");
}

TEST(BadStorage, NegativeFailedSaves) {
  EXPECT_EQ(error_of(good_with("expect {", "expect { failed_saves: -1")),
            "dir/s.textproto:8:24: expect.failed_saves: found '-1'; allowed: whole numbers from 0 to 1000000000");
}

TEST(BadStorage, NegativeRefusedCheckpoints) {
  EXPECT_EQ(
      error_of(good_with("expect {", "expect { refused_checkpoints: -1")),
      "dir/s.textproto:8:31: expect.refused_checkpoints: found '-1'; allowed: whole numbers from 0 to 1000000000");
}

// Without checkpoints there is nothing that most of them could strike.
TEST(StorageFaultsWithoutSaves, AreRefused) {
  const std::string text = good_with(" resume_from: 10", "");
  const std::vector<std::string> no_saves = {"checkpoint.every_steps=0", "checkpoint.keep=0"};
  for (const char* fault :
       {"disk_full { }", "io_error { }", "slow_disk { factor: 2 }", "torn_write { keep: \"1B\" }", "lost_fsync { }",
        "stale_view { rank: 0 delay: \"1s\" }", "rot { path: \"f\" offset: 0 bit: 0 time: \"1s\" }",
        "missing_file { path: \"f\" time: \"1s\" }", "power_loss { after { } }"}) {
    const std::string name(fault, std::string_view(fault).find(' '));
    EXPECT_EQ(error_of(text + "faults { " + fault + " }\n", no_saves),
              "dir/s.textproto:9:10: faults." + name +
                  "[0]: strikes nothing, as nothing is saved; allowed: only with checkpoint.every_steps or every");
  }
  EXPECT_EQ(error_of(text + "faults { power_loss { time: \"1s\" } }\n", no_saves), "no error");
}

// Good ones.

TEST(StorageFaults, FillThePlan) {
  const Scenario s = load_text(with_faults(
      "disk_full { from_step: 3 until_step: 5 } "
      "io_error { operation: FSYNC_DIRECTORY rank: 2 path: \"a/*\" nth: 3 count: 0 from: \"1ms\" error: NO_SPACE } "
      "torn_write { keep: \"7B\" } lost_fsync { } slow_disk { factor: 2.5 rank: 1 } "
      "stale_view { rank: 3 path: \"checkpoints\" delay: \"4ms\" } "
      "rot { path: \"f\" offset: 9 bit: 7 at { step: 4 phase: REDUCE } rank: 2 } "
      "missing_file { path: \"g\" time: \"5ms\" } "
      "power_loss { after { operation: RENAME path: \"h\" nth: 2 rank: 0 } unsynced: TORN torn_after: \"6B\" } "
      "crash { rank: 1 time: \"1ms\" kind: HOST unsynced: ALL_SURVIVE }"));
  const StorageFaultPlan& plan = s.faults.storage;
  ASSERT_EQ(plan.operations.size(), 4U);
  const OperationFault& full = plan.operations[0];
  EXPECT_EQ(full.effect, OperationFault::Effect::kNoSpace);
  EXPECT_EQ(full.on.operation, FileOperation::kWrite);
  EXPECT_EQ(full.count, 0);
  EXPECT_EQ(full.window.from_step, 3);
  EXPECT_EQ(full.window.until_step, 5);
  const OperationFault& error = plan.operations[1];
  EXPECT_EQ(error.effect, OperationFault::Effect::kNoSpace);
  EXPECT_EQ(error.on.operation, FileOperation::kFsyncDirectory);
  EXPECT_EQ(error.on.rank, 2);
  EXPECT_EQ(error.on.path, "a/*");
  EXPECT_EQ(error.nth, 3);
  EXPECT_EQ(error.count, 0);
  EXPECT_EQ(error.window.from, TimePoint::at(Duration::milliseconds(1)));
  EXPECT_EQ(plan.operations[2].effect, OperationFault::Effect::kTorn);
  EXPECT_EQ(plan.operations[2].keep, Bytes(7));
  EXPECT_EQ(plan.operations[2].count, 1);
  EXPECT_EQ(plan.operations[3].effect, OperationFault::Effect::kLost);
  ASSERT_EQ(plan.slow.size(), 1U);
  EXPECT_EQ(plan.slow[0].numerator, 5);
  EXPECT_EQ(plan.slow[0].denominator, 2);
  EXPECT_EQ(plan.slow[0].rank, 1);
  ASSERT_EQ(plan.stale.size(), 1U);
  EXPECT_EQ(plan.stale[0].rank, 3);
  EXPECT_EQ(plan.stale[0].path, "checkpoints");
  EXPECT_EQ(plan.stale[0].delay, Duration::milliseconds(4));
  ASSERT_EQ(plan.disk.size(), 3U);
  EXPECT_EQ(plan.disk[0].kind, DiskFault::Kind::kRot);
  EXPECT_EQ(plan.disk[0].offset, 9);
  EXPECT_EQ(plan.disk[0].bit, 7);
  EXPECT_EQ(plan.disk[0].rank, 2);
  EXPECT_EQ(plan.disk[0].step, 4);
  EXPECT_EQ(plan.disk[0].phase, Phase::kReduce);
  EXPECT_EQ(plan.disk[1].kind, DiskFault::Kind::kMissing);
  EXPECT_EQ(plan.disk[1].time, TimePoint::at(Duration::milliseconds(5)));
  EXPECT_EQ(plan.disk[2].kind, DiskFault::Kind::kPower);
  ASSERT_TRUE(plan.disk[2].after.has_value());
  EXPECT_EQ(plan.disk[2].after->operation, FileOperation::kRename);
  EXPECT_EQ(plan.disk[2].nth, 2);
  EXPECT_EQ(plan.disk[2].loss.survivors, PowerLoss::Survivors::kAll);
  EXPECT_EQ(plan.disk[2].loss.torn_after, Bytes(6));
  ASSERT_EQ(s.faults.faults.size(), 1U);
  EXPECT_EQ(std::get<CrashFault>(s.faults.faults[0].kind).unsynced.survivors, PowerLoss::Survivors::kAll);
  EXPECT_EQ(load_text(s.text).scenario_sha256, s.scenario_sha256);
}

TEST(StorageFaults, AloneAreFaultsToLeaveOut) {
  const std::string text = good_with("expect {", "expect { same_weights_as: \"fault-free\"");
  const Scenario s = load_text(text + "faults { disk_full { } }\n");
  EXPECT_FALSE(s.faults.empty());
  ASSERT_TRUE(s.expect.same_weights_as.has_value());
  EXPECT_TRUE(s.expect.same_weights_as->scenario->faults.empty());
}

TEST(StorageFaults, CapacityAndFailedSavesAreRead) {
  const Scenario s =
      load_text(good_with("network {", "storage { capacity: \"3MB\" } network {"), {"expect.failed_saves=2"});
  EXPECT_EQ(s.storage.capacity, Bytes(3'000'000));
  EXPECT_EQ(s.expect.failed_saves, 2);
  EXPECT_FALSE(load_text(kGoodScenario).storage.capacity.has_value());
}

}  // namespace
}  // namespace rehearse
