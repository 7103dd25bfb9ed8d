#pragma once

#include "sim/cluster/interval_report.h"
#include "tools/rehearse/json.h"

namespace rehearse {

// "checkpoint_interval" of summary.json: what is not known is absent.
inline Json interval_json(const IntervalReport& report) {
  Json json;
  json["mean_seconds_between_failures"] = json_number(report.mean_between_failures);
  json["mean_from"] = report.mean_by_rate ? "rate" : "run";
  const auto add = [&json](const char* name, const std::optional<double>& value) {
    if (value.has_value()) json[name] = json_number(*value);
  };
  add("restart_seconds", report.restart);
  add("save_seconds", report.save);
  add("cadence_seconds", report.cadence);
  add("young_seconds", report.young);
  add("daly_seconds", report.daly);
  add("expected_waste", report.expected_waste);
  json["waste"] = json_number(report.waste);
  return json;
}

}  // namespace rehearse
