#pragma once

#include <cstdint>
#include <vector>

namespace rehearse {

// What a job's guards remember from step to step; part of its state (design section 3, D4).
struct GuardHistory {
  std::vector<double> losses;          // finite, of the latest steps that were applied, oldest first
  std::int64_t consecutive_skips = 0;  // steps skipped since the last that was applied
  bool operator==(const GuardHistory&) const = default;
};

}  // namespace rehearse
