#include "tools/export/report_run.h"

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "tools/export/svg.h"

namespace rehearse {
namespace {

[[noreturn]] void refuse(const ReportInput& input, const std::string& file, const std::string& what) {
  throw InputError(input.name + "/" + file + ": " + what);
}

MetricsRow row_of(const Json& json) {
  MetricsRow row;
  row.step = json.at("step").get<std::int64_t>();
  row.attempt = json.value("attempt", std::int64_t{1});
  row.recoveries = json.value("recoveries", std::int64_t{0});
  row.step_seconds = json.at("step_seconds").get<double>();
  if (json.contains("loss")) {
    const double loss = number_of(json["loss"]);
    if (std::isfinite(loss)) row.loss = loss;
    row.loss_text = json["loss"].is_string() ? json["loss"].get<std::string>() : json["loss"].dump();
  }
  return row;
}

}  // namespace

double number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

ReportRun read_report_run(const ReportInput& input) {
  ReportRun run;
  run.input = &input;
  run.summary = parse_json_or_discarded(input.summary);
  if (!run.summary.is_object()) refuse(input, "summary.json", "is not JSON, or cut short");
  for (const char* field : {"scenario", "seed", "outcome", "exit_code", "steps", "simulated_seconds"}) {
    if (!run.has(field)) refuse(input, "summary.json", std::string("is not the summary of a run: it has no ") + field);
  }
  std::size_t start = 0;
  for (std::int64_t line = 1; start < input.metrics.size(); ++line) {
    const std::size_t end = input.metrics.find('\n', start);
    const std::string text = input.metrics.substr(start, end == std::string::npos ? end : end - start);
    try {
      run.rows.push_back(row_of(parse_json(text)));
    } catch (const Json::exception&) {
      refuse(input, "metrics.jsonl", "line " + std::to_string(line) + " is not an attempt at a step");
    }
    if (end == std::string::npos) break;
    start = end + 1;
  }
  return run;
}

std::vector<bool> ReportRun::standing() const {
  std::map<std::int64_t, std::size_t> last;
  for (std::size_t i = 0; i < rows.size(); ++i) last[rows[i].step] = i;
  std::vector<bool> stands(rows.size(), false);
  const auto steps = summary["steps"].get<std::int64_t>();
  for (const auto& [step, index] : last) stands[index] = step <= steps;
  return stands;
}

std::string with_groups(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string short_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 4).ptr;
  return std::string(text.data(), end);
}

namespace {

struct TimeUnit {
  double least;  // from so many seconds on
  double seconds;
  const char* name;
};
constexpr TimeUnit kTimeUnits[] = {{2 * 86400, 86400, " days"}, {2 * 3600, 3600, " h"}, {120, 60, " min"}, {1, 1, " s"},
                                   {1e-3, 1e-3, " ms"},         {1e-6, 1e-6, " us"},    {0, 1e-9, " ns"}};

const TimeUnit& unit_of(double seconds) {
  for (const TimeUnit& unit : kTimeUnits) {
    if (seconds >= unit.least) return unit;
  }
  return kTimeUnits[std::size(kTimeUnits) - 1];
}

}  // namespace

std::string short_time(double seconds) {
  if (seconds == 0) return "0";
  const TimeUnit& unit = unit_of(seconds);
  return short_number(seconds / unit.seconds) + unit.name;
}

std::vector<double> time_ticks(double seconds, int count) {
  const TimeUnit& unit = unit_of(seconds);
  std::vector<double> ticks = round_ticks(0, seconds / unit.seconds, count);
  for (double& tick : ticks) tick *= unit.seconds;
  return ticks;
}

std::string share_text(double part) { return short_number(part * 100) + " %"; }

}  // namespace rehearse
