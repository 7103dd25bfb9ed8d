#include <algorithm>
#include <cstddef>

#include "core/base/error.h"
#include "core/base/numbers.h"
#include "tools/rehearse/cost.h"
#include "tools/rehearse/interval_lines.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/parallel_jobs.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kMostCombinations = 100'000;

// The values of the `index`-th combination.
std::vector<std::string> values_of(const CostCommand& command, std::size_t index) {
  std::vector<std::string> values(command.sweeps.size());
  for (std::size_t i = command.sweeps.size(); i-- > 0;) {
    const std::vector<std::string>& all = command.sweeps[i].values;
    values[i] = all[index % all.size()];
    index /= all.size();
  }
  return values;
}

Scenario load_combination(const CostCommand& command, const std::vector<std::string>& values) {
  LoadOptions load = command.load;
  for (std::size_t i = 0; i < values.size(); ++i) load.overrides.push_back(command.sweeps[i].path + "=" + values[i]);
  Scenario scenario = load_scenario(command.scenario, load);
  if (scenario.job.has_value())
    throw InputError("cost: --sweep is for scenarios that train, and this one has a job { }");
  return scenario;
}

struct NumberField {
  const char* name;
  double CostRow::*value;
};
constexpr NumberField kNumbers[] = {
    {"step_seconds", &CostRow::step_seconds},
    {"computing_seconds", &CostRow::computing_seconds},
    {"overlapped_seconds", &CostRow::overlapped_seconds},
    {"exposed_seconds", &CostRow::exposed_seconds},
    {"waiting_seconds", &CostRow::waiting_seconds},
    {"other_seconds", &CostRow::other_seconds},
    {"busiest_link_utilisation", &CostRow::busiest_utilisation},
    {"tokens_per_second", &CostRow::tokens_per_second},
    {"rank_hours", &CostRow::rank_hours},
};

Outcome outcome_of(const std::string& name) {
  for (const Outcome outcome : {Outcome::kDone, Outcome::kStopped, Outcome::kFailed, Outcome::kDeadlock}) {
    if (name == name_of(outcome)) return outcome;
  }
  return Outcome::kInterrupted;
}

// From one process to another.
std::string text_of(const CostReport& report) {
  CostRow row;
  row.step_seconds = report.step.to_seconds();
  row.computing_seconds = report.split.computing.to_seconds();
  row.overlapped_seconds = report.split.overlapped.to_seconds();
  row.exposed_seconds = report.split.exposed.to_seconds();
  row.waiting_seconds = report.split.waiting.to_seconds();
  row.other_seconds = report.split.other.to_seconds();
  if (!report.links.empty()) row.busiest_utilisation = report.links.front().utilisation;
  row.tokens_per_second = report.tokens_per_second;
  row.rank_hours = report.rank_hours;
  Json json;
  json["outcome"] = name_of(report.record.outcome);
  json["steps"] = report.steps;
  json["busiest_link"] = report.links.empty() ? "" : report.links.front().name;
  for (const NumberField& field : kNumbers) json[field.name] = row.*field.value;
  if (report.price.has_value()) json["price"] = *report.price;
  return json.dump();
}

CostRow row_of(const std::string& text) {
  const Json json = Json::parse(text);
  CostRow row;
  row.outcome = outcome_of(json["outcome"]);
  row.steps = json["steps"];
  row.busiest_link = json["busiest_link"];
  for (const NumberField& field : kNumbers) row.*field.value = json[field.name];
  if (json.contains("price")) row.price = json["price"].get<double>();
  return row;
}

std::string time_cell(double seconds) {
  return to_string(Duration::picoseconds(static_cast<std::int64_t>(seconds * 1e12 + 0.5)));
}

}  // namespace

std::vector<CostRow> sweep_cost(const CostCommand& command, const Console& console) {
  std::size_t count = 1;
  for (const Sweep& sweep : command.sweeps) {
    count *= sweep.values.size();
    if (count > kMostCombinations) {
      throw InputError("cost: --sweep: more than " + std::to_string(kMostCombinations) + " combinations of values");
    }
  }
  for (std::size_t i = 0; i < count; ++i) load_combination(command, values_of(command, i));
  const auto work = [&](std::size_t index) {
    return text_of(cost_of(load_combination(command, values_of(command, index)), console.interrupted));
  };
  std::vector<CostRow> rows;
  for (const std::string& text : run_in_processes(command.jobs, count, work, console.interrupted)) {
    CostRow row = row_of(text);
    row.values = values_of(command, rows.size());
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string sweep_text(const CostCommand& command, const std::vector<CostRow>& rows, const Style& style) {
  std::vector<TextTable::Column> columns;
  for (const Sweep& sweep : command.sweeps) columns.emplace_back(sweep.path, Align::kLeft);
  for (const char* name : {"step", "computing", "hidden", "exposed", "waiting", "other", "exposed", "rank-hours"}) {
    columns.emplace_back(name);
  }
  const bool priced = std::any_of(rows.begin(), rows.end(), [](const CostRow& row) { return row.price.has_value(); });
  if (priced) columns.emplace_back("price");
  columns.emplace_back("busiest link", Align::kLeft);
  columns.emplace_back("utilisation");
  columns.emplace_back("", Align::kLeft);
  TextTable table(std::move(columns));
  for (const CostRow& row : rows) {
    std::vector<std::string> cells = row.values;
    for (const double seconds : {row.step_seconds, row.computing_seconds, row.overlapped_seconds, row.exposed_seconds,
                                 row.waiting_seconds, row.other_seconds}) {
      cells.push_back(time_cell(seconds));
    }
    cells.push_back(row.step_seconds > 0 ? percent(row.exposed_seconds / row.step_seconds) : "");
    cells.push_back(significant(row.rank_hours, 4));
    if (priced) cells.push_back(row.price.has_value() ? significant(*row.price, 4) : "");
    cells.push_back(row.busiest_link);
    cells.push_back(percent(row.busiest_utilisation));
    const bool failed = row.outcome != Outcome::kDone || row.steps == 0;
    cells.push_back(failed ? style.bad(name_of(row.outcome)) : "");
    table.add(std::move(cells));
  }
  return section_title("Cost of a step of a rank, mean; rank-hours of the whole run", style) + table.text(style);
}

std::string sweep_json(const CostCommand& command, const std::vector<CostRow>& rows) {
  Json json;
  json["paths"] = Json::array();
  for (const Sweep& sweep : command.sweeps) json["paths"].push_back(sweep.path);
  json["rows"] = Json::array();
  for (const CostRow& row : rows) {
    Json one;
    one["values"] = row.values;
    one["outcome"] = name_of(row.outcome);
    one["steps"] = row.steps;
    for (const NumberField& field : kNumbers) one[field.name] = json_number(row.*field.value);
    one["busiest_link"] = row.busiest_link;
    if (row.price.has_value()) one["price"] = json_number(*row.price);
    json["rows"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

std::string sweep_csv(const CostCommand& command, const std::vector<CostRow>& rows) {
  std::vector<std::string> cells;
  for (const Sweep& sweep : command.sweeps) cells.push_back(sweep.path);
  cells.insert(cells.end(), {"outcome", "steps"});
  for (const NumberField& field : kNumbers) cells.emplace_back(field.name);
  cells.insert(cells.end(), {"busiest_link", "price"});
  std::string out = csv_line(cells);
  for (const CostRow& row : rows) {
    cells = row.values;
    cells.emplace_back(name_of(row.outcome));
    cells.push_back(std::to_string(row.steps));
    for (const NumberField& field : kNumbers) cells.push_back(shortest_text(row.*field.value));
    cells.push_back(row.busiest_link);
    cells.push_back(row.price.has_value() ? shortest_text(*row.price) : "");
    out += csv_line(cells);
  }
  return out;
}

}  // namespace rehearse
