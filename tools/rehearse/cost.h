#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cost/cost_report.h"
#include "tools/rehearse/command_line.h"
#include "tools/rehearse/console.h"

namespace rehearse {

// The report of one scenario, below its header; and the same as JSON, and as CSV with a row a collective.
std::string cost_text(const Scenario& scenario, const CostReport& report, const Style& style);
std::string cost_json(const Scenario& scenario, const CostReport& report);
std::string cost_csv(const CostReport& report);

// One value of each swept field, and what came of it.
struct CostRow {
  std::vector<std::string> values;  // in the order of the sweeps
  Outcome outcome = Outcome::kDone;
  std::int64_t steps = 0;
  double step_seconds = 0;
  double computing_seconds = 0;
  double overlapped_seconds = 0;
  double exposed_seconds = 0;
  double waiting_seconds = 0;
  double other_seconds = 0;
  std::string busiest_link;
  double busiest_utilisation = 0;
  double tokens_per_second = 0;
  double rank_hours = 0;
  std::optional<double> price;
};

// A row for every combination of the command's sweeps, the last one's values changing fastest; fewer where it was
// interrupted. All combinations are loaded before the first runs.
std::vector<CostRow> sweep_cost(const CostCommand& command, const Console& console);
std::string sweep_text(const CostCommand& command, const std::vector<CostRow>& rows, const Style& style);
std::string sweep_json(const CostCommand& command, const std::vector<CostRow>& rows);
std::string sweep_csv(const CostCommand& command, const std::vector<CostRow>& rows);

// Cells separated by commas, quoted where RFC 4180 asks for it.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace rehearse
