#include "tools/rehearse/job_sweep.h"

#include <cmath>

#include "core/base/error.h"
#include "sim/cluster/interval_report.h"
#include "sim/cluster/job_model.h"
#include "tools/rehearse/interval_lines.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

Scenario load_value(const RunCommand& command, const std::string& value, std::optional<std::uint64_t> seed) {
  LoadOptions load = command.load;
  load.overrides.push_back(command.sweep->path + "=" + value);
  if (seed.has_value()) load.seed = *seed;
  Scenario scenario = load_scenario(command.scenario, load);
  if (!scenario.job.has_value()) {
    throw InputError("run: --sweep is for scenarios with a job { }, and " + command.scenario + " has none");
  }
  return scenario;
}

// Nothing where it was interrupted.
std::optional<SweepRow> run_value(const RunCommand& command, const std::string& value,
                                  const std::function<bool()>& interrupted) {
  SweepRow row;
  row.value = value;
  const std::optional<std::uint64_t> first = command.sweep->first_seed;
  row.runs = first ? command.sweep->last_seed - *first + 1 : 1;
  double squares = 0;
  for (std::uint64_t i = 0; i < row.runs; ++i) {
    const Scenario scenario = load_value(command, value, first ? std::optional(*first + i) : std::nullopt);
    const JobRecord record = run_job(scenario, nullptr, interrupted);
    if (record.outcome == Outcome::kInterrupted || (interrupted && interrupted())) return std::nullopt;
    if (record.outcome != Outcome::kDone) ++row.failed;
    const double goodput = goodput_of(record);
    row.goodput += goodput;
    squares += goodput * goodput;
    row.recoveries += static_cast<double>(record.recoveries.size());
    row.lost_steps += static_cast<double>(record.lost_steps);
    const auto interval = interval_report(scenario, record);
    if (!interval.has_value() || i > 0) continue;
    row.cadence = interval->cadence;
    row.young = interval->young;
    row.daly = interval->daly;
    row.expected_waste = interval->expected_waste;
  }
  const auto n = static_cast<double>(row.runs);
  row.goodput /= n;
  row.recoveries /= n;
  row.lost_steps /= n;
  if (row.runs > 1) row.goodput_error = std::sqrt(std::max(0.0, squares / n - row.goodput * row.goodput) / (n - 1));
  return row;
}

std::string note_of(const SweepRow& row, bool best, const Style& style) {
  if (row.failed > 0) {
    return style.bad("FAILED") +
           (row.runs > 1 ? " " + std::to_string(row.failed) + " of " + std::to_string(row.runs) : "");
  }
  return best ? style.good("best") : "";
}

std::string cell(const std::optional<double>& seconds) { return seconds ? span_text(*seconds) : ""; }

}  // namespace

std::vector<SweepRow> sweep_job(const RunCommand& command, const std::function<bool()>& interrupted) {
  for (const std::string& value : command.sweep->values) load_value(command, value, command.sweep->first_seed);
  std::vector<SweepRow> rows;
  for (const std::string& value : command.sweep->values) {
    std::optional<SweepRow> row = run_value(command, value, interrupted);
    if (!row.has_value()) break;
    rows.push_back(std::move(*row));
  }
  return rows;
}

std::optional<std::size_t> best_row(const std::vector<SweepRow>& rows) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].failed > 0) continue;
    if (!best.has_value() || rows[i].goodput > rows[*best].goodput) best = i;
  }
  return best;
}

std::string sweep_report(const RunCommand& command, const std::vector<SweepRow>& rows, const Style& style) {
  TextTable table({{command.sweep->path, TextTable::Align::kLeft},
                   {"cadence"},
                   {"goodput"},
                   {"+-"},
                   {"by formula"},
                   {"recoveries"},
                   {"steps lost"},
                   {"Young"},
                   {"Daly"},
                   {"", TextTable::Align::kLeft}});
  const std::optional<std::size_t> best = best_row(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = rows[i];
    table.add({row.value, cell(row.cadence), percent(row.goodput),
               row.goodput_error > 0 ? percent(row.goodput_error) : "",
               row.expected_waste ? percent(1 - *row.expected_waste) : "", significant(row.recoveries, 4),
               significant(row.lost_steps, 5), cell(row.young), cell(row.daly), note_of(row, best == i, style)});
  }
  std::string heading = "Goodput by " + command.sweep->path;
  if (command.sweep->first_seed) {
    heading += ", mean and standard error over seeds " + std::to_string(*command.sweep->first_seed) + " to " +
               std::to_string(command.sweep->last_seed);
  }
  return section_title(heading, style) + table.text(style);
}

std::string sweep_json(const RunCommand& command, const std::vector<SweepRow>& rows) {
  Json json;
  json["path"] = command.sweep->path;
  if (command.sweep->first_seed) {
    json["seeds"] = Json::array({*command.sweep->first_seed, command.sweep->last_seed});
  }
  json["rows"] = Json::array();
  for (const SweepRow& row : rows) {
    Json one;
    one["value"] = row.value;
    const auto add = [&one](const char* name, const std::optional<double>& value) {
      if (value.has_value()) one[name] = json_number(*value);
    };
    add("cadence_seconds", row.cadence);
    one["goodput"] = json_number(row.goodput);
    one["goodput_error"] = json_number(row.goodput_error);
    add("expected_waste", row.expected_waste);
    one["recoveries"] = json_number(row.recoveries);
    one["lost_steps"] = json_number(row.lost_steps);
    one["runs"] = row.runs;
    one["failed"] = row.failed;
    add("young_seconds", row.young);
    add("daly_seconds", row.daly);
    json["rows"].push_back(std::move(one));
  }
  const std::optional<std::size_t> best = best_row(rows);
  json["best"] = best.has_value() ? Json(rows[*best].value) : Json();
  return json.dump(2) + "\n";
}

}  // namespace rehearse
