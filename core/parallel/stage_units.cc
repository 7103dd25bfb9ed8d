#include "core/parallel/stage_units.h"

namespace rehearse {

StageUnits::StageUnits(const ParameterLayout& layout, const UnitPlan& plan) {
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const int first_tensor = layout.first_tensor(stage);
    const UnitRange used(plan.unit_of(layout.first_tensor(stage + 1) - 1), plan.unit_of(first_tensor) + 1);
    UnitRange final = used;
    // Only the unit that reaches down into earlier stages waits for them.
    if (plan.units()[static_cast<std::size_t>(used.end) - 1].first_tensor < first_tensor) --final.end;
    used_.push_back(used);
    final_.push_back(final);
  }
}

std::vector<std::int64_t> gathers_in_a_step(const ParameterLayout& layout, const UnitPlan& plan,
                                            std::int64_t microbatches) {
  const StageUnits stages(layout, plan);
  std::vector<std::int64_t> gathers(plan.units().size(), 0);
  UnitRange held;
  const auto visit = [&](int stage) {
    const UnitRange used = stages.of(stage);
    for (int unit = used.first; unit < used.end; ++unit) {
      if (!held.contains(unit)) ++gathers[static_cast<std::size_t>(unit)];
    }
    held = used;
  };
  for (std::int64_t i = 0; i < microbatches; ++i) {
    for (int stage = 0; stage < stages.stages(); ++stage) visit(stage);
    for (int stage = stages.stages() - 1; stage >= 0; --stage) visit(stage);
  }
  return gathers;
}

}  // namespace rehearse
