#include "tools/rehearse/cost.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/progress.h"
#include "tools/rehearse/report_header.h"

namespace rehearse {
namespace {

void refuse_job(const Scenario& scenario) {
  if (!scenario.job.has_value()) return;
  throw InputError(scenario.file_path +
                   ": job: found; allowed: only a scenario with model, data and train, as a job sends nothing");
}

ExitCode code_of(const CostReport& report) {
  switch (report.record.outcome) {
    case Outcome::kDone:
      // Without a step there is nothing that was asked for.
      return report.steps > 0 ? ExitCode::kDone : ExitCode::kExpectationFailed;
    case Outcome::kDeadlock:
      return ExitCode::kDeadlock;
    case Outcome::kInterrupted:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kExpectationFailed;
  }
}

ExitCode execute_sweeps(const CostCommand& command, Console& console) {
  const std::vector<CostRow> rows = sweep_cost(command, console);
  std::size_t all = 1;
  for (const Sweep& sweep : command.sweeps) all *= sweep.values.size();
  if (rows.size() < all) {
    console.err << "cost: interrupted in combination " << rows.size() + 1 << " of " << all << "\n";
    return ExitCode::kInterrupted;
  }
  const Style style(console.colors);
  console.out << (command.format == Format::kJson  ? sweep_json(command, rows)
                  : command.format == Format::kCsv ? sweep_csv(command, rows)
                                                   : sweep_text(command, rows, style));
  const bool failed = std::any_of(rows.begin(), rows.end(),
                                  [](const CostRow& row) { return row.outcome != Outcome::kDone || row.steps == 0; });
  return failed ? ExitCode::kExpectationFailed : ExitCode::kDone;
}

}  // namespace

ExitCode execute_cost(const CostCommand& command, Console& console) {
  if (command.collectives.asked) return execute_cost_collectives(command, console);
  if (!command.sweeps.empty()) return execute_sweeps(command, console);
  const Scenario scenario = load_scenario(command.scenario, command.load);
  refuse_job(scenario);
  const Style style(console.colors);
  if (command.format == Format::kText) console.out << header_report(scenario, 0, style) << std::flush;
  Progress progress(console.err, console.progress);
  const CostReport report = cost_of(scenario, console.interrupted, [&](std::int64_t step) {
    progress.on_step(step, 1, scenario.train.steps, std::numeric_limits<double>::quiet_NaN());
  });
  progress.clear();
  if (command.format == Format::kText) console.out << cost_text(scenario, report, style);
  if (command.format == Format::kJson) console.out << cost_json(scenario, report);
  if (command.format == Format::kCsv) console.out << cost_csv(report);
  return code_of(report);
}

}  // namespace rehearse
