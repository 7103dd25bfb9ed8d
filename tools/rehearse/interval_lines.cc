#include "tools/rehearse/interval_lines.h"

#include <array>
#include <utility>

#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {

std::string span_text(double seconds) {
  constexpr std::array<std::pair<double, const char*>, 7> kUnits = {
      {{86'400, "days"}, {3'600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  for (const auto& [size, name] : kUnits) {
    // Two days read better in hours.
    if (seconds >= size * (size > 3'600 ? 2 : 1)) return significant(seconds / size, 3) + " " + name;
  }
  return seconds == 0 ? "0 s" : significant(seconds / 1e-12, 3) + " ps";
}

std::string percent(double part) { return decimals(100 * part, 2) + " %"; }

std::string interval_lines(const std::optional<IntervalReport>& report, const Style& style) {
  if (!report.has_value()) return "";
  std::string out = section_title("How often to save", style);
  const auto line = [&out](const std::string& name, const std::string& value) {
    out += "  " + name + std::string(26 - name.size(), ' ') + value + "\n";
  };
  line("mean time between failures", " " + span_text(report->mean_between_failures) +
                                         (report->mean_by_rate ? ", by the failure rate" : ", of this run"));
  if (report->restart) line("failure to training", " " + span_text(*report->restart) + " on average");
  if (report->save) line("cost of a save", " " + span_text(*report->save));
  if (report->cadence) line("cadence used", " " + span_text(*report->cadence) + " of training between two saves");
  if (report->young) line("Young's interval", " " + span_text(*report->young));
  if (report->daly) line("Daly's interval", " " + span_text(*report->daly));
  line("waste", " " + percent(report->waste) + " of the time" +
                    (report->expected_waste ? ", " + percent(*report->expected_waste) + " expected: C/T + T/2M" +
                                                  (report->restart ? " + R/M" : "")
                                            : std::string()));
  return out;
}

}  // namespace rehearse
