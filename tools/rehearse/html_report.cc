#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/checkpoint/names.h"
#include "sim/trace/log_reader.h"
#include "tools/export/report_page.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/estimate.h"
#include "tools/rehearse/job_report.h"
#include "tools/rehearse/own_files.h"
#include "tools/rehearse/real_files.h"
#include "tools/rehearse/recording.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/shell_word.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

std::string in(const std::string& directory, const char* name) { return (fs::path(directory) / name).string(); }

std::string read_text(const std::string& path) { return read_real_file(path, kInputFileLimit); }

// What a run without faults, saves and guards sends, by formula.
std::vector<FormulaTraffic> formulas_of(const Scenario& scenario) {
  const Estimate by_formula = estimate(scenario);
  std::vector<FormulaTraffic> rows;
  for (int operation = 0; operation < kOperations; ++operation) {
    FormulaTraffic row;
    row.operation = name_of(static_cast<Operation>(operation));
    const auto add = [&](const std::vector<Traffic>& traffic, std::int64_t& messages, std::int64_t& bytes) {
      for (const Traffic& one : traffic) {
        if (static_cast<int>(one.operation) != operation) continue;
        messages += one.messages;
        bytes += one.bytes.count();
      }
    };
    add(by_formula.start, row.start_messages, row.start_bytes);
    add(by_formula.step, row.step_messages, row.step_bytes);
    if (row.start_messages + row.step_messages > 0) rows.push_back(row);
  }
  return rows;
}

ReportInput read_input(const std::string& directory, const Console& console) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) throw InputError("cannot read " + directory + ": it is no directory");
  if (!fs::is_regular_file(in(directory, kSummaryFile), error)) {
    throw InputError("cannot read " + in(directory, kSummaryFile) +
                     ": no such file; a run that has ended leaves it with --out");
  }
  ReportInput input;
  input.name = directory;
  input.summary = read_text(in(directory, kSummaryFile));
  input.scenario = read_text(in(directory, kScenarioFile));
  const Scenario scenario = load_scenario(in(directory, kScenarioFile));
  std::int64_t resumed_from = 0;
  if (is_recording(directory)) {
    input.metrics = read_text(in(directory, kMetricsFile));
    LogReader log(in(directory, kEventsFile));
    resumed_from = log.header().resumed_from.value_or(0);
    input.phases = phase_times(log, scenario.known_ranks(), typical_step(input, scenario.train.checkpoint.every_steps));
    if (resumed_from == 0) input.formulas = formulas_of(scenario);
  }
  const Style plain(false);
  input.header = scenario.job.has_value() ? job_header(scenario, plain) : header_report(scenario, resumed_from, plain);
  // The page has name and story in its own heading.
  input.header.erase(0, input.header.find("\n\n") + 2);
  const std::string program = shell_word(console.program);
  input.repeat.push_back(program + " replay " + shell_word(directory));
  input.repeat.push_back(program + " run " + shell_word(in(directory, kScenarioFile)));
  return input;
}

}  // namespace

ExitCode execute_report(const ReportCommand& command, Console& console) {
  const ReportInput a = read_input(command.a, console);
  std::string page;
  std::string target = command.out;
  if (command.b.empty()) {
    page = write_report(a);
    if (target.empty()) target = in(command.a, kReportFile);
  } else {
    const ReportInput b = read_input(command.b, console);
    page = write_comparison(a, b);
    if (target.empty()) target = "comparison.html";
  }
  write_file_atomically(target, page);
  console.out << target << "\n";
  return ExitCode::kDone;
}

}  // namespace rehearse
