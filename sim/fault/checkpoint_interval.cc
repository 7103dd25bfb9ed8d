#include "sim/fault/checkpoint_interval.h"

#include <cmath>

#include "core/base/check.h"

namespace rehearse {

double young_interval(double save_seconds, double mean_seconds_between_failures) {
  CHECK(save_seconds >= 0 && mean_seconds_between_failures > 0);
  return std::sqrt(2 * save_seconds * mean_seconds_between_failures);
}

double daly_interval(double save_seconds, double mean_seconds_between_failures) {
  const double m = mean_seconds_between_failures;
  if (save_seconds >= 2 * m) return m;
  const double ratio = save_seconds / (2 * m);
  return young_interval(save_seconds, m) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - save_seconds;
}

double expected_waste(double interval_seconds, double save_seconds, double restart_seconds,
                      double mean_seconds_between_failures) {
  CHECK(interval_seconds > 0 && mean_seconds_between_failures > 0);
  return save_seconds / interval_seconds + interval_seconds / (2 * mean_seconds_between_failures) +
         restart_seconds / mean_seconds_between_failures;
}

}  // namespace rehearse
