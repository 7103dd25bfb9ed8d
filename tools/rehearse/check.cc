#include <string>

#include "sim/config/loader.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/estimate.h"
#include "tools/rehearse/job_report.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using Align = TextTable::Align;

Json traffic_json(const std::vector<Traffic>& rows) {
  Json list = Json::array();
  for (const Traffic& row : rows) {
    list.push_back(Json{{"operation", name_of(row.operation)},
                        {"calls", row.calls},
                        {"messages", row.messages},
                        {"bytes", row.bytes.count()}});
  }
  return list;
}

std::string json_text(const Scenario& scenario, const Estimate& estimate) {
  Json json;
  json["scenario"] = scenario.name;
  json["seed"] = scenario.seed;
  json["scenario_sha256"] = scenario.scenario_sha256;
  json["arithmetic_sha256"] = scenario.arithmetic_sha256;
  json["ranks"] = scenario.ranks;
  json["parameters"] = estimate.parameters;
  json["padded_parameters"] = estimate.padded_parameters;
  json["units"] = estimate.units;
  json["communication_at_start"] = traffic_json(estimate.start);
  json["communication_per_step"] = traffic_json(estimate.step);
  json["memory_per_rank"] = Json{{"parameters", estimate.state.most_parameters.count()},
                                 {"gradients", estimate.state.most_gradients.count()},
                                 {"optimizer", estimate.optimizer_bytes.count()},
                                 {"activations_peak", estimate.activation_bytes.count()}};
  json["memory_kept_per_rank"] = Json{{"parameters_kept", estimate.state.parameters.count()},
                                      {"gradients_kept", estimate.state.gradients.count()}};
  json["memory_of_process"] = estimate.process_bytes.count();
  json["flops"] = json_number(estimate.flops);
  json["estimated_wall_seconds"] = json_number(estimate.wall_seconds);
  return json.dump(2) + "\n";
}

void add_traffic(TextTable& table, const std::string& when, const std::vector<Traffic>& rows) {
  for (const Traffic& row : rows) {
    table.add({when, name_of(row.operation), grouped(row.calls), grouped(row.messages), grouped(row.bytes.count())});
  }
}

std::string wall_time(double seconds) {
  if (seconds < 1) return "less than a second";
  if (seconds < 120) return "about " + significant(seconds, 2) + " s";
  if (seconds < 7200) return "about " + significant(seconds / 60, 2) + " min";
  return "about " + significant(seconds / 3600, 3) + " h";
}

std::string report(const Scenario& scenario, const Estimate& estimate, const Style& style) {
  std::string out = header_report(scenario, 0, style);
  out += field_line("units", grouped(estimate.units) + " of gradients, " + grouped(estimate.padded_parameters) +
                                 " elements with padding");

  TextTable communication(
      {{"when", Align::kLeft}, {"operation", Align::kLeft}, {"calls a rank"}, {"messages"}, {"bytes"}});
  add_traffic(communication, "start", estimate.start);
  add_traffic(communication, "step", estimate.step);
  out += section_title("Communication of all ranks, by formula; checkpoints apart", style);
  out += communication.text(style);

  std::vector<TextTable::Column> columns = {{"parameters"}, {"gradients"}, {"optimizer"}, {"activations"}, {"total"}};
  std::vector<std::string> cells = {grouped(estimate.state.parameters.count()),
                                    grouped(estimate.state.gradients.count()),
                                    grouped(estimate.optimizer_bytes.count()),
                                    grouped(estimate.activation_bytes.count()), grouped(estimate.rank_bytes.count())};
  if (scenario.train.zero_stage >= 2) {
    columns.insert(columns.end() - 1, {"units in passing"});
    cells.insert(cells.end() - 1, grouped(estimate.state.passing().count()));
  }
  TextTable memory(std::move(columns));
  memory.add(std::move(cells));
  out += section_title("Memory of a rank in bytes, by formula; messages in flight apart", style) + memory.text(style);
  out += "  all " + std::to_string(scenario.ranks) + " ranks in this process: at least " +
         to_string(estimate.process_bytes) + "\n\n";

  const std::string work = scenario.cost_only
                               ? grouped(estimate.messages) + " messages at an assumed " +
                                     grouped(static_cast<std::int64_t>(kAssumedMessagesPerSecond)) + " a second"
                               : significant(estimate.flops, 3) + " floating-point operations at an assumed " +
                                     significant(kAssumedFlopsPerSecond / 1e9, 3) + " GFLOP/s";
  out += field_line("wall time", wall_time(estimate.wall_seconds) + " on one core: " + work);
  out += "  scenario_sha256    " + scenario.scenario_sha256 + "\n";
  out += "  arithmetic_sha256  " + scenario.arithmetic_sha256 + "\n";
  return out + "  " + style.good("valid") + "; nothing was run\n";
}

// A job sends and holds nothing, and takes no time worth telling.
std::string job_check(const Scenario& scenario, const Console& console) {
  const Style style(console.colors);
  return job_header(scenario, style) + "  scenario_sha256    " + scenario.scenario_sha256 + "\n  " +
         style.good("valid") + "; nothing was run\n";
}

std::string job_json_text(const Scenario& scenario) {
  Json json;
  json["scenario"] = scenario.name;
  json["seed"] = scenario.seed;
  json["scenario_sha256"] = scenario.scenario_sha256;
  json["ranks"] = scenario.ranks;
  return json.dump(2) + "\n";
}

}  // namespace

ExitCode execute_check(const CheckCommand& command, Console& console) {
  const Scenario scenario = load_scenario(command.scenario, command.load);
  if (scenario.job.has_value()) {
    console.out << (command.format == Format::kJson ? job_json_text(scenario) : job_check(scenario, console));
    return ExitCode::kDone;
  }
  const Estimate estimated = estimate(scenario);
  console.out << (command.format == Format::kJson ? json_text(scenario, estimated)
                                                  : report(scenario, estimated, Style(console.colors)));
  return ExitCode::kDone;
}

}  // namespace rehearse
