#include "core/base/numbers.h"
#include "tools/rehearse/cost.h"
#include "tools/rehearse/json.h"

namespace rehearse {
namespace {

template <class Value, class Convert>
Json optional_json(const std::optional<Value>& value, Convert convert) {
  return value.has_value() ? Json(convert(*value)) : Json();
}

Json split_json(const TimeSplit& split) {
  Json json;
  json["computing"] = seconds_of(split.computing);
  json["overlapped"] = seconds_of(split.overlapped);
  json["exposed"] = seconds_of(split.exposed);
  json["waiting"] = seconds_of(split.waiting);
  json["other"] = seconds_of(split.other);
  return json;
}

Json collective_json(const CollectiveCost& cost) {
  Json json;
  json["operation"] = name_of(cost.operation);
  json["phase"] = name_of(cost.phase);
  json["algorithm"] = cost.algorithm;
  json["of_model"] = cost.of_model;
  json["calls"] = json_number(cost.calls);
  json["size"] = cost.size.count();
  json["messages"] = optional_json(cost.messages, [](std::int64_t value) { return value; });
  json["bytes"] = optional_json(cost.bytes, [](Bytes value) { return value.count(); });
  json["seconds"] = seconds_of(cost.time);
  json["shortest_seconds"] = seconds_of(cost.shortest);
  json["longest_seconds"] = seconds_of(cost.longest);
  json["late_seconds"] = seconds_of(cost.late);
  json["formula_seconds"] = optional_json(cost.formula, [](Duration value) { return seconds_of(value); });
  json["difference"] = cost.difference;
  json["algbw_bytes_per_second"] = json_number(cost.algorithm_bandwidth);
  json["busbw_bytes_per_second"] = json_number(cost.bus_bandwidth);
  json["share_of_step"] = json_number(cost.share);
  return json;
}

const char* kind_name(PathPiece::Kind kind) {
  switch (kind) {
    case PathPiece::Kind::kCompute:
      return "compute";
    case PathPiece::Kind::kCollective:
      return "collective";
    case PathPiece::Kind::kOther:
      break;
  }
  return "other";
}

}  // namespace

std::string cost_json(const Scenario& scenario, const CostReport& report) {
  Json json;
  json["scenario"] = scenario.name;
  json["seed"] = scenario.seed;
  json["scenario_sha256"] = scenario.scenario_sha256;
  json["outcome"] = name_of(report.record.outcome);
  json["ranks"] = report.ranks;
  json["steps"] = report.steps;
  json["simulated_seconds"] = seconds_of(report.record.simulated.since_start());
  json["step_seconds"] = seconds_of(report.step);
  json["shortest_step_seconds"] = seconds_of(report.shortest_step);
  json["longest_step_seconds"] = seconds_of(report.longest_step);
  json["step_split"] = split_json(report.split);
  json["collectives"] = Json::array();
  for (const CollectiveCost& cost : report.collectives) json["collectives"].push_back(collective_json(cost));
  json["counted_per_step"] = Json::array();
  for (const OperationCount& counted : report.counted) {
    json["counted_per_step"].push_back(Json{{"operation", name_of(counted.operation)},
                                            {"messages", json_number(counted.messages)},
                                            {"bytes", json_number(counted.bytes)}});
  }
  json["links"] = Json::array();
  for (const StepLink& link : report.links) {
    json["links"].push_back(Json{{"link", link.name},
                                 {"bits_per_second", link.bandwidth.bits_per_second()},
                                 {"bytes_per_step", json_number(link.bytes)},
                                 {"utilisation", json_number(link.utilisation)}});
  }
  json["critical_path_step"] = report.path_step;
  json["critical_path"] = Json::array();
  for (auto piece = report.path.rbegin(); piece != report.path.rend(); ++piece) {
    Json one{{"kind", kind_name(piece->kind)}, {"rank", piece->rank}, {"seconds", seconds_of(piece->time)}};
    if (piece->kind == PathPiece::Kind::kCollective) one["operation"] = name_of(piece->operation);
    json["critical_path"].push_back(std::move(one));
  }
  json["tokens_per_second"] = json_number(report.tokens_per_second);
  json["flops_per_second_per_rank"] = json_number(report.flops_per_second);
  json["rank_hours_per_step"] = json_number(report.rank_hours_per_step);
  json["rank_hours"] = json_number(report.rank_hours);
  if (report.price.has_value()) {
    json["price_per_step"] = json_number(report.price_per_step.value_or(0));
    json["price"] = json_number(*report.price);
  }
  return json.dump(2) + "\n";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string& cell = cells[i];
    line += i == 0 ? "" : ",";
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

std::string cost_csv(const CostReport& report) {
  std::string out =
      csv_line({"operation", "phase", "algorithm", "calls", "size", "messages", "bytes", "seconds", "formula_seconds",
                "late_seconds", "algbw_bytes_per_second", "busbw_bytes_per_second", "share_of_step", "difference"});
  for (const CollectiveCost& cost : report.collectives) {
    out += csv_line({name_of(cost.operation), name_of(cost.phase), cost.algorithm, shortest_text(cost.calls),
                     std::to_string(cost.size.count()), cost.messages ? std::to_string(*cost.messages) : "",
                     cost.bytes ? std::to_string(cost.bytes->count()) : "", shortest_text(seconds_of(cost.time)),
                     cost.formula ? shortest_text(seconds_of(*cost.formula)) : "", shortest_text(seconds_of(cost.late)),
                     shortest_text(cost.algorithm_bandwidth), shortest_text(cost.bus_bandwidth),
                     shortest_text(cost.share), cost.difference});
  }
  return out;
}

}  // namespace rehearse
