// Random plans of storage faults, several at once, with a crash or a loss of power for them to matter: no job hangs,
// and none ends with other weights than the run that never failed. One whose disk never works again may be given up.
//
// A fixed number of seeds; with REHEARSE_FULL=1 many more.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "core/base/random.h"
#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

// Draws one plan.
class Plans {
 public:
  Plans(std::uint64_t seed, const Scenario& scenario, TimePoint end)
      : random_(RandomStream(seed).fork("storage faults")), scenario_(scenario), end_(end) {}

  FaultPlan draw() {
    FaultPlan plan;
    StorageFaultPlan& storage = plan.storage;
    const std::uint64_t faults = 1 + random_.below(4);
    for (std::uint64_t i = 0; i < faults; ++i) {
      switch (random_.below(8)) {
        case 0:
          storage.slow.push_back(slow());
          break;
        case 1:
          storage.stale.push_back(stale());
          break;
        case 2:
        case 3:
          storage.disk.push_back(disk());
          break;
        default:
          storage.operations.push_back(operation());
      }
    }
    const std::uint64_t crashes = random_.below(3);
    for (std::uint64_t i = 0; i < crashes; ++i) plan.faults.push_back(crash());
    return plan;
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  int rank() { return static_cast<int>(below(scenario_.ranks)); }
  TimePoint time() { return TimePoint::at(Duration::picoseconds(below(2 * end_.ps()))); }
  std::string path() {
    const char* patterns[] = {"",           "checkpoints", "manifest.json",    "shard_00001*",
                              "run_state*", "*step_*",     "**step_000004/**", "step_000002"};
    return patterns[below(8)];
  }

  DiskWindow window() {
    DiskWindow window;
    switch (random_.below(4)) {
      case 0:
        window.from = time();
        break;
      case 1:
        window.until = time();
        break;
      case 2:
        window.from_step = 1 + below(scenario_.train.steps);
        window.until_step = window.from_step + 1 + below(3);
        break;
      default:
        break;
    }
    return window;
  }

  OperationFilter filter() {
    OperationFilter on;
    if (random_.chance(3, 4)) on.operation = static_cast<FileOperation>(below(8));
    if (random_.chance(1, 2)) on.rank = rank();
    on.path = path();
    return on;
  }

  OperationFault operation() {
    OperationFault fault;
    fault.effect = static_cast<OperationFault::Effect>(below(4));
    fault.on = filter();
    if (fault.effect == OperationFault::Effect::kTorn) fault.on.operation = FileOperation::kWrite;
    if (fault.effect == OperationFault::Effect::kLost) fault.on.operation = std::nullopt;
    fault.nth = 1 + below(12);
    fault.count = random_.chance(1, 4) ? 0 : 1 + below(3);
    fault.keep = Bytes(below(3000));
    fault.window = window();
    return fault;
  }

  SlowDiskFault slow() {
    SlowDiskFault fault;
    if (random_.chance(1, 2)) fault.rank = rank();
    fault.numerator = 1 + below(100);
    fault.denominator = 1 + below(3);
    fault.window = window();
    return fault;
  }

  StaleViewFault stale() {
    StaleViewFault fault;
    fault.rank = rank();
    fault.path = path();
    fault.delay = Duration::picoseconds(1 + below(2 * end_.ps()));
    fault.window = window();
    return fault;
  }

  DiskFault disk() {
    DiskFault fault;
    fault.kind = static_cast<DiskFault::Kind>(below(3));
    if (random_.chance(1, 3)) {
      fault.time = time();
    } else if (random_.chance(1, 2)) {
      fault.after = filter();
      fault.nth = 1 + below(20);
    } else {
      fault.rank = rank();
      fault.step = 1 + below(scenario_.train.steps);
      fault.phase = static_cast<Phase>(static_cast<int>(Phase::kData) + below(6));
    }
    fault.path = path();
    if (fault.path.empty()) fault.path = "**";
    fault.offset = below(2000);
    fault.bit = static_cast<int>(below(8));
    fault.loss = loss();
    return fault;
  }

  PowerLoss loss() {
    PowerLoss loss;
    loss.survivors = static_cast<PowerLoss::Survivors>(below(5));
    loss.operation = static_cast<std::size_t>(below(12));
    if (random_.chance(1, 2)) loss.torn_after = Bytes(below(2000));
    return loss;
  }

  Fault crash() {
    CrashFault fault;
    FaultWhen when;
    when.at.rank = rank();
    fault.kind = random_.chance(1, 2) ? CrashKind::kHost : CrashKind::kProcess;
    fault.unsynced = loss();
    if (random_.chance(1, 2)) {
      when.time = time();
    } else {
      when.at.step = 1 + below(scenario_.train.steps);
      when.at.phase = Phase::kBackward;
    }
    return Fault{when, fault};
  }

  RandomStream random_;
  const Scenario& scenario_;
  TimePoint end_;
};

std::string text_of(const TrainingRecord& record) {
  std::string text;
  for (const FaultRecord& fault : record.faults) {
    text += to_string(fault.time.since_start()) + " rank " + std::to_string(fault.at.rank) + ": " + fault.what + "\n";
  }
  for (const RecoveryRecord& recovery : record.recoveries) {
    text += "recovered from " + recovery.cause + " to step " + std::to_string(recovery.resumed_step) + "\n";
    for (const std::string& rejected : recovery.rejected) text += "  rejected " + rejected + "\n";
  }
  return text + record.failure;
}

TEST(StorageFuzz, NoPlanOfFaultsHangsTheJobOrChangesItsWeights) {
  const Scenario healthy = tiny_training("");
  const TrainingRecord whole = run_training(healthy);
  const std::uint64_t seeds = std::getenv("REHEARSE_FULL") != nullptr ? 50'000 : 1'000;
  std::map<Outcome, int> outcomes;
  int struck = 0;
  int failed_saves = 0;
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Scenario scenario = healthy;
    scenario.faults = Plans(seed, healthy, whole.simulated).draw();
    TrainingHooks quiet;
    quiet.log_events = false;
    TrainingSession session(scenario, std::nullopt, quiet);
    while (session.advance(4096)) {
      ASSERT_LT(session.events(), 1'000'000U) << "seed " << seed << " does not come to an end";
    }
    const TrainingRecord record = session.finish();
    ASSERT_TRUE(record.outcome == Outcome::kDone || record.outcome == Outcome::kFailed)
        << "seed " << seed << " ended " << name_of(record.outcome) << "\n"
        << text_of(record);
    ASSERT_TRUE(record.violations.empty()) << "seed " << seed << ": " << record.violations.front();
    if (record.outcome == Outcome::kDone) {
      ASSERT_EQ(record.weights_sha256, whole.weights_sha256) << "seed " << seed << "\n" << text_of(record);
      ASSERT_EQ(record.steps.size(), whole.steps.size()) << "seed " << seed << "\n" << text_of(record);
      for (std::size_t i = 0; i < whole.steps.size(); ++i) {
        ASSERT_EQ(record.steps[i].report.step, whole.steps[i].report.step);
        ASSERT_EQ(record.steps[i].parameters, whole.steps[i].parameters);
      }
    } else {
      ASSERT_NE(record.failure.find("restarts that recovery allows are used"), std::string::npos)
          << "seed " << seed << ": " << record.failure;
    }
    ++outcomes[record.outcome];
    struck += record.faults.empty() ? 0 : 1;
    failed_saves += record.failed_saves > 0 ? 1 : 0;
    for (const RecoveryRecord& recovery : record.recoveries) rejected += recovery.rejected.empty() ? 0 : 1;
  }
  std::cout << seeds << " plans, " << struck << " that struck: " << outcomes[Outcome::kDone]
            << " jobs ended with the weights of the run without faults, " << outcomes[Outcome::kFailed]
            << " were given up; " << failed_saves << " with failed saves, " << rejected
            << " recoveries that refused a checkpoint\n";
  EXPECT_GT(struck, static_cast<int>(seeds / 2));
  EXPECT_GT(failed_saves, static_cast<int>(seeds / 20));
  EXPECT_GT(rejected, static_cast<int>(seeds / 100));
  EXPECT_LT(outcomes[Outcome::kFailed], static_cast<int>(seeds / 10));
}

}  // namespace
}  // namespace rehearse
