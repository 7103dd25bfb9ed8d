// Crashes one rank of the capstone at event after event: whatever it was suspended in, the survivors hear of it and
// end, what the disk holds is whole, and a new job that continues from it ends with the weights of the run that never
// failed.
//
// A fixed sample of the events; with REHEARSE_FULL=1 every event and every rank.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/checkpoint/names.h"
#include "core/checkpoint/verify.h"
#include "core/train/rank_main.h"
#include "sim/cluster/training_run.h"
#include "sim/cluster/world.h"
#include "sim/config/loader.h"
#include "sim/storage/sim_storage.h"

namespace rehearse {
namespace {

const std::string kPath = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";

Scenario capstone() {
  LoadOptions options;
  options.overrides = {"checkpoint.every_steps=5"};
  Scenario scenario = load_scenario(kPath, options);
  scenario.expect = Expectations();
  return scenario;
}

Task<> program(RankContext& context, const TrainJob& job) {
  const RunResult result = co_await rank_main(context, job);
  (void)result;
}

// The capstone in a world that a test can break.
class Job {
 public:
  explicit Job(const Scenario& scenario) : scenario_(scenario) {
    disk_ = &mounts_.add("shared", scenario.storage);
    job_.config = scenario.train;
    job_.observer = &observer_;
    job_.policy = &policy_;
    job_.checkpoints = make_checkpoint_plan(scenario.train);
    job_.checkpoints.arithmetic_sha256 = scenario.arithmetic_sha256;
    job_.checkpoints.scenario_sha256 = scenario.scenario_sha256;
    job_.checkpoints.scenario_text = scenario.text;
    WorldConfig config;
    config.ranks = scenario.ranks;
    config.seed = scenario.seed;
    config.network = scenario.network;
    config.device = scenario.device;
    world_ = std::make_unique<World>(config);
    world_->set_storage([this](Process& process) { return std::make_unique<SimStorage>(process, mounts_); });
    world_->start_all([this](RankContext& context) { return program(context, job_); });
  }
  World& world() { return *world_; }
  FileSystem& disk() { return *disk_; }

 private:
  Scenario scenario_;
  TrainObserver observer_;
  StandardPolicy policy_{GuardConfig(), 0, Duration()};
  TrainJob job_;
  Mounts mounts_;
  FileSystem* disk_ = nullptr;
  std::unique_ptr<World> world_;
};

// Published checkpoints by step, each verified byte by byte.
std::map<std::int64_t, std::map<std::string, FileData>> checkpoints_on(const FileSystem& disk) {
  std::map<std::int64_t, std::map<std::string, FileData>> by_step;
  for (const auto& [path, data] : disk.durable_files()) {
    const std::string prefix = "checkpoints/";
    const std::size_t slash = path.find('/', prefix.size());
    if (!path.starts_with(prefix) || slash == std::string::npos) continue;
    const std::optional<std::int64_t> step = step_of_directory(path.substr(prefix.size(), slash - prefix.size()));
    if (step.has_value()) by_step[*step].emplace(path.substr(slash + 1), data);
  }
  for (const auto& [step, files] : by_step) {
    CheckpointFiles views;
    for (const auto& [name, data] : files) views.emplace(name, data.bytes());
    EXPECT_EQ(verify_checkpoint(views, "step " + std::to_string(step)).manifest.step, step);
  }
  return by_step;
}

TEST(CapstoneCrash, AtAnyEventSurvivorsEndAndTheJobContinuesToTheSameWeights) {
  const Scenario scenario = capstone();
  const TrainingRecord whole = run_training(scenario);
  ASSERT_EQ(whole.outcome, Outcome::kDone);
  std::uint64_t events = 0;
  {
    Job job(scenario);
    ASSERT_EQ(job.world().run(), RunEnd::kDone);
    events = job.world().kernel().events();
  }
  const bool full = std::getenv("REHEARSE_FULL") != nullptr;
  // Co-prime with the steps' rhythm, so that the sample meets every part of a step.
  const std::uint64_t stride = full ? 1 : 7;
  std::uint64_t crashes = 0;
  std::uint64_t continued = 0;
  for (std::uint64_t at = 0; at < events; at += stride) {
    for (int victim = 0; victim < scenario.ranks; ++victim) {
      if (!full && static_cast<std::uint64_t>(victim) != at % static_cast<std::uint64_t>(scenario.ranks)) continue;
      SCOPED_TRACE("rank " + std::to_string(victim) + " at event " + std::to_string(at));
      Job job(scenario);
      ASSERT_EQ(job.world().run(at), RunEnd::kBudget);
      job.world().crash(victim);
      ASSERT_EQ(job.world().run(), RunEnd::kDone);
      ++crashes;
      const auto checkpoints = checkpoints_on(job.disk());
      std::optional<ResumeFrom> resume;
      if (!checkpoints.empty()) {
        resume.emplace();
        resume->step = checkpoints.rbegin()->first;
        resume->files = checkpoints.rbegin()->second;
        ++continued;
      }
      const TrainingRecord after = run_training(scenario, resume);
      ASSERT_EQ(after.outcome, Outcome::kDone);
      ASSERT_EQ(after.weights_sha256, whole.weights_sha256);
    }
  }
  EXPECT_EQ(crashes, full ? events * static_cast<std::uint64_t>(scenario.ranks) : (events + stride - 1) / stride);
  EXPECT_GT(continued, crashes / 2);
  std::cout << crashes << " crashes over " << events << " events, " << continued << " continued from a checkpoint\n";
}

// Invariant (a): each of the 20 mean losses is below the one before, for every seed tried.
TEST(CapstoneSeeds, LossFallsAtEveryStep) {
  const std::uint64_t seeds = std::getenv("REHEARSE_FULL") != nullptr ? 5000 : 250;
  std::uint64_t fell = 0;
  for (std::uint64_t seed = 1000; seed < 1000 + seeds; ++seed) {
    LoadOptions options;
    options.seed = seed;
    const TrainingRecord record = run_training(load_scenario(kPath, options));
    ASSERT_EQ(record.steps.size(), 20U);
    bool falls = true;
    for (std::size_t i = 1; i < record.steps.size(); ++i) {
      falls = falls && record.steps[i].report.loss < record.steps[i - 1].report.loss;
    }
    EXPECT_TRUE(falls) << "seed " << seed;
    fell += falls ? 1 : 0;
  }
  EXPECT_EQ(fell, seeds);
}

}  // namespace
}  // namespace rehearse
