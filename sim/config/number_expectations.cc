#include "sim/config/number_expectations.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace rehearse {
namespace {

template <class T>
bool take(std::optional<T>& field) {
  return std::exchange(field, std::nullopt).has_value();
}

// Whether something is planned that shows in numbers alone.
bool needs_numbers(const Scenario& scenario) {
  const FaultPlan& faults = scenario.faults;
  const auto of_numbers = [](const Fault& fault) {
    return std::holds_alternative<FlipFault>(fault.kind) || std::holds_alternative<OverwriteFault>(fault.kind) ||
           std::holds_alternative<SpikeFault>(fault.kind) || std::holds_alternative<LrSpikeFault>(fault.kind);
  };
  const auto rots = [](const DiskFault& fault) { return fault.kind == DiskFault::Kind::kRot; };
  return scenario.train.lr_spike.has_value() || std::any_of(faults.faults.begin(), faults.faults.end(), of_numbers) ||
         std::any_of(faults.storage.disk.begin(), faults.storage.disk.end(), rots);
}

// Takes them away, and names those that there were.
std::vector<std::string> take_number_expectations(const Scenario& scenario, Expectations& expect) {
  std::vector<std::string> names;
  const auto note = [&names](bool is_set, const char* name) {
    if (is_set) names.emplace_back(name);
  };
  note(std::exchange(expect.loss_falls, false), "loss");
  note(std::exchange(expect.eval_loss_falls, false), "eval_loss");
  note(take(expect.final_loss_below), "final_loss_below");
  note(take(expect.max_accumulation_difference), "max_accumulation_difference");
  note(take(expect.weights_sha256), "weights_sha256");
  note(take(expect.event_digest), "event_digest");
  note(take(expect.same_weights_as), "same_weights_as");
  note(take(expect.resume_from), "resume_from");
  note(take(expect.rollbacks), "rollbacks");
  note(take(expect.skipped_steps), "skipped_steps");
  if (!needs_numbers(scenario)) return names;
  note(std::exchange(expect.outcome, Outcome::kDone) != Outcome::kDone, "outcome");
  note(take(expect.final_step), "final_step");
  note(take(expect.recoveries), "recoveries");
  note(take(expect.failed_saves), "failed_saves");
  note(take(expect.refused_checkpoints), "refused_checkpoints");
  note(take(expect.shards_from_other_disks), "shards_from_other_disks");
  note(take(expect.shards_from_remote), "shards_from_remote");
  note(take(expect.refused_copies), "refused_copies");
  note(take(expect.lost_steps), "lost_steps");
  note(take(expect.exposed_above), "exposed_above");
  note(take(expect.exposed_below), "exposed_below");
  note(take(expect.goodput_above), "goodput_above");
  note(take(expect.goodput_below), "goodput_below");
  note(take(expect.cause), "cause");
  return names;
}

}  // namespace

std::vector<std::string> number_expectations(const Scenario& scenario) {
  Expectations copy = scenario.expect;
  return take_number_expectations(scenario, copy);
}

Expectations without_number_expectations(const Scenario& scenario) {
  Expectations expect = scenario.expect;
  take_number_expectations(scenario, expect);
  return expect;
}

}  // namespace rehearse
