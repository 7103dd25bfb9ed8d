#include "sim/cluster/interval_report.h"

#include "sim/fault/checkpoint_interval.h"
#include "sim/fault/failure_rates.h"

namespace rehearse {
namespace {

// What is known of a run of either kind.
struct Measured {
  std::optional<double> cadence;
  std::optional<double> save;
  std::optional<double> restart;
  double goodput = 0;
  double failures = 0;
  double seconds = 0;
};

std::optional<IntervalReport> report_of(const Scenario& scenario, const Measured& measured) {
  IntervalReport report;
  const std::optional<double> by_rate = mean_seconds_between_failures(scenario.faults.rates, scenario.ranks);
  if (!by_rate.has_value() && measured.failures == 0) return std::nullopt;
  report.mean_by_rate = by_rate.has_value();
  report.mean_between_failures = by_rate.has_value() ? *by_rate : measured.seconds / measured.failures;
  report.cadence = measured.cadence;
  report.save = measured.save;
  report.restart = measured.restart;
  report.waste = 1 - measured.goodput;
  const double mean = report.mean_between_failures;
  if (!report.save.has_value() || mean <= 0) return report;
  report.young = young_interval(*report.save, mean);
  report.daly = daly_interval(*report.save, mean);
  if (report.cadence.has_value() && *report.cadence > 0) {
    report.expected_waste = expected_waste(*report.cadence, *report.save, report.restart.value_or(0), mean);
  }
  return report;
}

// A job that was given up failed once more than it came back.
double failures_of(std::int64_t restarts, Outcome outcome) {
  return static_cast<double>(restarts) + (outcome == Outcome::kFailed ? 1 : 0);
}

}  // namespace

std::optional<IntervalReport> interval_report(const Scenario& scenario, const TrainingRecord& record) {
  Measured measured;
  Duration training;
  for (const StepRecord& step : record.steps) training = training + step.step_seconds;
  const std::int64_t every = scenario.train.checkpoint.every_steps;
  if (every > 0 && !record.steps.empty()) {
    measured.cadence = training.to_seconds() / static_cast<double>(record.steps.size()) * static_cast<double>(every);
  }
  const Duration by_time = scenario.train.checkpoint.every_time;
  if (by_time > Duration()) {
    const double seconds = by_time.to_seconds();
    measured.cadence = std::min(measured.cadence.value_or(seconds), seconds);
  }
  if (record.save_cost.has_value()) measured.save = record.save_cost->to_seconds();
  measured.restart = mean_restart_seconds(record.recoveries);
  measured.goodput = goodput_of(record);
  const std::int64_t restarts = restarts_of(record.recoveries);
  measured.failures = restarts == 0 ? 0 : failures_of(restarts, record.outcome);
  measured.seconds = record.simulated.since_start().to_seconds();
  return report_of(scenario, measured);
}

std::optional<IntervalReport> interval_report(const Scenario& scenario, const JobRecord& record) {
  const JobConfig& job = *scenario.job;
  Measured measured;
  if (job.saves()) {
    const double step = job.step.to_seconds();
    const std::int64_t steps =
        job.every_steps.value_or(job.every.has_value() ? (job.every->ps() - 1) / job.step.ps() + 1 : 0);
    measured.cadence = step * static_cast<double>(steps);
    measured.save = job.save.to_seconds();
  }
  measured.restart = mean_restart_seconds(record.recoveries);
  measured.goodput = goodput_of(record);
  measured.failures = failures_of(restarts_of(record.recoveries), record.outcome);
  measured.seconds = record.simulated.since_start().to_seconds();
  return report_of(scenario, measured);
}

void SaveCost::on_step(int, const StepReport&, const TensorsView&, std::span<const ConstShardPiece>) {
  last_ = kernel_.now();
}

void SaveCost::on_eval(int, std::int64_t, double) { last_ = kernel_.now(); }

void SaveCost::on_checkpoint(int, const CheckpointReport& report, Digest128) {
  if (report.uploaded) return;
  if (++ended_ < ranks_) return;
  if (report.problem.empty()) {
    sum_ = sum_ + (kernel_.now() - last_);
    ++saves_;
  }
  ended_ = 0;
}

std::optional<Duration> SaveCost::mean() const {
  if (saves_ == 0) return std::nullopt;
  return Duration::picoseconds(sum_.ps() / saves_);
}

}  // namespace rehearse
