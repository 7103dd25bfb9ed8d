#include "tools/rehearse/job_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/cluster/interval_report.h"
#include "tools/rehearse/interval_lines.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/straggler_lines.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kRecoveriesShown = 20;

std::string seconds_text(Duration time) { return span_text(time.to_seconds()); }

std::string failure_table(const JobRecord& record, const Style& style) {
  if (record.failures.empty()) return "";
  TextTable table({{"cause", Align::kLeft}, {"kind", Align::kLeft}, {"failures"}, {"share"}});
  const auto all = static_cast<double>(record.failures.size());
  for (const CauseCount& one : failures_by_cause(record)) {
    table.add({one.cause, name_of(one.kind), grouped(one.failures), percent(static_cast<double>(one.failures) / all)});
  }
  return section_title("Failures by cause", style) + table.text(style);
}

std::string recovery_table(const JobRecord& record, const Style& style) {
  if (record.recoveries.empty()) return "";
  TextTable table(
      {{"failed at"}, {"cause", Align::kLeft}, {"heard after"}, {"trains after"}, {"from step"}, {"steps lost"}});
  const std::size_t count = record.recoveries.size();
  const std::size_t shown = std::min(count, kRecoveriesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t row = shown == 1 ? 0 : i * (count - 1) / (shown - 1);
    const RecoveryRecord& one = record.recoveries[row];
    const bool resumed = one.resumed > one.failed;
    table.add({seconds_text(one.failed.since_start()), one.cause, seconds_text(one.detected - one.failed),
               resumed ? seconds_text(one.resumed - one.failed) : "failed again",
               resumed ? grouped(one.resumed_step) : "", resumed ? grouped(one.last_step - one.resumed_step) : ""});
  }
  std::string heading = "Recoveries";
  if (shown < count) {
    heading += " (" + std::to_string(shown) + " of " + grouped(static_cast<std::int64_t>(count)) +
               "; --out and --format json have all)";
  }
  return section_title(heading, style) + table.text(style);
}

std::string time_table(const JobRecord& record, const Style& style) {
  const Duration all = record.simulated.since_start();
  if (all.ps() == 0) return "";
  TextTable table({{"time", Align::kLeft}, {"in all"}, {"share"}});
  const auto add = [&](const char* what, Duration time) {
    table.add({what, seconds_text(time), percent(static_cast<double>(time.ps()) / static_cast<double>(all.ps()))});
  };
  add("training that stands (goodput)", record.useful);
  add("saves", record.saving);
  add("from failures until training went on", record.down);
  add("training that was lost, and the start", all - record.useful - record.saving - record.down);
  return section_title("Where the time went", style) + table.text(style);
}

std::string verdict_text(const FinishedJob& job, const Style& style) {
  std::string out;
  for (const Verdict& verdict : job.verdicts) {
    out += "  " + (verdict.held ? style.good("held  ") : style.bad("FAILED")) + "  " + verdict.name + ": " +
           verdict.detail + "\n";
  }
  return section_title("Expectations", style) + out;
}

std::string save_line(const JobConfig& job) {
  if (!job.saves()) return "none";
  const std::string often = job.every_steps.has_value() ? "after every " + grouped(*job.every_steps) +
                                                              (*job.every_steps == 1 ? " step" : " steps")
                                                        : "every " + seconds_text(*job.every) + " of training";
  return often + ", " + seconds_text(job.save) + " each" +
         (job.keep == 0 ? ", all kept" : ", the newest " + std::to_string(job.keep) + " kept");
}

}  // namespace

std::vector<CauseCount> failures_by_cause(const JobRecord& record) {
  std::map<std::pair<std::string, FailureKind>, std::int64_t> counts;
  for (const RankFailure& failure : record.failures) ++counts[{failure.cause, failure.kind}];
  std::vector<CauseCount> rows;
  for (const auto& [cause, count] : counts) {
    CauseCount row;
    row.cause = cause.first.empty() ? "unnamed" : cause.first;
    row.kind = cause.second;
    row.failures = count;
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CauseCount& a, const CauseCount& b) { return a.failures > b.failures; });
  return rows;
}

std::string job_header(const Scenario& scenario, const Style& style) {
  const JobConfig& job = *scenario.job;
  std::string out = title_report(scenario, style);
  out += field_line("seed", std::to_string(scenario.seed));
  out += field_line("ranks", grouped(scenario.ranks) + hosts_text(scenario) + ", a job that is counted, not computed");
  out += field_line("job", "steps of " + seconds_text(job.step) + "; " + seconds_text(job.start) + " to start, " +
                               seconds_text(job.load) + " to load");
  out += field_line(
      "ends", job.steps.has_value() ? "after " + grouped(*job.steps) + " steps" : "after " + seconds_text(*job.time));
  out += field_line("checkpoints", save_line(job));
  std::string faults;
  if (!scenario.faults.faults.empty()) {
    faults += grouped(std::ssize(scenario.faults.faults)) + " at a time";
  }
  const auto mean = mean_seconds_between_failures(scenario.faults.rates, scenario.ranks);
  if (!scenario.faults.rates.empty()) {
    faults += std::string(faults.empty() ? "" : ", ") + "at a rate" +
              (mean.has_value() ? ": one in " + span_text(*mean) + " on average" : " in a window");
  }
  if (!faults.empty()) out += field_line("failures", faults);
  out += field_line("recovery", "at most " + grouped(scenario.recovery.max_restarts) + " restarts, " +
                                    seconds_text(scenario.recovery.restart_delay) +
                                    " each; a silent host is missed after " +
                                    seconds_text(scenario.recovery.heartbeat_timeout));
  return out;
}

std::string job_report(const FinishedJob& job, const std::string& repeat, const Style& style) {
  const JobRecord& record = job.record;
  std::string out = failure_table(record, style) + recovery_table(record, style) +
                    straggler_lines(struck_lemons(*job.scenario, failures_of(record)), Stragglers(), style) +
                    time_table(record, style) + interval_lines(interval_report(*job.scenario, record), style) +
                    verdict_text(job, style) + "\n";
  std::string outcome = name_of(record.outcome);
  if (!record.failure.empty()) outcome += ": " + record.failure;
  outcome += " (exit code " + std::to_string(static_cast<int>(job.exit_code)) + ")";
  out += field_line("outcome", job.exit_code == ExitCode::kDone ? style.good(outcome) : style.bad(outcome));
  out += field_line("steps", grouped(record.steps) + " done, " + grouped(record.lost_steps) + " done again; " +
                                 grouped(record.saves) + " checkpoints");
  out += field_line("failures", grouped(static_cast<std::int64_t>(record.failures.size())) + ", " +
                                    grouped(static_cast<std::int64_t>(record.recoveries.size())) + " recoveries");
  out += field_line("goodput", percent(goodput_of(record)));
  out +=
      field_line("simulated", seconds_text(record.simulated.since_start()) + " in " + decimals(job.wall_seconds, 3) +
                                  " s of wall time, " + grouped(static_cast<std::int64_t>(record.events)) + " events");
  out += "  event_digest    " + record.event_digest + "\n";
  return out + field_line("repeat", repeat);
}

}  // namespace rehearse
