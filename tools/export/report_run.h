#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/json.h"
#include "tools/export/report_page.h"

// For the .cc files of reports only: it includes the JSON library.

namespace rehearse {

// A line of metrics.jsonl, as far as a report shows it.
struct MetricsRow {
  std::int64_t step = 0;
  std::int64_t attempt = 1;
  std::int64_t recoveries = 0;
  std::optional<double> loss;  // nothing where it is no number
  std::string loss_text;
  double step_seconds = 0;
};

// A run as its report sees it.
struct ReportRun {
  const ReportInput* input = nullptr;
  Json summary;
  std::vector<MetricsRow> rows;  // by attempt

  bool has(const char* field) const { return summary.contains(field); }
  // Steps that count: row `i` is the last attempt at its step, and the job did not fall back behind it.
  std::vector<bool> standing() const;
};

// Throws InputError where a file is not a run's.
ReportRun read_report_run(const ReportInput& input);

// A JSON number, or the text that stands for one that JSON has not.
double number_of(const Json& value);

// For people: "1,234,567"; a number with about four digits; a time with its unit; "12.3 %".
std::string with_groups(std::int64_t value);
std::string short_number(double value);
std::string short_time(double seconds);
// Moments from 0 to `seconds`, about `count` of them, that are round as short_time() writes the last of them.
std::vector<double> time_ticks(double seconds, int count);
std::string share_text(double part);

}  // namespace rehearse
