// Saving beside training: the files are those of a save that training waits for, and nothing is lost when the job dies
// or goes back in the middle of one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A disk so slow that a save takes several steps.
const std::vector<std::string> kSlowDisk = {"checkpoint.every_steps=5", "checkpoint.keep=0",
                                            "cluster.storage.latency=3us", "recovery.restart_delay=1ms",
                                            "recovery.heartbeat_timeout=2ms"};

Scenario capstone(std::vector<std::string> overrides, const std::string& faults = "", const std::string& guards = "") {
  const std::string path = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";
  std::string text = read_real_file(path, kScenarioFileLimit);
  text.resize(text.find("expect {"));
  if (!guards.empty()) text.replace(text.find("adam {"), 6, "guards { " + guards + " } adam {");
  text += faults.empty() ? "" : "faults { " + faults + " }\n";
  LoadOptions options;
  options.overrides = kSlowDisk;
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  return parse_scenario(text, path, read_real_file, options);
}

Scenario beside(const std::string& faults = "", const std::string& guards = "",
                std::vector<std::string> overrides = {}) {
  overrides.emplace_back("checkpoint.asynchronous=true");
  return capstone(std::move(overrides), faults, guards);
}

std::vector<std::int64_t> saved_steps(const TrainingRecord& record) {
  std::vector<std::int64_t> steps;
  for (const CheckpointRecord& checkpoint : record.checkpoints) steps.push_back(checkpoint.step);
  return steps;
}

// All but the run state, which says when it was and under which settings.
void expect_same_files(const TrainingRecord& a, const TrainingRecord& b) {
  ASSERT_EQ(saved_steps(a), saved_steps(b));
  for (std::size_t i = 0; i < a.checkpoints.size(); ++i) {
    ASSERT_EQ(a.checkpoints[i].files.size(), b.checkpoints[i].files.size());
    for (const auto& [name, data] : a.checkpoints[i].files) {
      if (name == "run_state.json" || name == "scenario.textproto") continue;
      EXPECT_EQ(data.text(), b.checkpoints[i].files.at(name).text()) << name;
    }
  }
}

TEST(AsyncSave, TheFilesAreThoseOfASaveThatTrainingWaitsFor) {
  for (const char* stage : {"train.zero_stage=0", "train.zero_stage=1"}) {
    const TrainingRecord waits = run_training(capstone({stage}));
    const TrainingRecord goes_on = run_training(beside("", "", {stage}));
    EXPECT_THAT(saved_steps(waits), ElementsAre(5, 10, 15, 20));
    expect_same_files(waits, goes_on);
    EXPECT_EQ(waits.weights_sha256, goes_on.weights_sha256);
    EXPECT_LT(goes_on.simulated, waits.simulated);
    EXPECT_TRUE(goes_on.violations.empty());
  }
}

// Slower than the cadence: the next save waits for the one before, so that none is left out.
TEST(AsyncSave, ASlowDiskHoldsTheTrainingUp) {
  const std::vector<std::string> slow = {"cluster.storage.latency=1ms", "checkpoint.every_steps=1"};
  std::vector<std::string> asynchronous = slow;
  const TrainingRecord waits = run_training(capstone(slow));
  const TrainingRecord goes_on = run_training(beside("", "", asynchronous));
  EXPECT_EQ(saved_steps(goes_on).size(), 20U);
  expect_same_files(waits, goes_on);
  // All but the last step's save could run beside a step; no more than one step's time a save is won.
  const Duration won = waits.simulated - goes_on.simulated;
  Duration steps;
  for (const StepRecord& step : waits.steps) steps = steps + step.step_seconds;
  EXPECT_GT(won, Duration());
  EXPECT_LE(won, steps);
}

TEST(AsyncSave, ACrashAtAnyEventEndsWithTheSameBytes) {
  const Scenario scenario = beside("", "", {"cluster.storage.latency=20us"});
  const TrainingRecord whole = run_training(scenario);
  TrainingHooks quiet;
  quiet.log_events = false;
  int crashes = 0;
  for (std::uint64_t at = 0; at < whole.events; at += 211) {
    for (const int victim : {0, 2}) {
      TrainingSession session(scenario, std::nullopt, quiet);
      if (at > 0) session.advance(at);
      session.crash(victim, crashes % 2 == 0 ? CrashKind::kProcess : CrashKind::kHost);
      while (session.advance(1 << 20)) {
      }
      const TrainingRecord record = session.finish();
      ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure << " after event " << at;
      ASSERT_EQ(record.weights_sha256, whole.weights_sha256) << "after event " << at;
      ASSERT_TRUE(record.violations.empty());
      ASSERT_EQ(saved_steps(record), saved_steps(whole)) << "after event " << at;
      ++crashes;
    }
  }
  EXPECT_GT(crashes, 15);
}

// The job goes back while a save is under way: it ends first, and is not what the job goes back to.
TEST(AsyncSave, ARollbackWaitsForTheSaveThatIsUnderWay) {
  const TrainingRecord record =
      run_training(beside("lr_spike { at { step: 10 phase: OPTIMIZER } factor: 1000 }", "loss_spike: ROLLBACK"));
  ASSERT_EQ(record.outcome, Outcome::kDone);
  ASSERT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, 5);
  EXPECT_EQ(record.weights_sha256, run_training(beside("", "loss_spike: ROLLBACK")).weights_sha256);
  EXPECT_THAT(saved_steps(record), ElementsAre(5, 10, 15, 20));
}

// With guards a checkpoint is trusted a step after it is there, which may be while the next one is written: what the
// rotation of that one leaves must have something to go back to at any time.
TEST(AsyncSave, RotationLeavesWhatIsTrustedWhileASaveIsUnderWay) {
  for (const char* keep : {"checkpoint.keep=1", "checkpoint.keep=2"}) {
    for (const char* latency : {"cluster.storage.latency=20us", "cluster.storage.latency=1ms"}) {
      for (int step = 12; step <= 28; step += 4) {
        const TrainingRecord record = run_training(
            beside("spike { rank: 1 at { step: " + std::to_string(step) + " phase: REDUCE } of: LOSS factor: 1000 }",
                   "loss_spike: ROLLBACK", {"train.steps=30", keep, latency}));
        ASSERT_EQ(record.outcome, Outcome::kDone);
        ASSERT_EQ(record.recoveries.size(), 1U);
        EXPECT_GE(record.recoveries[0].resumed_step, 5 * ((step - 1) / 5) - 10) << step << keep << latency;
        EXPECT_TRUE(record.recoveries[0].from_checkpoint || step < 17) << step << keep << latency;
      }
    }
  }
}

TEST(AsyncSave, AFullDiskCostsTheCheckpointAlone) {
  const TrainingRecord record = run_training(beside("disk_full { from_step: 10 until_step: 14 }"));
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.failed_saves, 1);
  EXPECT_THAT(saved_steps(record), ElementsAre(5, 15, 20));
  EXPECT_EQ(record.weights_sha256, run_training(beside()).weights_sha256);
}

// What the optimizer writes while the files are written is in none of them.
TEST(AsyncSave, ACheckpointContinuesToTheSameBytes) {
  const Scenario scenario = beside();
  std::map<std::int64_t, ResumeFrom> saved;
  TrainingHooks hooks;
  hooks.on_checkpoint = [&saved](const CheckpointRecord& checkpoint) {
    saved[checkpoint.step] = ResumeFrom{checkpoint.step, checkpoint.files};
  };
  const TrainingRecord whole = run_training(scenario, std::nullopt, hooks);
  for (const std::int64_t step : {5, 10, 15}) {
    const TrainingRecord continued = run_training(scenario, saved.at(step));
    EXPECT_EQ(continued.weights_sha256, whole.weights_sha256) << step;
  }
}

}  // namespace
}  // namespace rehearse
