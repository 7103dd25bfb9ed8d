#include "core/train/step_sums.h"

#include <cmath>

namespace rehearse {

double collect(const std::vector<StepSums>& sums, StepReport& report) {
  const auto divisor = static_cast<double>(sums.size());
  double loss = 0;
  double squares = 0;
  double nonfinite = 0;
  double tokens = 0;
  for (const StepSums& one : sums) {
    report.rank_losses.push_back(one.loss);
    loss += one.loss;
    squares += one.sum_of_squares;
    nonfinite += one.nonfinite_elements;
    tokens += one.tokens;
  }
  report.loss = loss / divisor;
  report.grad_norm = std::sqrt(squares) / divisor;
  report.nonfinite_elements = static_cast<std::int64_t>(nonfinite);
  report.tokens = static_cast<std::int64_t>(tokens);
  return divisor;
}

}  // namespace rehearse
