#pragma once

#include <optional>
#include <vector>

#include "tools/validate_collectives/rows.h"

namespace rehearse {

// One row and what the model says of it; nothing where there are no presets.
struct CheckedRow {
  PublishedRow row;
  std::optional<StackPrediction> prediction;

  // Predicted over measured, minus 1.
  double error() const { return prediction->time.to_seconds() * 1e6 / row.microseconds - 1; }
};
std::vector<CheckedRow> predict_rows(const StackConstants& constants, const std::vector<PublishedRow>& rows);

// Of absolute errors. The p90 of n is the ceil(0.9 n)-th smallest, the median the mean of the middle two of an even n.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0;
  double p90 = 0;
  double bias = 0;  // mean of the signed errors
};
ErrorSummary summary_of(std::vector<double> signed_errors);
// Of the rows of a split that have a prediction.
ErrorSummary summary_of(const std::vector<CheckedRow>& rows, Split split);

// The report: every row, then summaries by stack, table and split.
std::string validation_report(const std::vector<CheckedRow>& rows);

}  // namespace rehearse
