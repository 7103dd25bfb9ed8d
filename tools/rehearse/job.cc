#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "sim/cluster/job_verdicts.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/job_report.h"
#include "tools/rehearse/job_sweep.h"
#include "tools/rehearse/out_directory.h"

namespace rehearse {

ExitCode execute_job(const RunCommand& command, const Scenario& scenario, const std::string& repeat, Console& console) {
  const auto began = std::chrono::steady_clock::now();
  const Style style(console.colors);
  const bool text = command.format == Format::kText;
  std::optional<OutDirectory> out;
  if (!command.out.empty()) {
    out.emplace(command.out, command.force, std::vector<std::string>{command.scenario}, false);
    out->write_scenario(make_scenario_copy(scenario));
  }
  if (text) console.out << job_header(scenario, style) << std::flush;

  FinishedJob job;
  job.scenario = &scenario;
  job.record = run_job(scenario, nullptr, console.interrupted);
  JobRecord second;
  if (command.check_determinism) second = run_job(scenario, nullptr, console.interrupted);
  if (second.outcome == Outcome::kInterrupted && job.record.outcome != Outcome::kInterrupted) {
    job.record.outcome = Outcome::kInterrupted;
    job.record.failure = "interrupted in the second run";
  }
  if (job.record.outcome == Outcome::kInterrupted) {
    job.exit_code = ExitCode::kInterrupted;
  } else {
    job.verdicts = judge_job(scenario, job.record);
    if (command.check_determinism) job.verdicts.push_back(judge_second_run(job.record, second));
    job.exit_code = exit_code_of(job.verdicts);
  }
  job.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  const std::string summary = write_job_summary(job);
  if (out) out->finish({}, summary);
  console.out << (text ? job_report(job, repeat, style) : summary);
  return job.exit_code;
}

ExitCode execute_sweep(const RunCommand& command, Console& console) {
  const Style style(console.colors);
  const std::vector<SweepRow> rows = sweep_job(command, console.interrupted);
  if (rows.size() < command.sweep->values.size()) {
    console.err << "run: interrupted in the sweep's value " << command.sweep->values[rows.size()] << "\n";
    return ExitCode::kInterrupted;
  }
  console.out << (command.format == Format::kJson ? sweep_json(command, rows) : sweep_report(command, rows, style));
  const bool failed = std::any_of(rows.begin(), rows.end(), [](const SweepRow& row) { return row.failed > 0; });
  return failed ? ExitCode::kExpectationFailed : ExitCode::kDone;
}

}  // namespace rehearse
