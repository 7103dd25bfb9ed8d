#pragma once

#include <cstdint>
#include <string>

#include "sim/config/scenario.h"
#include "sim/fuzz/text_group.h"

namespace rehearse {

// A job and what goes wrong in it: a whole scenario.
struct Plan {
  TextGroup scenario;

  std::string text() const { return scenario.text(); }
  const TextGroup* faults() const;
};

// Restarts from which on a plan counts as having enough of them: such a job must come to its end.
inline constexpr std::int64_t kAmpleRestarts = 200;

// Draws the plan of a seed: the same on every machine. The job, how many faults and of which kinds, and every number of
// theirs come from streams of their own. Some plans have no fault, most a few, some many. All faults stop: each is
// limited in number, in steps or in time, so that the job must come to its last step or end as its policies say. What
// nothing else would show switches on the guard that sees it.
Plan draw_plan(std::uint64_t seed);

// Whether nothing in a plan fails by what the plan is: faults that nothing else shows have their guards, and no rank is
// alone with mistakes that only others see. Every plan that is drawn is; one that is taken apart may not be any more.
bool is_fair(const Plan& plan);

// The scenario of a plan. Throws InputError where the loader refuses it: for a plan that was drawn a bug of the
// drawing.
Scenario load_plan(const Plan& plan, const std::string& source_name);
Scenario load_plan_text(const std::string& text, const std::string& source_name);

}  // namespace rehearse
