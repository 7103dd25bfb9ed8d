#include <gtest/gtest.h>

#include "core/checkpoint/names.h"
#include "core/runtime/communicator.h"
#include "tests/core/checkpoint/tiny_job.h"

namespace rehearse {
namespace {

WorldConfig tiny_world(int ranks) {
  WorldConfig config;
  config.ranks = ranks;
  config.network.latency = Duration::microseconds(5);
  config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
  config.device.rate = FlopRate::per_second(1'000'000'000'000);
  return config;
}

// Rank `victim` dies after `events` events of a save of step 20. Gives whether the save was over by then.
bool save_with_a_crash(Mounts& mounts, int victim, std::uint64_t events) {
  World world(tiny_world(3));
  world.set_storage([&mounts](Process& process) { return std::make_unique<SimStorage>(process, mounts); });
  std::vector<SaveResult> results(3);
  const SaveOptions options;
  const auto program = [&](RankContext& context) -> Task<> {
    results[static_cast<std::size_t>(context.rank())] = co_await save_tiny(context, 20, options);
  };
  world.start_all(program);
  if (world.run(events) != RunEnd::kBudget) return true;
  world.crash(victim);
  // The survivors see a broken connection or finish; none hangs.
  EXPECT_EQ(world.run(), RunEnd::kDone) << describe_waiting(world.kernel().waiting());
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == victim || world.error(rank) == nullptr) continue;
    EXPECT_THROW(std::rethrow_exception(world.error(rank)), CommError);
  }
  return false;
}

// Whichever rank dies wherever in a save, the restart loads the checkpoint before or the one that was being saved, and
// nothing temporary is left.
TEST(CrashInASave, RestartFindsTheOldCheckpointOrTheNewOne) {
  Mounts before = empty_mounts();
  run_save(3, before, 10);
  int old_found = 0;
  int new_found = 0;
  for (int victim = 0; victim < 3; ++victim) {
    for (std::uint64_t events = 0;; ++events) {
      Mounts mounts = before;
      if (save_with_a_crash(mounts, victim, events)) break;
      const std::vector<LoadOutcome> outcomes = run_load_newest(3, mounts);
      ASSERT_TRUE(outcomes[0].checkpoint.has_value()) << victim << " after " << events;
      const std::int64_t step = outcomes[0].checkpoint->manifest.step;
      (step == 20 ? new_found : old_found) += 1;
      for (int rank = 0; rank < 3; ++rank) {
        const LoadOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
        EXPECT_TRUE(outcome.rejected.empty());
        EXPECT_TRUE(has_values(outcome.checkpoint->state, tiny_wanted(rank, 3), step)) << victim << " after " << events;
      }
      for (const std::string& name : directories(mounts)) EXPECT_TRUE(step_of_directory(name).has_value()) << name;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(old_found, 80);
  EXPECT_GT(new_found, 3);
}

}  // namespace
}  // namespace rehearse
