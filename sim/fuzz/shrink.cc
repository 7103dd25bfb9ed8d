#include "sim/fuzz/shrink.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rehearse {
namespace {

// Where a field is: its index in each group on the way.
using FieldPath = std::vector<std::size_t>;

TextGroup& group_at(TextGroup& root, const FieldPath& path) {
  TextGroup* group = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) group = &group->fields()[path[i]].group;
  return *group;
}
TextField& field_at(TextGroup& root, const FieldPath& path) { return group_at(root, path).fields()[path.back()]; }

// Of all fields, the last first, so that taking one away moves none that is still to come.
void collect_paths(const TextGroup& group, const FieldPath& prefix, std::vector<FieldPath>& paths) {
  for (std::size_t i = group.fields().size(); i-- > 0;) {
    FieldPath path = prefix;
    path.push_back(i);
    if (group.fields()[i].is_group) collect_paths(group.fields()[i].group, path, paths);
    paths.push_back(path);
  }
}

// A number and what stands around it: "37us" in quotes, or 12.
struct Quantity {
  std::string before;
  std::int64_t number = 0;
  std::string after;
  std::string text(std::int64_t other) const { return before + std::to_string(other) + after; }
};

std::optional<Quantity> quantity_of(const std::string& value) {
  Quantity quantity;
  std::size_t begin = 0;
  if (value.starts_with('"')) begin = 1;
  const auto [end, error] = std::from_chars(value.data() + begin, value.data() + value.size(), quantity.number);
  if (error != std::errc() || *end == '.' || *end == 'e' || quantity.number < 0) return std::nullopt;
  quantity.before = value.substr(0, begin);
  quantity.after = std::string(end, value.data() + value.size());
  return quantity;
}

// Smaller and rounder ones, the simplest first.
std::vector<std::int64_t> simpler_numbers(std::int64_t number) {
  std::set<std::int64_t> all = {0, 1, 2, number / 2, number - 1};
  for (std::int64_t power = 1; power <= number; power *= 10) {
    all.insert(power);
    all.insert(number / power * power);
  }
  std::vector<std::int64_t> simpler;
  for (const std::int64_t one : all) {
    if (one >= 0 && one < number) simpler.push_back(one);
  }
  return simpler;
}

// What ends a fault, which would not stop without it; and the ranks, of which the default is not the least.
const std::set<std::string> kEnds = {"cluster",    "ranks", "until_time",      "until",
                                     "until_step", "count", "recompute_every", "max_restarts"};

// Every number of these fields is at most `most`; addresses then fit a smaller job.
void clamp(TextGroup& group, const std::set<std::string>& names, std::int64_t most) {
  for (TextField& field : group.fields()) {
    if (field.is_group) {
      clamp(field.group, names, most);
    } else if (names.contains(field.name)) {
      const std::optional<Quantity> quantity = quantity_of(field.value);
      if (quantity.has_value() && quantity->number > most) field.value = quantity->text(most);
    }
  }
}

class Shrinking {
 public:
  Shrinking(const Plan& plan, const StillFails& still_fails, const ShrinkLimits& limits)
      : still_fails_(still_fails), limits_(limits) {
    shrunk_.plan = plan;
  }

  Shrunk run() {
    bool smaller = true;
    while (smaller && shrunk_.runs < limits_.most_runs) {
      smaller = fewer_faults();
      smaller |= smaller_job("cluster", "ranks", {"rank", "from", "to", "a", "b", "local_disk", "min_ranks"}, 1);
      smaller |= smaller_job("train", "steps", {"step", "until_step", "from_step", "warmup_steps", "every_steps"}, 0);
      smaller |= smaller_job("model", "layers", {}, 0);
      smaller |= fewer_fields();
      smaller |= simpler_kinds();
      smaller |= rounder_numbers();
    }
    return std::move(shrunk_);
  }

 private:
  // Takes the candidate where it still fails.
  bool take(Plan candidate) {
    if (shrunk_.runs >= limits_.most_runs) return false;
    if (!is_fair(candidate)) return false;
    ++shrunk_.runs;
    if (!still_fails_(candidate)) return false;
    shrunk_.plan = std::move(candidate);
    return true;
  }

  // Half of the faults at once, then a quarter, down to one by one.
  bool fewer_faults() {
    bool smaller = false;
    const TextGroup* faults = shrunk_.plan.faults();
    if (faults == nullptr) return false;
    for (std::size_t size = (faults->fields().size() + 1) / 2; size > 0; size /= 2) {
      for (std::size_t begin = 0; begin < shrunk_.plan.faults()->fields().size();) {
        Plan candidate = shrunk_.plan;
        auto& fields = candidate.scenario.group("faults").fields();
        const std::size_t end = std::min(begin + size, fields.size());
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(begin),
                     fields.begin() + static_cast<std::ptrdiff_t>(end));
        if (take(std::move(candidate))) {
          smaller = true;
        } else {
          begin += size;
        }
      }
    }
    return smaller;
  }

  // A number of the job, with the addresses that have to fit it: at most that number, less `base` for those from 0.
  bool smaller_job(const char* group, const char* name, const std::set<std::string>& addresses, std::int64_t base) {
    bool smaller = false;
    for (;;) {
      const TextField* found = shrunk_.plan.scenario.find(group);
      if (found == nullptr) return smaller;
      const TextField* field = found->group.find(name);
      if (field == nullptr) return smaller;
      const std::int64_t number = quantity_of(field->value)->number;
      bool taken = false;
      for (std::int64_t fewer = 1; fewer < number && !taken; ++fewer) {
        Plan candidate = shrunk_.plan;
        candidate.scenario.group(group).find(name)->value = std::to_string(fewer);
        clamp(candidate.scenario, addresses, fewer - base);
        taken = take(std::move(candidate));
      }
      if (!taken) return smaller;
      smaller = true;
    }
  }

  bool fewer_fields() {
    bool smaller = false;
    std::vector<FieldPath> paths;
    collect_paths(shrunk_.plan.scenario, {}, paths);
    for (const FieldPath& path : paths) {
      if (kEnds.contains(field_at(shrunk_.plan.scenario, path).name)) continue;
      Plan candidate = shrunk_.plan;
      auto& fields = group_at(candidate.scenario, path).fields();
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(path.back()));
      smaller |= take(std::move(candidate));
    }
    return smaller;
  }

  bool simpler_kinds() {
    bool smaller = false;
    for (const auto& [kind, simpler] : {std::pair("hang", "crash"), std::pair("torn_write", "lost_fsync")}) {
      const TextGroup* faults = shrunk_.plan.faults();
      for (std::size_t i = 0; faults != nullptr && i < faults->fields().size(); ++i) {
        if (faults->fields()[i].name != kind) continue;
        Plan candidate = shrunk_.plan;
        candidate.scenario.group("faults").fields()[i].name = simpler;
        smaller |= take(std::move(candidate));
        faults = shrunk_.plan.faults();
      }
    }
    return smaller;
  }

  bool rounder_numbers() {
    bool smaller = false;
    std::vector<FieldPath> paths;
    collect_paths(shrunk_.plan.scenario, {}, paths);
    for (const FieldPath& path : paths) {
      const TextField field = field_at(shrunk_.plan.scenario, path);
      // No number is simpler than another in these; ranks, steps and layers have a pass of their own.
      if (field.is_group || field.name == "bit" || field.name == "factor" || field.name == "recompute_every") continue;
      const std::optional<Quantity> quantity = quantity_of(field.value);
      if (!quantity.has_value()) continue;
      for (const std::int64_t number : simpler_numbers(quantity->number)) {
        if (number == 0 && field.name == "count") continue;  // no limit
        Plan candidate = shrunk_.plan;
        field_at(candidate.scenario, path).value = quantity->text(number);
        if (!take(std::move(candidate))) continue;
        smaller = true;
        break;
      }
    }
    return smaller;
  }

  const StillFails& still_fails_;
  ShrinkLimits limits_;
  Shrunk shrunk_;
};

}  // namespace

Shrunk shrink_plan(const Plan& plan, const StillFails& still_fails, const ShrinkLimits& limits) {
  return Shrinking(plan, still_fails, limits).run();
}

}  // namespace rehearse
