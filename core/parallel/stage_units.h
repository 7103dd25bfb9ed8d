#pragma once

#include <cstdint>
#include <vector>

#include "core/model/layout.h"
#include "core/parallel/units.h"

namespace rehearse {

// Units [first, end).
struct UnitRange {
  UnitRange() = default;
  UnitRange(int range_first, int range_end) : first(range_first), end(range_end) {}
  bool empty() const { return first >= end; }
  bool contains(int unit) const { return unit >= first && unit < end; }
  int first = 0;
  int end = 0;
};

// Which units a stage of the model (core/model/layout.h) uses. Units are counted from the end of the flat vector, so
// the last stage has unit 0; one unit may hold tensors of several stages, and a stage may use several units.
class StageUnits {
 public:
  StageUnits(const ParameterLayout& layout, const UnitPlan& plan);

  int stages() const { return static_cast<int>(used_.size()); }
  // Those with a parameter of the stage.
  UnitRange of(int stage) const { return used_[static_cast<std::size_t>(stage)]; }
  // Those whose gradients are all final once backward of the stage ran, and not before.
  UnitRange final_after(int stage) const { return final_[static_cast<std::size_t>(stage)]; }

 private:
  std::vector<UnitRange> used_;
  std::vector<UnitRange> final_;
};

// How many times each unit's parameters are gathered in a step's passes with zero_stage 3: a unit that the next stage
// to run uses too is kept.
std::vector<std::int64_t> gathers_in_a_step(const ParameterLayout& layout, const UnitPlan& plan,
                                            std::int64_t microbatches);

}  // namespace rehearse
