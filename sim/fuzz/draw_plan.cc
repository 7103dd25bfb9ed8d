#include "sim/fuzz/draw_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/config/loader.h"
#include "sim/fuzz/draw_faults.h"
#include "sim/fuzz/fault_kinds.h"
#include "sim/fuzz/job_shape.h"

namespace rehearse {
namespace {

bool can_have(const JobShape& shape, FaultName name) {
  if (is_of_links(name)) return shape.has_plain_network && shape.ranks > 1;
  if (is_of_storage(name)) return shape.saves;
  // One rank calls nobody wrongly, and nobody waits for it.
  if (name == FaultName::kHang) return shape.ranks > 1;
  if (name == FaultName::kProgram) return shape.ranks > 1 && !shape.is_elastic;
  return true;
}

bool shows_in_recovery(FaultName name) { return name >= FaultName::kTornWrite && name <= FaultName::kStaleView; }

bool makes_recovery(FaultName name) {
  return name == FaultName::kCrash || name == FaultName::kHang || name == FaultName::kPowerLoss ||
         name == FaultName::kProgram || name == FaultName::kRate;
}

// How a plan is minded: which kinds it has at all, and how many faults. Few kinds together meet more often.
std::vector<FaultName> draw_kinds(const JobShape& shape, const RandomStream& stream) {
  Dice dice(stream);
  const std::int64_t mood = dice.below(16);
  const std::int64_t count = mood < 1 ? 0 : mood < 12 ? dice.between(1, 4) : dice.between(5, 12);
  const std::int64_t share = dice.one_of<std::int64_t>({1, 4, 8});  // of 8 kinds
  std::vector<FaultName> chosen;
  std::vector<FaultName> all;
  for (int i = 0; i < kFaultNames; ++i) {
    const auto name = static_cast<FaultName>(i);
    if (!can_have(shape, name)) continue;
    all.push_back(name);
    if (dice.chance(share, 8)) chosen.push_back(name);
  }
  const std::vector<FaultName>& from = chosen.empty() ? all : chosen;
  std::vector<FaultName> kinds;
  for (std::int64_t i = 0; i < count; ++i) {
    kinds.push_back(from[static_cast<std::size_t>(dice.below(std::ssize(from)))]);
  }
  // What is wrong with files shows when a job goes back to them.
  const bool wants_failure = std::any_of(kinds.begin(), kinds.end(), shows_in_recovery) &&
                             std::none_of(kinds.begin(), kinds.end(), makes_recovery);
  if (wants_failure && dice.chance(4, 5)) kinds.push_back(dice.one_of({FaultName::kCrash, FaultName::kPowerLoss}));
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

TextGroup draw_fault(FaultName name, const JobShape& shape, const RandomStream& stream) {
  Dice dice(stream);
  if (is_of_links(name)) return draw_network_fault(name, shape, dice);
  if (is_of_storage(name) || name == FaultName::kPowerLoss) return draw_storage_fault(name, shape, dice);
  switch (name) {
    case FaultName::kFlip:
    case FaultName::kOverwrite:
    case FaultName::kSpike:
    case FaultName::kLrSpike:
      return draw_memory_fault(name, shape, dice);
    default:
      return draw_rank_fault(name, shape, dice);
  }
}

bool has_step(const TextGroup& faults, const char* name, const TextGroup& at) {
  return std::any_of(faults.fields().begin(), faults.fields().end(), [&](const TextField& other) {
    return other.name == name && other.group.find("at")->group.find("step")->value == at.find("step")->value;
  });
}

// Two ends of the same ranks at the same place are one; a host or a rack may be a single rank.
bool has_end_at(const TextGroup& faults, const TextGroup& fault) {
  const auto text_of = [](const TextGroup& end, std::initializer_list<const char*> names) {
    std::string text;
    for (const char* name : names) {
      const TextField* field = end.find(name);
      if (field != nullptr) text += name + field->value + field->group.text();
    }
    return text;
  };
  return std::any_of(faults.fields().begin(), faults.fields().end(), [&](const TextField& other) {
    if (other.name != "crash" && other.name != "hang") return false;
    if (text_of(other.group, {"time", "at"}) != text_of(fault, {"time", "at"})) return false;
    const bool both_ranks = other.group.find("rank") != nullptr && fault.find("rank") != nullptr;
    return !both_ranks || text_of(other.group, {"rank"}) == text_of(fault, {"rank"});
  });
}

TextGroup draw_guards(const NeededGuards& needed, const JobShape& shape, const RandomStream& stream) {
  Dice dice(stream);
  TextGroup guards;
  const auto policy = [&dice] {
    return dice.word_of({"STOP", "SKIP_STEP", "SKIP_STEP", "ROLLBACK", "ROLLBACK", "ROLLBACK_AND_SKIP_BATCHES"});
  };
  if (needed.nonfinite || dice.chance(1, 5)) guards.add("nonfinite", policy());
  if (dice.chance(1, 4)) guards.add("loss_spike", policy());
  if (needed.state || needed.gradients || dice.chance(1, 6)) {
    guards.add("corruption",
               dice.word_of({"STOP", "ROLLBACK", "ROLLBACK", "ROLLBACK_AND_SKIP_BATCHES", "EVICT", "EVICT"}));
    // The number that finds every wrong gradient is 1.
    if (needed.gradients) {
      guards.add("recompute_every", 1);
    } else if (shape.ranks > 1 && dice.chance(1, 3)) {
      guards.add("recompute_every", dice.between(1, 3));
    }
  }
  if (guards.empty()) return guards;
  if (dice.chance(1, 4)) guards.add("max_rollbacks", dice.between(0, 6));
  if (dice.chance(1, 4)) guards.add("max_consecutive_skips", dice.between(0, 2));
  return guards;
}

std::string no_files(const std::string& path, Bytes) { throw InputError("cannot read " + path); }

}  // namespace

const TextGroup* Plan::faults() const {
  const TextField* found = scenario.find("faults");
  return found == nullptr ? nullptr : &found->group;
}

Plan draw_plan(std::uint64_t seed) {
  const RandomStream root = RandomStream(seed).fork("fuzz plan");
  Plan plan;
  plan.scenario.add_quoted("name", "fuzz-" + std::to_string(seed));
  Dice dice(root.fork("seed"));
  plan.scenario.add("seed", dice.between(1, 1'000'000));
  const JobShape shape = draw_job(root.fork("job"), plan.scenario);
  const RandomStream stream = root.fork("faults");
  TextGroup faults;
  NeededGuards needed;
  std::uint64_t index = 0;
  for (const FaultName name : draw_kinds(shape, root.fork("kinds"))) {
    TextGroup fault = draw_fault(name, shape, stream.fork(index++));
    const bool ends = name == FaultName::kCrash || name == FaultName::kHang;
    if (ends && has_end_at(faults, fault)) continue;
    // Where all ranks make the same mistake none of them can see it.
    const bool is_program = name == FaultName::kProgram;
    if (is_program && has_step(faults, "program", fault.find("at")->group)) continue;
    // Several multiply: a message that was begun then holds its ports for seconds, over all restarts.
    if (name == FaultName::kLinkBandwidth && faults.find("link_bandwidth") != nullptr) continue;
    note_needed_guards(name, fault, needed);
    faults.add_group(name_of(name), std::move(fault));
  }
  TextGroup guards = draw_guards(needed, shape, root.fork("guards"));
  if (!guards.empty()) plan.scenario.group("train").add_group("guards", std::move(guards));
  if (!faults.empty()) plan.scenario.add_group("faults", std::move(faults));
  return plan;
}

bool is_fair(const Plan& plan) {
  if (plan.faults() == nullptr) return true;
  NeededGuards needed;
  TextGroup seen;
  bool has_program = false;
  for (const TextField& fault : plan.faults()->fields()) {
    const std::optional<FaultName> name = fault_of(fault.name);
    if (!name.has_value()) return false;
    note_needed_guards(*name, fault.group, needed);
    if (name != FaultName::kProgram) continue;
    has_program = true;
    const TextField* at = fault.group.find("at");
    if (at == nullptr || at->group.find("step") == nullptr || has_step(seen, "program", at->group)) return false;
    seen.add_group("program", fault.group);
  }
  const auto value_of = [&plan](const char* outer, const char* group, const char* name) {
    const TextField* field = plan.scenario.find(outer);
    if (field != nullptr && *group != '\0') field = field->group.find(group);
    if (field != nullptr) field = field->group.find(name);
    return field == nullptr ? std::string() : field->value;
  };
  if (has_program && (value_of("cluster", "", "ranks") == "1" || value_of("recovery", "", "mode") == "ELASTIC")) {
    return false;
  }
  if ((needed.state || needed.gradients) && value_of("train", "guards", "corruption").empty()) return false;
  if (needed.gradients && value_of("train", "guards", "recompute_every") != "1") return false;
  if (needed.gradients && value_of("recovery", "", "mode") == "ELASTIC") return false;
  return !needed.nonfinite || !value_of("train", "guards", "nonfinite").empty();
}

Scenario load_plan(const Plan& plan, const std::string& source_name) {
  return load_plan_text(plan.text(), source_name);
}

Scenario load_plan_text(const std::string& text, const std::string& source_name) {
  return parse_scenario(text, source_name, no_files);
}

}  // namespace rehearse
