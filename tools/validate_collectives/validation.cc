#include "tools/validate_collectives/validation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using Align = TextTable::Align;

std::string percent(double ratio) { return decimals(100 * ratio, 1) + "%"; }
std::string signed_percent(double ratio) { return (ratio >= 0 ? "+" : "") + percent(ratio); }

std::vector<std::string> cells(const CheckedRow& checked) {
  const PublishedRow& row = checked.row;
  std::vector<std::string> cells = {row.table, row.collective, std::to_string(row.gpus), to_string(row.size),
                                    decimals(row.microseconds, 1)};
  if (!checked.prediction.has_value()) {
    cells.insert(cells.end(), {"", "", "no presets for " + row.gpu});
    return cells;
  }
  const StackPlan& plan = checked.prediction->plan;
  cells.push_back(decimals(checked.prediction->time.to_seconds() * 1e6, 1));
  cells.push_back(signed_percent(checked.error()));
  cells.push_back(std::string(name_of(plan.algorithm)) + " " + name_of(plan.protocol));
  return cells;
}

void add_summary(TextTable& table, const std::string& name, const std::string& split, const ErrorSummary& summary) {
  table.add({name, split, std::to_string(summary.rows), percent(summary.median), percent(summary.p90),
             signed_percent(summary.bias)});
}

// Summaries by some name of a row, in the order of names.
std::string summaries(const std::vector<CheckedRow>& rows, const std::string& title,
                      const std::function<std::string(const PublishedRow&)>& name_of_row) {
  std::map<std::pair<std::string, Split>, std::vector<double>> errors;
  for (const CheckedRow& one : rows) {
    if (!one.prediction.has_value()) continue;
    errors[{name_of_row(one.row), one.row.split}].push_back(one.error());
  }
  TextTable table(
      {{title, Align::kLeft}, {"split", Align::kLeft}, {"rows"}, {"median"}, {"90th percentile"}, {"mean, signed"}});
  for (const auto& [key, found] : errors) add_summary(table, key.first, name_of(key.second), summary_of(found));
  return table.text(Style(false)) + "\n";
}

}  // namespace

std::vector<CheckedRow> predict_rows(const StackConstants& constants, const std::vector<PublishedRow>& rows) {
  std::vector<CheckedRow> checked;
  for (const PublishedRow& row : rows) {
    CheckedRow& one = checked.emplace_back();
    one.row = row;
    if (row.site.has_value()) one.prediction = predict_stack(constants, *row.site, row.operation, row.size);
  }
  return checked;
}

ErrorSummary summary_of(std::vector<double> signed_errors) {
  ErrorSummary summary;
  summary.rows = signed_errors.size();
  if (summary.rows == 0) return summary;
  for (double& error : signed_errors) {
    summary.bias += error / static_cast<double>(summary.rows);
    error = std::fabs(error);
  }
  std::sort(signed_errors.begin(), signed_errors.end());
  const std::size_t n = summary.rows;
  summary.median = (signed_errors[(n - 1) / 2] + signed_errors[n / 2]) / 2;
  summary.p90 = signed_errors[(9 * n + 9) / 10 - 1];
  return summary;
}

ErrorSummary summary_of(const std::vector<CheckedRow>& rows, Split split) {
  std::vector<double> errors;
  for (const CheckedRow& one : rows) {
    if (one.row.split == split && one.prediction.has_value()) errors.push_back(one.error());
  }
  return summary_of(std::move(errors));
}

std::string validation_report(const std::vector<CheckedRow>& rows) {
  std::string out;
  for (const Split split : {Split::kFit, Split::kPredict, Split::kApart}) {
    TextTable table({{"table", Align::kLeft},
                     {"collective", Align::kLeft},
                     {"GPUs"},
                     {"size"},
                     {"measured us"},
                     {"predicted us"},
                     {"error"},
                     {"plan", Align::kLeft}});
    for (const CheckedRow& one : rows) {
      if (one.row.split == split) table.add(cells(one));
    }
    if (table.empty()) continue;
    out += std::string("Rows to ") + (split == Split::kApart ? "keep apart" : name_of(split)) + "\n";
    out += table.text(Style(false)) + "\n";
  }
  out += summaries(rows, "table", [](const PublishedRow& row) { return row.table; });
  out += summaries(rows, "stack", [](const PublishedRow& row) { return row.stack; });
  out += summaries(rows, "hosts", [](const PublishedRow& row) {
    return std::string(row.site->hosts == 1 ? "one host" : "several hosts");
  });
  out += summaries(rows, "all", [](const PublishedRow&) { return std::string("all"); });
  return out;
}

}  // namespace rehearse
