#pragma once

#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "core/train/observer.h"
#include "sim/cluster/job_model.h"
#include "sim/cluster/training_run.h"
#include "sim/kernel/kernel.h"

namespace rehearse {

// How often a run saved beside how often it should have (sim/fault/checkpoint_interval.h has the formulas). Seconds of
// simulated time.
struct IntervalReport {
  double mean_between_failures = 0;
  bool mean_by_rate = false;      // else that of this run: its time over its failures
  std::optional<double> cadence;  // of training between two saves, where the run saves
  std::optional<double> save;     // what one save cost, on average; so for the following
  std::optional<double> young;
  std::optional<double> daly;
  std::optional<double> restart;         // from a failure until training went on
  std::optional<double> expected_waste;  // where all of it is known; without restarts, as if they took no time
  double waste = 0;                      // 1 - goodput
};

// Nothing where no failure rate is known and nothing failed.
std::optional<IntervalReport> interval_report(const Scenario& scenario, const TrainingRecord& record);
std::optional<IntervalReport> interval_report(const Scenario& scenario, const JobRecord& record);

// Measures what a save costs a job: from the end of the last rank's step (or evaluation) to the end of its save. Saves
// that go on while ranks train cost something else and are left out.
class SaveCost : public TrainObserver {
 public:
  SaveCost(const Kernel& kernel, int ranks) : kernel_(kernel), ranks_(ranks) {}

  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece> pieces) override;
  void on_eval(int rank, std::int64_t step, double loss) override;
  void on_checkpoint(int rank, const CheckpointReport& report, Digest128 optimizer_state) override;
  // The job starts again: a save that was not over never is.
  void restart() { ended_ = 0; }
  // And goes on with so many ranks.
  void set_ranks(int ranks) { ranks_ = ranks; }

  // Of those that succeeded, on average; nothing where there were none.
  std::optional<Duration> mean() const;

 private:
  const Kernel& kernel_;
  int ranks_;
  TimePoint last_;  // the latest end of a rank's step or evaluation
  int ended_ = 0;   // ranks whose part of the open save is over
  Duration sum_;
  std::int64_t saves_ = 0;
};

}  // namespace rehearse
