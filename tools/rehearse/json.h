#pragma once

#include <cmath>

#include "core/base/numbers.h"
#include "core/base/units.h"
#include "core/formats/json.h"

// Shared by what writes JSON. Include in .cc files only: the JSON header is large.

namespace rehearse {

// A number that reads back to the same double; NaN and infinities, which JSON has not, are the strings "nan", "inf" and
// "-inf".
inline Json json_number(double value) {
  if (std::isfinite(value)) return value;
  return shortest_text(value);
}

// Virtual time in seconds: the double nearest to it.
inline double seconds_of(Duration time) { return static_cast<double>(time.ps()) / 1e12; }

}  // namespace rehearse
