#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/names.h"
#include "tests/core/checkpoint/tiny_job.h"

namespace rehearse {
namespace {

// Power is lost, and every rank dies, after every event of a save; whatever subset of the unsynced operations survives,
// what is then found under a checkpoint's name is whole, and there is one from the first commit on.

struct Sweep {
  int ranks = 2;
  std::int64_t step = 20;
  SaveOptions options;
  // What may be found afterwards: step -> salts of the states it may have. One of them must be there, unless none may
  // be.
  std::map<std::int64_t, std::vector<float>> allowed;
  bool may_be_empty = false;
};

std::vector<PowerLoss> losses(const FileSystem& files) {
  using Survivors = PowerLoss::Survivors;
  std::vector<PowerLoss> all = {{Survivors::kNone, 0, {}}, {Survivors::kAll, 0, {}}, {Survivors::kAll, 0, Bytes(1)}};
  for (std::size_t i = 0; i < files.unsynced_operations(); ++i) {
    all.push_back({Survivors::kOnly, i, {}});
    all.push_back({Survivors::kOnly, i, Bytes(100)});
    all.push_back({Survivors::kAllBut, i, {}});
  }
  return all;
}

// The restart after the loss finds only whole checkpoints.
void check_restart(const Mounts& after, const Sweep& sweep, const std::string& when) {
  Mounts mounts = after;
  std::vector<std::int64_t> steps;
  const auto program = [&](RankContext& context) -> Task<> {
    steps = co_await prepare_checkpoints(context.storage(), checkpoints());
  };
  run_ranks(1, mounts, program);
  EXPECT_TRUE(sweep.may_be_empty || !steps.empty()) << when;
  for (const std::int64_t step : steps) {
    const auto allowed = sweep.allowed.find(step);
    ASSERT_NE(allowed, sweep.allowed.end()) << when << ": step " << step;
    try {
      const VerifiedCheckpoint checkpoint = verified(mounts.at("shared").files.files(), step);
      bool known = false;
      for (const float salt : allowed->second) {
        known = known || has_values(checkpoint.state, {FlatRange(0, 57)}, step, salt);
      }
      EXPECT_TRUE(known) << when << ": step " << step << " holds another state";
    } catch (const InputError& error) {
      ADD_FAILURE() << when << ": " << error.what();
    }
  }
  for (const std::string& name : directories(mounts)) EXPECT_TRUE(step_of_directory(name).has_value()) << when << name;
}

// Gives the number of points at which power was lost.
int sweep_power_losses(const Mounts& before, const Sweep& sweep) {
  int points = 0;
  for (std::uint64_t events = 0;; ++events) {
    Mounts mounts = before;
    RunEnd end = RunEnd::kDone;
    {
      WorldConfig config;
      config.ranks = sweep.ranks;
      config.network.latency = Duration::microseconds(5);
      config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
      config.device.rate = FlopRate::per_second(1'000'000'000'000);
      World world(config);
      world.set_storage([&mounts](Process& process) { return std::make_unique<SimStorage>(process, mounts); });
      std::vector<SaveResult> results(static_cast<std::size_t>(sweep.ranks));
      const auto program = [&](RankContext& context) -> Task<> {
        results[static_cast<std::size_t>(context.rank())] = co_await save_tiny(context, sweep.step, sweep.options);
      };
      world.start_all(program);
      end = world.run(events);
    }
    for (const PowerLoss& loss : losses(mounts.at("shared").files)) {
      Mounts after = mounts;
      after.lose_power(loss);
      check_restart(after, sweep,
                    "event " + std::to_string(events) + ", survivors " +
                        std::to_string(static_cast<int>(loss.survivors)) + " " + std::to_string(loss.operation));
      ++points;
      if (testing::Test::HasFailure()) return points;
    }
    if (end != RunEnd::kBudget) break;
  }
  return points;
}

TEST(PowerLoss, FirstSaveLeavesNothingOrAWholeCheckpoint) {
  Sweep sweep;
  sweep.allowed = {{20, {0}}};
  sweep.may_be_empty = true;
  EXPECT_GT(sweep_power_losses(empty_mounts(), sweep), 300);
}

TEST(PowerLoss, SaveAndRotationNeverLeaveLessThanOneCheckpoint) {
  Mounts mounts = empty_mounts();
  for (const std::int64_t step : {5, 10}) run_save(2, mounts, step);
  Sweep sweep;
  sweep.options.keep = 1;
  sweep.allowed = {{5, {0}}, {10, {0}}, {20, {0}}};
  EXPECT_GT(sweep_power_losses(mounts, sweep), 300);
}

TEST(PowerLoss, ReplacingTheOnlyCheckpointNeverLosesIt) {
  Mounts mounts = empty_mounts();
  run_save(2, mounts, 20);
  Sweep sweep;
  sweep.options.salt = 0.25F;
  sweep.allowed = {{20, {0, 0.25F}}};
  EXPECT_GT(sweep_power_losses(mounts, sweep), 300);
}

}  // namespace
}  // namespace rehearse
