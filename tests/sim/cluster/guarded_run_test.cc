// Runs whose guards react: counters, trust, limits, and what a wrong policy comes to.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

// The capstone with guards, faults and a checkpoint every 5 steps.
Scenario guarded(const std::string& guards, const std::string& faults, const std::vector<std::string>& overrides = {}) {
  const std::string path = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";
  std::string text = read_real_file(path, kScenarioFileLimit);
  text.resize(text.find("expect {"));
  text.replace(text.find("adam {"), 6, "guards { " + guards + " } adam {");
  text += faults.empty() ? "" : "faults { " + faults + " }\n";
  LoadOptions options;
  options.overrides = overrides;
  options.overrides.emplace_back("checkpoint.every_steps=5");
  return parse_scenario(text, path, read_real_file, options);
}

std::string weights_of(const Scenario& scenario) { return run_training(scenario).weights_sha256; }

// Wherever it strikes, a NaN ends in nobody's weights: all ranks skip together, and what they would have done is undone
// nowhere.
TEST(GuardedRun, ANanOnAnyRankIsSkippedByAll) {
  for (int rank = 0; rank < 4; ++rank) {
    for (const char* stage : {"train.zero_stage=0", "train.zero_stage=1"}) {
      const Scenario scenario = guarded("nonfinite: SKIP_STEP",
                                        "overwrite { rank: " + std::to_string(rank) +
                                            " at { step: 9 phase: REDUCE } target: GRADIENT tensor: \"head.weight\" "
                                            "index: 7 with: QUIET_NAN }",
                                        {stage});
      const TrainingRecord record = run_training(scenario);
      ASSERT_EQ(record.outcome, Outcome::kDone);
      ASSERT_EQ(record.steps.size(), 20U);
      EXPECT_TRUE(record.violations.empty());
      EXPECT_TRUE(record.steps[8].report.skipped);
      EXPECT_EQ(record.steps[8].report.applied_steps, 8);
      EXPECT_EQ(record.steps[8].parameters, record.steps[7].parameters);
      EXPECT_EQ(record.steps[9].report.batch_index, 9) << "the bad batch is used up";
      EXPECT_EQ(record.steps[19].report.applied_steps, 19);
    }
  }
}

// Trust is earned in the step after a checkpoint; the one that a run is resumed from has it, even where ranks fail
// before they have loaded it.
TEST(GuardedRun, TheCheckpointThatARunIsResumedFromIsTrustedFromTheStart) {
  for (const char* kind : {"PROCESS", "HOST"}) {
    for (const char* rank : {"0", "1", "3"}) {
      const Scenario scenario = guarded("nonfinite: SKIP_STEP", std::string("crash { kind: ") + kind +
                                                                    " rank: " + rank + " at { step: 1 phase: LOAD } }");
      std::optional<ResumeFrom> resume;
      TrainingHooks hooks;
      hooks.on_checkpoint = [&](const CheckpointRecord& checkpoint) {
        if (checkpoint.step == 10) resume = ResumeFrom{checkpoint.step, checkpoint.files};
      };
      const TrainingRecord whole = run_training(scenario, std::nullopt, hooks);
      ASSERT_TRUE(resume.has_value());
      const TrainingRecord record = run_training(scenario, resume);
      ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
      ASSERT_EQ(record.recoveries.size(), 1U) << kind << rank;
      EXPECT_TRUE(record.recoveries[0].from_checkpoint) << kind << rank;
      EXPECT_EQ(record.recoveries[0].resumed_step, 10) << kind << rank;
      EXPECT_EQ(record.weights_sha256, whole.weights_sha256);
    }
  }
}

TEST(GuardedRun, ActivationsMomentsAndLossesAreSeenToo) {
  for (const char* fault :
       {"overwrite { rank: 1 at { step: 9 phase: BACKWARD } target: ACTIVATION tensor: \"blocks.0.gelu\" index: 3 "
        "with: "
        "QUIET_NAN }",
        "overwrite { rank: 1 at { step: 9 phase: FORWARD } target: PARAMETER tensor: \"ln_f.weight\" index: 3 with: "
        "PLUS_INFINITY }",
        "overwrite { rank: 3 at { step: 9 phase: DATA } target: FIRST_MOMENT tensor: \"head.weight\" index: 3 with: "
        "QUIET_NAN }",
        "spike { rank: 2 at { step: 9 phase: REDUCE } of: LOSS factor: 100 }",
        "spike { rank: 2 at { step: 9 phase: REDUCE } of: GRADIENT factor: 1e300 }"}) {
    const TrainingRecord record =
        run_training(guarded("nonfinite: ROLLBACK loss_spike: ROLLBACK", fault, {"train.zero_stage=0"}));
    ASSERT_EQ(record.outcome, Outcome::kDone) << fault;
    EXPECT_EQ(record.recoveries.size(), 1U) << fault;
    EXPECT_EQ(record.weights_sha256, weights_of(guarded("nonfinite: ROLLBACK loss_spike: ROLLBACK", ""))) << fault;
  }
}

// Design section 7: restores step and applied_steps, and moves the batch index past the bad batches.
TEST(GuardedRun, RollbackAndSkipBatchesTrainsOnOtherData) {
  const TrainingRecord record = run_training(guarded(
      "loss_spike: ROLLBACK_AND_SKIP_BATCHES", "spike { rank: 2 at { step: 13 phase: REDUCE } of: LOSS factor: 100 }"));
  ASSERT_EQ(record.outcome, Outcome::kDone);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].kind, RecoveryRecord::Kind::kRollback);
  EXPECT_EQ(record.recoveries[0].resumed_step, 10);
  EXPECT_EQ(record.recoveries[0].skipped_batches, 3);
  ASSERT_EQ(record.steps.size(), 20U);
  EXPECT_EQ(record.steps[9].report.batch_index, 9);
  EXPECT_EQ(record.steps[10].report.batch_index, 13);
  EXPECT_EQ(record.steps[10].report.applied_steps, 11);
  EXPECT_EQ(record.steps[19].report.batch_index, 22);
}

// The schedule's own spike is there again after every rollback; the checkpoints before it come to be avoided.
TEST(GuardedRun, AScheduledSpikeStopsTheJobWithinItsLimit) {
  const TrainingRecord record =
      run_training(guarded("loss_spike: ROLLBACK", "", {"train.lr_spike.step=12", "train.lr_spike.factor=1000"}));
  EXPECT_EQ(record.outcome, Outcome::kStopped);
  EXPECT_THAT(record.failure, HasSubstr("the 3 rollbacks that are allowed are used"));
  ASSERT_EQ(record.recoveries.size(), 3U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 10);
  EXPECT_EQ(record.recoveries[1].resumed_step, 10);
  EXPECT_EQ(record.recoveries[2].resumed_step, 5) << "the same failure came after step 10 twice";
  EXPECT_EQ(record.steps.back().report.step, 12);
}

TEST(GuardedRun, StopStopsAtOnce) {
  const Scenario scenario = guarded("nonfinite: STOP",
                                    "overwrite { rank: 0 at { step: 7 phase: REDUCE } target: GRADIENT tensor: "
                                    "\"head.weight\" index: 7 with: QUIET_NAN }");
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kStopped);
  EXPECT_EQ(record.steps.size(), 6U);
  EXPECT_TRUE(record.weights_sha256.empty());
  EXPECT_EQ(exit_code_of(record, judge(scenario, record)), ExitCode::kExpectationFailed);
}

// A defect that stays: skipped as often as allowed, then back, and in the end stopped; never for ever.
TEST(GuardedRun, ADefectThatStaysStopsTheJob) {
  const TrainingRecord record = run_training(
      guarded("nonfinite: SKIP_STEP max_consecutive_skips: 2 max_rollbacks: 1",
              "overwrite { rank: 1 at { step: 7 until_step: 20 phase: REDUCE always: true } target: GRADIENT tensor: "
              "\"head.weight\" index: 7 with: QUIET_NAN }"));
  EXPECT_EQ(record.outcome, Outcome::kStopped);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].last_step, 8);
  EXPECT_EQ(record.recoveries[0].resumed_step, 5);
}

TEST(GuardedRun, WithoutCheckpointsTheJobGoesBackToTheStart) {
  const TrainingRecord record =
      run_training(guarded("loss_spike: ROLLBACK", "lr_spike { at { step: 3 phase: OPTIMIZER } factor: 1000 }"));
  ASSERT_EQ(record.outcome, Outcome::kDone);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 0);
  EXPECT_FALSE(record.recoveries[0].from_checkpoint);
  EXPECT_EQ(record.weights_sha256, weights_of(guarded("loss_spike: ROLLBACK", "")));
}

// A crash between a checkpoint and the verdict on the step after it: the checkpoint is not trusted yet.
TEST(GuardedRun, ARestartTooGoesBackToATrustedCheckpoint) {
  const TrainingRecord record =
      run_training(guarded("loss_spike: ROLLBACK", "crash { rank: 2 at { step: 11 phase: FORWARD } }"));
  ASSERT_EQ(record.outcome, Outcome::kDone);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 5);
  EXPECT_EQ(record.weights_sha256, weights_of(guarded("loss_spike: ROLLBACK", "")));
}

// Which checkpoints are trusted is lost: the job starts over rather than believe any, and says why.
TEST(GuardedRun, ADamagedListOfTrustedCheckpointsIsReported) {
  const TrainingRecord record =
      run_training(guarded("loss_spike: ROLLBACK",
                           "rot { path: \"trusted.json\" offset: 20 bit: 0 at { step: 12 phase: DATA } } "
                           "crash { rank: 2 at { step: 12 phase: BACKWARD } }"));
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 0);
  ASSERT_EQ(record.checkpoint_failures.size(), 1U);
  EXPECT_THAT(record.checkpoint_failures[0].problem,
              HasSubstr("no checkpoint is trusted: shared:checkpoints/trusted.json"));
  EXPECT_EQ(record.weights_sha256, weights_of(guarded("loss_spike: ROLLBACK", "")));
}

// The job starts afresh although checkpoints were trusted: what it saves then has to earn its trust anew.
TEST(GuardedRun, ANameOnTheListOfTrustedCheckpointsIsNoTrustForWhoeverTakesItsPlace) {
  const std::string back_to_start =
      "spike { rank: 1 at { step: 16 phase: REDUCE } of: LOSS factor: 1000 } "
      "rot { path: \"step_000010/manifest.json\" offset: 20 bit: 0 at { step: 16 phase: DATA } } ";
  const std::vector<std::string> keep = {"checkpoint.keep=1"};
  const TrainingRecord once = run_training(guarded("loss_spike: ROLLBACK", back_to_start, keep));
  ASSERT_EQ(once.recoveries.size(), 1U);
  ASSERT_EQ(once.recoveries[0].resumed_step, 0);
  // Of the second time: after the save of step 5, before the verdict on step 6.
  const StepReport& sixth = once.steps[5].report;
  const Duration part = Duration::picoseconds((sixth.ended - sixth.began).ps() / 8);
  const std::string crash =
      "crash { rank: 2 time: \"" + std::to_string((sixth.began + part).since_start().ps()) + "ps\" }";
  const TrainingRecord twice = run_training(guarded("loss_spike: ROLLBACK", back_to_start + crash, keep));
  ASSERT_EQ(twice.recoveries.size(), 2U);
  EXPECT_EQ(twice.recoveries[1].last_step, 5);
  EXPECT_EQ(twice.recoveries[1].resumed_step, 0);
}

// A disk that cannot be read may be read another time: nothing is given up for it.
TEST(GuardedRun, AListOfTrustedCheckpointsThatCannotBeReadCostsARestart) {
  const TrainingRecord record = run_training(guarded("loss_spike: ROLLBACK",
                                                     "io_error { operation: READ path: \"trusted.json\" } "
                                                     "crash { rank: 2 at { step: 12 phase: BACKWARD } }"));
  ASSERT_EQ(record.recoveries.size(), 2U);
  EXPECT_THAT(record.recoveries[1].cause, HasSubstr("trusted.json"));
  EXPECT_EQ(record.recoveries[1].resumed_step, 10);
  EXPECT_EQ(record.weights_sha256, weights_of(guarded("loss_spike: ROLLBACK", "")));
}

// Guards that never speak cost no bits, and their history comes back with the checkpoint.
TEST(GuardedRun, AContinuedRunJudgesAsTheWholeRunDid) {
  const Scenario scenario = guarded("loss_spike: ROLLBACK spike_factor: 1.0001 median_window: 3 max_rollbacks: 0", "");
  std::optional<ResumeFrom> resume;
  TrainingHooks hooks;
  hooks.on_checkpoint = [&resume](const CheckpointRecord& checkpoint) {
    if (checkpoint.step != 10) return;
    resume.emplace();
    resume->step = checkpoint.step;
    resume->files = checkpoint.files;
  };
  const TrainingRecord whole = run_training(scenario, std::nullopt, hooks);
  ASSERT_TRUE(resume.has_value());
  const std::string manifest(resume->files.at("manifest.json").text());
  EXPECT_THAT(manifest, HasSubstr("\"guards\""));
  const TrainingRecord continued = run_training(scenario, resume);
  EXPECT_EQ(continued.outcome, whole.outcome);
  EXPECT_EQ(continued.weights_sha256, whole.weights_sha256);
}

// Somebody's own rules, and wrong ones: it updates with a NaN on every other question. The ranks go different ways and
// the invariants say so.
class MoodyPolicy : public StandardPolicy {
 public:
  using StandardPolicy::StandardPolicy;
  Judgement judge(const StepReport& report, const GuardHistory& history, std::int64_t rollbacks) const override {
    Judgement judgement = StandardPolicy::judge(report, history, rollbacks);
    if (judgement.reaction == Reaction::kSkipStep && ++asked_ % 2 == 0) judgement.reaction = Reaction::kGoOn;
    return judgement;
  }

 private:
  mutable int asked_ = 0;
};

TEST(GuardedRun, APolicyThatRanksDisagreeAboutIsCaught) {
  const Scenario scenario = guarded("nonfinite: SKIP_STEP",
                                    "overwrite { rank: 1 at { step: 9 phase: REDUCE } target: GRADIENT tensor: "
                                    "\"head.weight\" index: 7 with: QUIET_NAN }",
                                    {"train.zero_stage=0", "recovery.max_restarts=0"});
  const MoodyPolicy policy(scenario.train.guards, 0, Duration());
  TrainingHooks hooks;
  hooks.policy = &policy;
  const TrainingRecord record = run_training(scenario, std::nullopt, hooks);
  EXPECT_TRUE(!record.violations.empty() || record.outcome != Outcome::kDone);
  ASSERT_FALSE(record.violations.empty());
  EXPECT_THAT(record.violations[0], HasSubstr("replicas differ: after step 9"));
}

// It goes back to the newest, whatever anybody thinks of it: the poisoned weights are loaded again and again.
class CredulousPolicy : public StandardPolicy {
 public:
  using StandardPolicy::StandardPolicy;
  bool trusts_at_once() const override { return true; }
  std::vector<std::int64_t> order(const std::vector<RecoveryPoint>& points) const override {
    std::vector<std::int64_t> steps;
    for (const RecoveryPoint& point : points) steps.insert(steps.begin(), point.step);
    return steps;
  }
};

TEST(GuardedRun, APolicyThatTrustsTooSoonIsCaught) {
  const Scenario scenario =
      guarded("loss_spike: ROLLBACK", "lr_spike { at { step: 10 phase: OPTIMIZER } factor: 1000 }");
  const CredulousPolicy policy(scenario.train.guards, 8, Duration::seconds(1));
  TrainingHooks hooks;
  hooks.policy = &policy;
  const TrainingRecord record = run_training(scenario, std::nullopt, hooks);
  EXPECT_EQ(record.outcome, Outcome::kStopped);
  for (const RecoveryRecord& recovery : record.recoveries) EXPECT_EQ(recovery.resumed_step, 10);
}

// Trust alone is not what saves a job: a checkpoint that leads to the same failure twice is left alone.
class HastyPolicy : public StandardPolicy {
 public:
  using StandardPolicy::StandardPolicy;
  bool trusts_at_once() const override { return true; }
};

TEST(GuardedRun, ACheckpointThatLeadsToTheSameFailureTwiceIsAvoided) {
  const Scenario scenario =
      guarded("loss_spike: ROLLBACK", "lr_spike { at { step: 10 phase: OPTIMIZER } factor: 1000 }");
  const HastyPolicy policy(scenario.train.guards, 8, Duration::seconds(1));
  TrainingHooks hooks;
  hooks.policy = &policy;
  const TrainingRecord record = run_training(scenario, std::nullopt, hooks);
  ASSERT_EQ(record.outcome, Outcome::kDone);
  ASSERT_EQ(record.recoveries.size(), 3U);
  EXPECT_EQ(record.recoveries[2].resumed_step, 5);
  EXPECT_EQ(record.weights_sha256, weights_of(guarded("loss_spike: ROLLBACK", "")));
}

}  // namespace
}  // namespace rehearse
