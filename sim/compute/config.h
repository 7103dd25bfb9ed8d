#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "sim/compute/roofline.h"

namespace rehearse {

// Times of one rank are multiplied by numerator / denominator: 3/2 is a rank that takes 1.5 times as long.
struct RankSlowdown {
  int rank = 0;
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
};

// A device that does `rate` floating-point operations a second, whatever they are; or one with a roofline.
struct DeviceConfig {
  FlopRate rate;
  std::optional<Roofline> roofline;  // instead of the rate
  std::vector<RankSlowdown> slowdowns;
};

}  // namespace rehearse
