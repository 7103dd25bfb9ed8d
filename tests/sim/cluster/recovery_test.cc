// A rank fails, and the job comes back: the same weights (D3), nothing hangs, and what is told of it is true.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"
#include "sim/config/loader.h"
#include "sim/trace/record_comparison.h"
#include "sim/trace/state_difference.h"

namespace rehearse {
namespace {

const std::string kPath = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";

Scenario capstone(const std::vector<std::string>& more = {}) {
  LoadOptions options;
  options.overrides = {"train.steps=8", "checkpoint.every_steps=3", "expect.resume_from=6"};
  options.overrides.insert(options.overrides.end(), more.begin(), more.end());
  Scenario scenario = load_scenario(kPath, options);
  scenario.expect = Expectations();
  return scenario;
}

std::vector<std::string> crash(int rank, int step, const std::string& phase, int index = 0) {
  const std::string field = "faults.crash[" + std::to_string(index) + "]";
  return {field + ".rank=" + std::to_string(rank), field + ".at.step=" + std::to_string(step),
          field + ".at.phase=" + phase};
}

const TrainingRecord& fault_free() {
  static const TrainingRecord record = run_training(capstone());
  return record;
}

void expect_same_job(const TrainingRecord& record) {
  const TrainingRecord& whole = fault_free();
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole.weights_sha256);
  EXPECT_THAT(record.violations, ::testing::IsEmpty());
  ASSERT_EQ(record.steps.size(), whole.steps.size());
  for (std::size_t i = 0; i < whole.steps.size(); ++i) {
    EXPECT_EQ(record.steps[i].report.step, whole.steps[i].report.step);
    EXPECT_EQ(record.steps[i].report.rank_losses, whole.steps[i].report.rank_losses);
    EXPECT_EQ(record.steps[i].parameters, whole.steps[i].parameters);
    EXPECT_EQ(record.steps[i].states, whole.steps[i].states);
  }
  ASSERT_EQ(record.checkpoints.size(), whole.checkpoints.size());
  for (std::size_t i = 0; i < whole.checkpoints.size(); ++i) {
    EXPECT_EQ(record.checkpoints[i].files.at("manifest.json").text(),
              whole.checkpoints[i].files.at("manifest.json").text());
  }
}

TEST(Recovery, FromACrashInEveryPhaseOfEveryStepOnEveryRank) {
  int recovered = 0;
  for (const char* phase : {"DATA", "FORWARD", "BACKWARD", "REDUCE", "OPTIMIZER", "GATHER", "CHECKPOINT"}) {
    for (int step = 1; step <= 8; ++step) {
      if (std::string(phase) == "CHECKPOINT" && step % 3 != 0) continue;
      const int rank = (step + static_cast<int>(phase[0])) % 4;
      SCOPED_TRACE("rank " + std::to_string(rank) + ", step " + std::to_string(step) + ", " + phase);
      const TrainingRecord record = run_training(capstone(crash(rank, step, phase)));
      expect_same_job(record);
      ASSERT_EQ(record.faults.size(), 1U);
      ASSERT_EQ(record.recoveries.size(), 1U);
      const RecoveryRecord& recovery = record.recoveries[0];
      EXPECT_EQ(recovery.cause, "rank " + std::to_string(rank) + " crashed");
      EXPECT_EQ(recovery.failed, record.faults[0].time);
      EXPECT_EQ(recovery.detected - recovery.failed, Duration::microseconds(5));
      EXPECT_EQ(recovery.restarted - recovery.detected, Duration::microseconds(10'000'005));
      EXPECT_GT(recovery.resumed, recovery.restarted);
      // A crash as a save begins leaves no checkpoint of that step.
      EXPECT_EQ(recovery.resumed_step, (step - 1) / 3 * 3);
      EXPECT_EQ(recovery.from_checkpoint, recovery.resumed_step > 0);
      ++recovered;
    }
  }
  std::printf("%d crashes, all recovered\n", recovered);
}

TEST(Recovery, AFaultStrikesOnceAlthoughItsStepIsTrainedAgain) {
  const TrainingRecord record = run_training(capstone(crash(1, 5, "BACKWARD")));
  EXPECT_EQ(record.faults.size(), 1U);
  std::vector<std::int64_t> attempts;
  std::vector<std::uint32_t> generations;
  for (const StepRecord& step : record.steps) {
    attempts.push_back(step.attempt);
    generations.push_back(step.generation);
  }
  EXPECT_EQ(attempts, (std::vector<std::int64_t>{1, 1, 1, 2, 1, 1, 1, 1}));
  EXPECT_EQ(generations, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 1, 1}));
}

TEST(Recovery, ALostHostIsMissedByItsHeartbeats) {
  std::vector<std::string> faults = crash(2, 5, "BACKWARD");
  faults.emplace_back("faults.crash[0].kind=HOST");
  faults.emplace_back("recovery.heartbeat_timeout=7ms");
  faults.emplace_back("recovery.restart_delay=1ms");
  const TrainingRecord record = run_training(capstone(faults));
  expect_same_job(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].cause, "rank 2 was lost with its host");
  // It says that it lives in every third of the timeout: for the last time one third after the start.
  const Duration third = Duration::picoseconds(2'333'333'333);
  EXPECT_GT(record.recoveries[0].failed, TimePoint::at(third));
  EXPECT_LT(record.recoveries[0].failed, TimePoint::at(third * 2));
  EXPECT_EQ(record.recoveries[0].detected, TimePoint::at(third + Duration::microseconds(5 + 7000)));
  EXPECT_EQ(record.recoveries[0].restarted - record.recoveries[0].detected, Duration::microseconds(1005));
}

TEST(Recovery, AJobOfOneRankComesBackToo) {
  const std::vector<std::string> one = {"cluster.ranks=1"};
  std::vector<std::string> faults = crash(0, 5, "OPTIMIZER");
  faults.insert(faults.end(), one.begin(), one.end());
  const TrainingRecord record = run_training(capstone(faults));
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.weights_sha256, run_training(capstone(one)).weights_sha256);
}

// Whoever hangs, wherever, one after the other or all at once: a rank that waits notices, or else an agent.
TEST(Recovery, AHangIsNoticedAlthoughNobodyWaitsForIt) {
  const std::vector<std::string> phases = {"DATA", "FORWARD", "BACKWARD", "REDUCE", "OPTIMIZER", "GATHER"};
  for (const int ranks : {1, 2, 4}) {
    const std::vector<std::string> plain = {"cluster.ranks=" + std::to_string(ranks), "recovery.collective_timeout=3ms",
                                            "recovery.restart_delay=1ms"};
    const std::string weights = run_training(capstone(plain)).weights_sha256;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      std::vector<std::string> all = plain;
      for (int rank = 0; rank < ranks; ++rank) {
        const std::string field = "faults.hang[" + std::to_string(rank) + "]";
        all.push_back(field + ".rank=" + std::to_string(rank));
        all.push_back(field + ".at.step=5");
        all.push_back(field + ".at.phase=" + phases[rank % 2 == 0 ? i : 0]);
      }
      const TrainingRecord record = run_training(capstone(all));
      ASSERT_EQ(record.outcome, Outcome::kDone) << ranks << " ranks, " << phases[i] << ": " << record.failure;
      EXPECT_EQ(record.weights_sha256, weights);
      EXPECT_GE(record.recoveries.size(), 1U);
    }
  }
}

TEST(Recovery, AHangOfTheOnlyRankIsNoticedAsLateAsAWatchdogWould) {
  const TrainingRecord record =
      run_training(capstone({"cluster.ranks=1", "cluster.network.latency=5us", "recovery.collective_timeout=3ms",
                             "faults.hang[0].rank=0", "faults.hang[0].at.step=5", "faults.hang[0].at.phase=FORWARD"}));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].cause, "rank 0 hung, and no rank was left that waited for it");
  EXPECT_EQ((record.recoveries[0].detected - record.recoveries[0].failed).ps(), 3'005'000'000);
}

TEST(Recovery, WithoutAWatchdogAHangOfTheOnlyRankIsADeadlock) {
  const TrainingRecord record =
      run_training(capstone({"cluster.ranks=1", "recovery.collective_timeout=0ps", "faults.hang[0].rank=0",
                             "faults.hang[0].at.step=5", "faults.hang[0].at.phase=FORWARD"}));
  EXPECT_EQ(record.outcome, Outcome::kDeadlock);
}

TEST(Recovery, SeveralRanksAtOnceAreOneRecovery) {
  std::vector<std::string> faults;
  for (const int rank : {0, 3, 1}) {
    const std::string field = "faults.crash[" + std::to_string(faults.size() / 2) + "]";
    faults.push_back(field + ".rank=" + std::to_string(rank));
    faults.push_back(field + ".time=850us");
  }
  const TrainingRecord record = run_training(capstone(faults));
  expect_same_job(record);
  EXPECT_EQ(record.faults.size(), 3U);
  EXPECT_EQ(record.recoveries.size(), 1U);
}

TEST(Recovery, IsGivenUpWhenItsRestartsAreUsedUp) {
  std::vector<std::string> faults = crash(0, 5, "BACKWARD");
  for (const std::string& more : crash(3, 7, "DATA", 1)) faults.push_back(more);
  faults.emplace_back("recovery.max_restarts=1");
  const TrainingRecord record = run_training(capstone(faults));
  EXPECT_EQ(record.outcome, Outcome::kFailed);
  EXPECT_EQ(record.failure, "rank 3 crashed, and the 1 restarts that recovery allows are used");
  EXPECT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.weights_sha256, "");
  EXPECT_EQ(record.steps.back().report.step, 6);
}

TEST(Recovery, GoesOnWithoutCheckpointsFromTheStart) {
  Scenario scenario = capstone(crash(2, 7, "REDUCE"));
  scenario.train.checkpoint.every_steps = 0;
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.weights_sha256, fault_free().weights_sha256);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 0);
  EXPECT_EQ(record.recoveries[0].last_step, 6);
  EXPECT_FALSE(record.recoveries[0].from_checkpoint);
}

TEST(Recovery, AContinuedRunComesBackToWhatItContinuedFrom) {
  const TrainingRecord& whole = fault_free();
  ResumeFrom resume;
  resume.step = 3;
  for (const CheckpointRecord& checkpoint : whole.checkpoints) {
    if (checkpoint.step == 3) resume.files = checkpoint.files;
  }
  ASSERT_FALSE(resume.files.empty());
  const TrainingRecord record = run_training(capstone(crash(1, 5, "GATHER")), resume);
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.weights_sha256, whole.weights_sha256);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 3);
  ASSERT_EQ(record.steps.size(), 5U);
  EXPECT_EQ(record.steps.front().report.step, 4);
}

TEST(Recovery, HooksHearOfItWhenTrainingGoesOn) {
  int heard = 0;
  TrainingHooks hooks;
  hooks.on_recovery = [&heard](const RecoveryRecord& recovery) {
    ++heard;
    EXPECT_EQ(recovery.resumed_step, 3);
  };
  run_training(capstone(crash(1, 5, "GATHER")), std::nullopt, hooks);
  EXPECT_EQ(heard, 1);
}

// D3 at the level of every state: the last attempt of each step has the digests of the run that never failed.
TEST(Recovery, EveryStateOfTheStepsThatStandIsThatOfTheRunThatNeverFailed) {
  class LastAttempts : public EventListener {
   public:
    void on_record(const EventRecord& record) override {
      if (record.kind != EventKind::kState || record.step == 0) return;
      digests_[{record.step, record.rank, static_cast<int>(record.component), record.index, record.offset}] =
          record.digest;
    }
    using Key = std::tuple<std::int64_t, int, int, int, std::int64_t>;
    std::map<Key, Digest128> digests_;
  };
  LastAttempts whole;
  LastAttempts recovered;
  TrainingHooks hooks;
  hooks.listeners = {&whole};
  run_training(capstone(), std::nullopt, hooks);
  hooks.listeners = {&recovered};
  run_training(capstone(crash(3, 8, "OPTIMIZER")), std::nullopt, hooks);
  EXPECT_GT(whole.digests_.size(), 1000U);
  EXPECT_EQ(whole.digests_, recovered.digests_);
}

// A rank that does not wait for anything after its address still dies there: the last phases of the last step of a job
// that gathers nothing.
TEST(Recovery, ACrashStrikesARankThatHasNothingMoreToWaitFor) {
  for (const char* layout : {"train.zero_stage=0", "cluster.ranks=1"}) {
    for (const char* phase : {"GATHER", "OPTIMIZER"}) {
      SCOPED_TRACE(std::string(layout) + ", " + phase);
      std::vector<std::string> changes = crash(0, 8, phase);
      changes.emplace_back(layout);
      changes.emplace_back("train.zero_stage=0");
      const TrainingRecord record = run_training(capstone(changes));
      EXPECT_EQ(record.outcome, Outcome::kDone);
      EXPECT_EQ(record.faults.size(), 1U);
      EXPECT_EQ(record.recoveries.size(), 1U);
      EXPECT_EQ(record.weights_sha256, run_training(capstone({layout, "train.zero_stage=0"})).weights_sha256);
    }
  }
}

TEST(Recovery, TwoCrashesOfOneRankAreTwoRecoveries) {
  std::vector<std::string> faults = crash(2, 5, "GATHER");
  for (const std::string& more : crash(2, 6, "DATA", 1)) faults.push_back(more);
  faults.emplace_back("train.zero_stage=0");
  const TrainingRecord record = run_training(capstone(faults));
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.faults.size(), 2U);
  EXPECT_EQ(record.recoveries.size(), 2U);
}

TEST(Recovery, OfSeveralFailuresTheSupervisorActsOnTheOneItHearsOfFirst) {
  const TrainingRecord record =
      run_training(capstone({"faults.crash[0].rank=2", "faults.crash[0].time=700us", "faults.crash[0].kind=HOST",
                             "faults.crash[1].rank=1", "faults.crash[1].time=5ms"}));
  expect_same_job(record);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].cause, "rank 1 crashed");
  EXPECT_EQ(record.recoveries[0].failed, TimePoint::at(Duration::microseconds(700)));
  EXPECT_EQ(record.recoveries[0].detected, TimePoint::at(Duration::microseconds(5005)));
}

TEST(Recovery, AFaultThatNeverStrikesIsTold) {
  const TrainingRecord late = run_training(capstone({"faults.crash[0].rank=2", "faults.crash[0].time=1000s"}));
  EXPECT_EQ(late.outcome, Outcome::kDone);
  EXPECT_THAT(late.faults, ::testing::IsEmpty());
  EXPECT_THAT(late.faults_not_struck, ::testing::ElementsAre(::testing::HasSubstr("the crash of rank 2 at 1000 s")));
  std::vector<std::string> faults = crash(0, 5, "BACKWARD");
  faults.insert(faults.end(), {"faults.crash[1].rank=1", "faults.crash[1].time=5s"});  // while all ranks are down
  const TrainingRecord down = run_training(capstone(faults));
  expect_same_job(down);
  EXPECT_EQ(down.recoveries.size(), 1U);
  EXPECT_EQ(down.faults_not_struck.size(), 1U);
}

// What a continued run starts with is compared with what was saved, also where it is restarted before all have started.
TEST(Recovery, AContinuedRunThatFailsAtItsStartIsStillComparedWithWhatWasSaved) {
  int continued = 0;
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> changes = crash(rank, 7, "DATA");
    changes.emplace_back("cluster.network.jitter=2us");
    Scenario scenario = capstone(changes);
    scenario.expect.resume_from = 6;
    const TrainingRecord record = run_training(scenario);
    for (const Verdict& verdict : judge(scenario, record)) EXPECT_TRUE(verdict.held) << verdict.detail;
    ++continued;
  }
  std::printf("%d continued runs\n", continued);
}

// Everything a run records, to be read as often as one likes.
class Recorded : public EventListener {
 public:
  void on_record(const EventRecord& record) override { records_.push_back(record); }
  std::unique_ptr<RecordSource> open() const {
    auto queue = std::make_unique<RecordQueue>();
    for (const EventRecord& record : records_) queue->on_record(record);
    return queue;
  }

 private:
  std::vector<EventRecord> records_;
};

// D3, as `rehearse diff` compares: of a job that failed while it started, in its first steps, or after a checkpoint.
TEST(Recovery, NoStateOfTheLastAttemptsDiffers) {
  Recorded whole;
  TrainingHooks hooks;
  hooks.listeners = {&whole};
  run_training(capstone(), std::nullopt, hooks);
  int compared = 0;
  const auto compare = [&](const std::vector<std::string>& faults) {
    Recorded failed;
    TrainingHooks failed_hooks;
    failed_hooks.listeners = {&failed};
    expect_same_job(run_training(capstone(faults), std::nullopt, failed_hooks));
    LastAttempts a([&whole] { return whole.open(); });
    LastAttempts b([&failed] { return failed.open(); });
    const auto difference = first_state_difference(a, b);
    EXPECT_FALSE(difference.has_value()) << "step " << difference->step << ", rank " << difference->rank;
    ++compared;
  };
  compare({"faults.crash[0].rank=1", "faults.crash[0].time=1us"});
  for (int rank = 0; rank < 4; ++rank) {
    compare(crash(rank, 1, "DATA"));
    compare(crash(rank, 5, "OPTIMIZER"));
  }
  std::printf("%d runs compared\n", compared);
}

}  // namespace
}  // namespace rehearse
