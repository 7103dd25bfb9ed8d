// Power is lost after storage operation upon storage operation of a whole job, with saves, rotation and a restart, and
// leaves this or that of what was not synced: a checkpoint that was once durable is never lost, none is loaded that is
// not whole, and the job, started again, ends with the weights of the run that never failed.
//
// A fixed sample of the losses; with REHEARSE_FULL=1 all of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "core/checkpoint/names.h"
#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using Survivors = PowerLoss::Survivors;

bool full() { return std::getenv("REHEARSE_FULL") != nullptr; }

// Counts the storage operations that are done.
class StorageOperations : public EventListener {
 public:
  void on_record(const EventRecord& record) override {
    if (record.kind >= EventKind::kWrite && record.kind <= EventKind::kList) ++count;
  }
  std::int64_t count = 0;
};

// A moment right after an operation.
struct Point {
  std::uint64_t events = 0;
  std::vector<std::optional<Bytes>> unsynced;  // sizes of writes
  std::int64_t newest = 0;                     // checkpoint that is durable
};

std::int64_t newest_durable(const FileSystem& disk) {
  std::int64_t newest = 0;
  for (const auto& [path, data] : disk.durable_files()) {
    const std::string prefix = "checkpoints/";
    if (!path.starts_with(prefix) || !path.ends_with("/manifest.json")) continue;
    const auto step = step_of_directory(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
    if (step) newest = std::max(newest, *step);
  }
  return newest;
}

// Every moment after a storage operation of the job, but for the one at which the job ends.
std::vector<Point> points_of(const Scenario& scenario) {
  std::vector<Point> points;
  StorageOperations operations;
  TrainingHooks hooks;
  hooks.listeners = {&operations};
  TrainingSession session(scenario, std::nullopt, hooks);
  for (std::int64_t before = 0; session.advance(1); before = operations.count) {
    if (operations.count == before) continue;
    Point point;
    point.events = session.events();
    for (std::size_t i = 0; i < session.disk().unsynced_operations(); ++i) {
      point.unsynced.push_back(session.disk().unsynced_write(i));
    }
    point.newest = newest_durable(session.disk());
    points.push_back(point);
  }
  const TrainingRecord record = session.finish();
  EXPECT_EQ(record.outcome, Outcome::kDone);
  return points;
}

std::vector<PowerLoss> losses_at(const Point& point) {
  std::vector<PowerLoss> losses = {{Survivors::kNone, 0, {}}, {Survivors::kAll, 0, {}}};
  for (std::size_t i = 0; i < point.unsynced.size(); ++i) {
    losses.push_back({Survivors::kOnly, i, {}});
    losses.push_back({Survivors::kAllBut, i, {}});
    if (!point.unsynced[i]) continue;
    const std::int64_t size = point.unsynced[i]->count();
    for (const std::int64_t kept : {std::int64_t{1}, size / 2, size - 1}) {
      losses.push_back({Survivors::kOnly, i, Bytes(kept)});
      losses.push_back({Survivors::kAllTornOne, i, Bytes(kept)});
    }
  }
  return losses;
}

std::string text_of(const Point& point, const PowerLoss& loss) {
  return "after event " + std::to_string(point.events) + ", survivors " +
         std::to_string(static_cast<int>(loss.survivors)) + ", operation " + std::to_string(loss.operation) +
         (loss.torn_after ? ", torn after " + std::to_string(loss.torn_after->count()) : std::string());
}

void check_loss(const Scenario& scenario, const std::string& weights, const Point& point, const PowerLoss& loss) {
  SCOPED_TRACE(text_of(point, loss));
  TrainingHooks quiet;
  quiet.log_events = false;
  TrainingSession session(scenario, std::nullopt, quiet);
  ASSERT_TRUE(session.advance(point.events));
  session.lose_power(loss);
  const std::int64_t newest = newest_durable(session.disk());
  // With what survived there may be a newer one, never an older one.
  ASSERT_GE(newest, point.newest);
  while (session.advance(4096)) {
  }
  const TrainingRecord record = session.finish();
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.weights_sha256, weights);
  ASSERT_TRUE(record.violations.empty()) << record.violations.front();
  ASSERT_EQ(std::ssize(record.steps), scenario.train.steps);
  ASSERT_FALSE(record.recoveries.empty());
  bool continued = false;
  for (const RecoveryRecord& recovery : record.recoveries) {
    // What has a checkpoint's name is whole.
    ASSERT_TRUE(recovery.rejected.empty()) << recovery.rejected.front();
    continued = continued || recovery.resumed_step == newest;
  }
  ASSERT_TRUE(continued) << "nothing was continued from step " << newest;
}

TEST(StorageSweep, PowerLostAfterAnyOperationOfTheJobLosesNoCheckpoint) {
  const Scenario scenario = tiny_training("faults { crash { rank: 1 at { step: 5 phase: BACKWARD } } }");
  const std::string weights = run_training(tiny_training("")).weights_sha256;
  const std::vector<Point> points = points_of(scenario);
  const std::size_t stride = full() ? 1 : 5;
  std::size_t all = 0;
  std::size_t tried = 0;
  for (const Point& point : points) {
    for (const PowerLoss& loss : losses_at(point)) {
      if (all++ % stride != 0) continue;
      check_loss(scenario, weights, point, loss);
      ++tried;
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(points.size(), 95U);
  EXPECT_EQ(tried, (all + stride - 1) / stride);
  std::cout << tried << " of " << all << " losses of power, after " << points.size() << " storage operations\n";
}

// And again, after any operation of the way back from the first loss.
TEST(StorageSweep, PowerLostAgainInTheRecoveryLosesNoCheckpoint) {
  const Scenario scenario = tiny_training("");
  const std::string weights = run_training(scenario).weights_sha256;
  const std::vector<Point> points = points_of(scenario);
  TrainingHooks quiet;
  quiet.log_events = false;
  int tried = 0;
  for (std::size_t i = 0; i < points.size(); i += full() ? 3 : 17) {
    const Point& first = points[i];
    std::vector<std::uint64_t> seconds;  // events after which power goes again
    {
      StorageOperations operations;
      bool recovered = false;
      TrainingHooks hooks;
      hooks.listeners = {&operations};
      hooks.on_recovery = [&recovered](const RecoveryRecord&) { recovered = true; };
      TrainingSession session(scenario, std::nullopt, hooks);
      ASSERT_TRUE(session.advance(first.events));
      session.lose_power(PowerLoss());
      for (std::int64_t before = operations.count; !recovered; before = operations.count) {
        // A job that was done but for its rotation ends as it comes back.
        const bool runs = session.advance(1);
        ASSERT_TRUE(runs || recovered);
        if (runs && operations.count > before) seconds.push_back(session.events());
      }
    }
    for (const std::uint64_t second : seconds) {
      for (const Survivors survivors : {Survivors::kNone, Survivors::kAll}) {
        SCOPED_TRACE("after events " + std::to_string(first.events) + " and " + std::to_string(second));
        TrainingSession session(scenario, std::nullopt, quiet);
        ASSERT_TRUE(session.advance(first.events));
        session.lose_power(PowerLoss());
        ASSERT_TRUE(session.advance(second - first.events));
        session.lose_power(PowerLoss{survivors, 0, {}});
        const std::int64_t newest = newest_durable(session.disk());
        ASSERT_GE(newest, first.newest);
        while (session.advance(4096)) {
        }
        const TrainingRecord record = session.finish();
        ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
        ASSERT_EQ(record.weights_sha256, weights);
        ASSERT_EQ(record.recoveries.size(), 2U);
        ASSERT_TRUE(record.recoveries[1].rejected.empty()) << record.recoveries[1].rejected.front();
        ASSERT_EQ(record.recoveries[1].resumed_step, newest);
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, full() ? 300 : 50);
  std::cout << tried << " second losses of power\n";
}

// Every storage operation of the job fails once, the reads of its restart included: at most one save fails, or one
// start, and training goes on.
TEST(StorageSweep, AnErrorInAnyOperationOfTheJobCostsAtMostASaveOrAStart) {
  const Scenario scenario = tiny_training("faults { crash { rank: 1 at { step: 5 phase: BACKWARD } } }");
  const std::string weights = run_training(tiny_training("")).weights_sha256;
  int failed = 0;
  int tried = 0;
  int failed_saves = 0;
  int refusals = 0;
  int starts = 0;
  for (std::int64_t nth = 1; tried == failed; nth += full() ? 1 : 3, ++tried) {
    SCOPED_TRACE("operation " + std::to_string(nth));
    Scenario broken = scenario;
    OperationFault fault;
    fault.nth = nth;
    broken.faults.storage.operations.push_back(fault);
    TrainingHooks quiet;
    quiet.log_events = false;
    const TrainingRecord record = run_training(broken, std::nullopt, quiet);
    ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
    ASSERT_EQ(record.weights_sha256, weights);
    ASSERT_EQ(std::ssize(record.steps), scenario.train.steps);
    ASSERT_LE(record.failed_saves, 1);
    ASSERT_LE(record.recoveries.size(), 2U);
    ASSERT_FALSE(record.checkpoints.empty());
    ASSERT_GE(record.checkpoints.back().step, 4);
    failed += record.faults.size() > 1 ? 1 : 0;
    failed_saves += static_cast<int>(record.failed_saves);
    starts += record.recoveries.size() > 1 ? 1 : 0;
    for (const RecoveryRecord& recovery : record.recoveries) refusals += static_cast<int>(recovery.rejected.size());
  }
  EXPECT_GT(failed, full() ? 95 : 30);
  std::cout << failed << " operations failed: " << failed_saves << " saves, " << refusals << " loads of a checkpoint, "
            << starts << " starts\n";
}

// A loss of one host after any operation: what it had not synced goes, whatever the others do.
TEST(StorageSweep, AHostLostAfterAnyOperationOfTheJobLosesNoCheckpoint) {
  const Scenario scenario = tiny_training("");
  const std::string weights = run_training(scenario).weights_sha256;
  const std::vector<Point> points = points_of(scenario);
  int tried = 0;
  for (std::size_t i = 0; i < points.size(); i += full() ? 1 : 3) {
    for (int rank = 0; rank < scenario.ranks; ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank) + " after event " + std::to_string(points[i].events));
      TrainingHooks quiet;
      quiet.log_events = false;
      TrainingSession session(scenario, std::nullopt, quiet);
      ASSERT_TRUE(session.advance(points[i].events));
      session.crash(rank, CrashKind::kHost);
      while (session.advance(4096)) {
      }
      const TrainingRecord record = session.finish();
      ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
      ASSERT_EQ(record.weights_sha256, weights);
      for (const RecoveryRecord& recovery : record.recoveries) {
        ASSERT_TRUE(recovery.rejected.empty()) << recovery.rejected.front();
        ASSERT_GE(recovery.resumed_step, points[i].newest);
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, full() ? 150 : 50);
  std::cout << tried << " lost hosts, after " << points.size() << " storage operations\n";
}

}  // namespace
}  // namespace rehearse
