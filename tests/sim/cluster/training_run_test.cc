#include "sim/cluster/training_run.h"

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/run_state.h"
#include "sim/cluster/verdicts.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

const std::string kCapstone = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";

Scenario capstone(std::vector<std::string> overrides = {}) {
  LoadOptions options;
  options.overrides = std::move(overrides);
  return load_scenario(kCapstone, options);
}

const Verdict& find(const std::vector<Verdict>& verdicts, const std::string& name) {
  for (const Verdict& verdict : verdicts) {
    if (verdict.name == name) return verdict;
  }
  ADD_FAILURE() << "no verdict on " << name;
  return verdicts.front();
}

TEST(TrainingRun, CapstoneTrainsAndItsCheckpointContinuesByteEqual) {
  const Scenario scenario = capstone();
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone);
  ASSERT_EQ(record.steps.size(), 20U);
  ASSERT_EQ(record.checkpoints.size(), 2U);
  EXPECT_EQ(record.checkpoints[0].step, 10);
  for (const RankMemory& memory : record.memory) EXPECT_EQ(memory.optimizer.count(), 89'472);
  const std::vector<Verdict> verdicts = judge(scenario, record);
  for (const Verdict& verdict : verdicts) EXPECT_TRUE(verdict.held) << verdict.name << ": " << verdict.detail;
  EXPECT_EQ(exit_code_of(record, verdicts), ExitCode::kDone);
}

// Invariant (a): in every seed each of the 20 mean losses is below the one before.
TEST(TrainingRun, CapstoneLossFallsAtEveryStepForEverySeedTried) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    LoadOptions options;
    options.seed = seed;
    const TrainingRecord record = run_training(load_scenario(kCapstone, options));
    for (std::size_t i = 1; i < record.steps.size(); ++i) {
      EXPECT_LT(record.steps[i].report.loss, record.steps[i - 1].report.loss) << "seed " << seed << " step " << i + 1;
    }
  }
}

TEST(TrainingRun, SecondRunHasTheSameBitsAndEvents) {
  const TrainingRecord a = run_training(capstone());
  const TrainingRecord b = run_training(capstone());
  EXPECT_EQ(a.weights_sha256, b.weights_sha256);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.simulated, b.simulated);
}

// Contract D2: time decides no bit.
TEST(TrainingRun, NetworkDeviceAndStorageChangeTimesAndNoBits) {
  const TrainingRecord base = run_training(capstone());
  const std::vector<std::vector<std::string>> changes = {
      {"cluster.network.latency=50us"}, {"cluster.network.bandwidth=14Gbps"}, {"cluster.network.jitter=3us"},
      {"cluster.device.preset=cpu"},    {"cluster.storage.latency=1ms"},
  };
  for (const auto& change : changes) {
    const TrainingRecord other = run_training(capstone(change));
    EXPECT_EQ(other.weights_sha256, base.weights_sha256) << change[0];
    EXPECT_NE(other.simulated, base.simulated) << change[0];
    for (std::size_t i = 0; i < base.steps.size(); ++i) {
      EXPECT_EQ(other.steps[i].report.loss, base.steps[i].report.loss);
      EXPECT_EQ(other.steps[i].parameters, base.steps[i].parameters);
    }
    // Shards, model and manifest never depend on time.
    for (std::size_t c = 0; c < base.checkpoints.size(); ++c) {
      for (const char* file :
           {"manifest.json", "model.safetensors", "shard_00000.safetensors", "shard_00003.safetensors"}) {
        EXPECT_EQ(other.checkpoints[c].files.at(file).text(), base.checkpoints[c].files.at(file).text()) << file;
      }
    }
  }
}

// From every step, with accumulation, clipping, a schedule and a spike on the way, and units that nothing divides.
TEST(TrainingRun, ContinuesByteEqualFromEveryCheckpoint) {
  const std::vector<std::string> common = {"checkpoint.every_steps=1",
                                           "checkpoint.keep=2",
                                           "train.steps=8",
                                           "train.accumulate=2",
                                           "train.clip_norm=0.5",
                                           "train.bucket=20KB",
                                           "train.schedule.warmup_steps=3",
                                           "train.schedule.cosine=true",
                                           "train.lr_spike.step=5",
                                           "train.lr_spike.factor=3",
                                           "cluster.ranks=3"};
  for (int step = 1; step <= 7; ++step) {
    for (const char* stage : {"train.zero_stage=0", "train.zero_stage=1"}) {
      std::vector<std::string> overrides = common;
      overrides.emplace_back("expect.resume_from=" + std::to_string(step));
      overrides.emplace_back(stage);
      Scenario scenario = capstone(overrides);
      scenario.expect.loss_falls = false;
      const TrainingRecord record = run_training(scenario);
      const std::vector<Verdict> verdicts = judge(scenario, record);
      for (const Verdict& verdict : verdicts)
        EXPECT_TRUE(verdict.held) << step << " " << verdict.name << ": " << verdict.detail;
      // Rotation keeps two.
      ASSERT_EQ(record.checkpoints.size(), 2U);
      EXPECT_EQ(record.checkpoints[0].step, 7);
    }
  }
}

TEST(Verdicts, AnExpectationThatFailsIsNamedAndExitsOne) {
  const Scenario scenario = capstone({"train.adam.lr=5.0"});  // far too high
  const TrainingRecord record = run_training(scenario);
  const std::vector<Verdict> verdicts = judge(scenario, record);
  const Verdict& loss = find(verdicts, "loss");
  EXPECT_FALSE(loss.held);
  EXPECT_NE(loss.detail.find("not below"), std::string::npos) << loss.detail;
  EXPECT_TRUE(find(verdicts, "resume_from").held);
  EXPECT_EQ(exit_code_of(record, verdicts), ExitCode::kExpectationFailed);
}

TEST(Verdicts, OtherWeightsAreNotTheSame) {
  Scenario scenario = capstone();
  scenario.expect = Expectations();
  WeightsReference reference;
  reference.text = "sha256:0";
  reference.sha256 = std::string(64, '0');
  scenario.expect.same_weights_as = reference;
  const TrainingRecord record = run_training(scenario);
  EXPECT_FALSE(find(judge(scenario, record), "same_weights_as").held);
}

TEST(Verdicts, ADamagedCheckpointDoesNotContinue) {
  const Scenario scenario = capstone();
  const TrainingRecord record = run_training(scenario);
  ASSERT_TRUE(record.resume_checkpoint.has_value());
  for (const auto& [name, data] : record.resume_checkpoint->files) {
    ResumeFrom resume;
    resume.step = 10;
    resume.files = record.resume_checkpoint->files;
    std::string text(data.text());
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 4);
    resume.files[name] = FileData::copy_of(text);
    EXPECT_THROW(run_training(scenario, resume), InputError) << name;
  }
}

// Whole and sealed, but not what this job would have written.
TEST(Verdicts, AnEditedManifestWithARightChecksumIsRefused) {
  const Scenario scenario = capstone();
  const TrainingRecord record = run_training(scenario);
  ASSERT_TRUE(record.resume_checkpoint.has_value());
  const std::string text(record.resume_checkpoint->files.at("manifest.json").text());
  for (const int edit : {0, 1, 2}) {
    Manifest manifest = parse_manifest(text, "manifest.json");
    if (edit == 0) manifest.schedule.lr = 0.02;
    if (edit == 1) manifest.step = 1'000'000;
    if (edit == 2) manifest.schedule.total_steps = 60;
    ResumeFrom resume;
    resume.step = 10;
    resume.files = record.resume_checkpoint->files;
    const std::string edited = write_manifest(manifest);
    resume.files["manifest.json"] = FileData::copy_of(edited);
    RunState state = parse_run_state(resume.files.at("run_state.json").text(), "run_state.json");
    state.manifest_sha256 = sha256_hex(edited);
    resume.files["run_state.json"] = FileData::copy_of(write_run_state(state));
    EXPECT_THROW(run_training(scenario, resume), InputError) << edit;
  }
}

// A continuation whose losses differ must be seen: the checkpoint's own moments, whole and signed but of another run.
TEST(Verdicts, ACheckpointOfAnotherSeedIsRefused) {
  LoadOptions options;
  options.seed = 77;
  const TrainingRecord other = run_training(load_scenario(kCapstone, options));
  TrainingRecord record = run_training(capstone());
  record.resume_checkpoint = other.resume_checkpoint;
  EXPECT_THROW(judge(capstone(), record), InputError);
}

Verdict made(const char* name, bool held) {
  Verdict verdict;
  verdict.name = name;
  verdict.held = held;
  return verdict;
}

TEST(ExitCode, FollowsOutcomeAndExpectations) {
  TrainingRecord record;
  EXPECT_EQ(exit_code_of(record, {made("outcome", true), made("loss", true)}), ExitCode::kDone);
  EXPECT_EQ(exit_code_of(record, {made("outcome", true), made("loss", false)}), ExitCode::kExpectationFailed);
  record.outcome = Outcome::kFailed;
  EXPECT_EQ(exit_code_of(record, {made("outcome", false)}), ExitCode::kExpectationFailed);
  record.outcome = Outcome::kDeadlock;
  EXPECT_EQ(exit_code_of(record, {made("outcome", false)}), ExitCode::kDeadlock);
  EXPECT_EQ(exit_code_of(record, {made("outcome", true)}), ExitCode::kDone) << "it was expected";
  EXPECT_EQ(exit_code_of(record, {made("outcome", true), made("invariants", false)}), ExitCode::kExpectationFailed);
  record.outcome = Outcome::kInterrupted;
  EXPECT_EQ(exit_code_of(record, {made("outcome", true)}), ExitCode::kInterrupted);
}

// Nothing on the way to the disk may fail in silence.
TEST(Verdicts, ASaveThatFailedIsNamedThoughTheRunIsDone) {
  const Scenario scenario = capstone();
  TrainingRecord record = run_training(scenario);
  record.checkpoint_failures.push_back(CheckpointFailure{10, "write shared:checkpoints: no space left"});
  const std::vector<Verdict> verdicts = judge(scenario, record);
  EXPECT_FALSE(find(verdicts, "checkpoints").held);
  EXPECT_EQ(exit_code_of(record, verdicts), ExitCode::kExpectationFailed);
}

// A model that is no longer finite is trained on, and never saved.
TEST(TrainingRun, NonFiniteStateIsNotCheckpointed) {
  const Scenario scenario = capstone({"train.adam.lr=1e30"});
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.steps.size(), 20U);
  EXPECT_TRUE(record.checkpoints.empty());
  ASSERT_EQ(record.checkpoint_failures.size(), 2U);
  EXPECT_NE(text_of(record.checkpoint_failures[0]).find("step 10"), std::string::npos);
  EXPECT_EQ(exit_code_of(record, judge(scenario, record)), ExitCode::kExpectationFailed);
}

TEST(TrainingRun, AnInterruptEndsItWithItsOwnExitCode) {
  const Scenario scenario = capstone();
  TrainingHooks hooks;
  int asked = 0;
  hooks.interrupted = [&asked] { return ++asked == 10; };
  const TrainingRecord record = run_training(scenario, std::nullopt, hooks);
  EXPECT_EQ(record.outcome, Outcome::kInterrupted);
  EXPECT_TRUE(record.weights_sha256.empty());
  EXPECT_LT(record.steps.size(), 20U);
  EXPECT_EQ(exit_code_of(record, judge(scenario, record)), ExitCode::kInterrupted);
}

}  // namespace
}  // namespace rehearse
