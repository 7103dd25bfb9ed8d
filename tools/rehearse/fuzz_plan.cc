#include <algorithm>

#include "tools/rehearse/fuzz.h"
#include "tools/rehearse/isolated.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

constexpr int kMostSeconds = 60;
constexpr std::size_t kColumns = 118;
constexpr std::size_t kMostDetail = 300;

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

PlanResult run_plan_isolated(const std::string& text, const std::string& source_name) {
  const Isolated isolated = run_isolated(
      [&] {
        SeedResult one;
        one.result = run_plan_text(text, source_name);
        return line_of(one);
      },
      kMostSeconds);
  if (isolated.whole) return seed_result_of(isolated.text, "a plan's process").result;
  PlanResult result;
  result.outcome = Outcome::kInterrupted;
  result.findings.push_back(Finding{"crash", isolated.problem + ": " + one_line(isolated.text)});
  return result;
}

std::string shrunk_scenario(const Plan& plan, const Finding& finding, const std::string& origin,
                            const std::string& replay) {
  // A scenario's first comment is part of its checkpoints, and their bytes take time: so the plan is made smaller with
  // the comment that it will have.
  const std::string story = "Found by rehearse fuzz in " + origin + ", and made smaller. What does not hold, " +
                            finding.invariant + ": " + one_line(finding.detail).substr(0, kMostDetail);
  const std::string comment = wrapped(story, "# ", kColumns) + "# Again: " + replay + "\n";
  const auto fails_as = [&finding](const std::string& text) {
    const std::vector<Finding> findings = run_plan_isolated(text, "plan").findings;
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& one) { return one.invariant == finding.invariant; });
  };
  const StillFails still_fails = [&](const Plan& candidate) { return fails_as(comment + candidate.text()); };
  if (!still_fails(plan)) return comment + plan.text();
  return comment + shrink_plan(plan, still_fails).plan.text();
}

void FuzzTotals::add(const SeedResult& one) {
  ++seeds;
  const std::set<std::string>& paths = one.result.reached.paths;
  struck += one.result.reached.strikes.empty() ? 0 : 1;
  const auto is_recovery = [](const std::string& path) {
    return path.starts_with("RESTART") || path.starts_with("ROLLBACK") || path == "SKIP_STEP";
  };
  recovered += std::any_of(paths.begin(), paths.end(), is_recovery) ? 1 : 0;
  ++outcomes[name_of(one.result.outcome)];
  if (!one.result.reference.empty()) ++references[one.result.reference];
  if (!one.result.findings.empty()) {
    ++found[one.result.findings.front().invariant];
    failing.push_back(one);
  }
  reached.add(one.result.reached);
}

}  // namespace rehearse
