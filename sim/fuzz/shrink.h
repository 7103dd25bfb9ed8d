#pragma once

#include <cstdint>
#include <functional>

#include "sim/fuzz/draw_plan.h"

namespace rehearse {

// Whether a smaller plan still fails in the same way; one that the loader refuses does not. Asked of fair plans alone.
using StillFails = std::function<bool(const Plan&)>;

struct ShrinkLimits {
  std::int64_t most_runs = 2000;
};

struct Shrunk {
  Plan plan;
  std::int64_t runs = 0;  // plans that were tried
};

// Makes a plan that fails smaller while it still fails, until nothing more can be taken from it: fewer faults first,
// then fewer ranks, steps and layers, fields that need not be there, simpler kinds, and rounder numbers. The same plan
// and the same answers give the same result.
Shrunk shrink_plan(const Plan& plan, const StillFails& still_fails, const ShrinkLimits& limits = {});

}  // namespace rehearse
