#pragma once

#include <cmath>

#include "core/base/numbers.h"
#include "core/base/units.h"
#include "core/formats/json.h"

// Shared by what writes JSON. Include in .cc files only: the JSON header is large.

namespace rehearse {

// Keys keep the order they are given in, so that equal runs give equal bytes.
using OrderedJson = nlohmann::ordered_json;

// A number that reads back to the same double; NaN and infinities, which JSON has not, are the strings "nan", "inf" and
// "-inf".
inline OrderedJson json_number(double value) {
  if (std::isfinite(value)) return value;
  return shortest_text(value);
}

// Virtual time in seconds: the double nearest to it.
inline double seconds_of(Duration time) { return static_cast<double>(time.ps()) / 1e12; }

}  // namespace rehearse
