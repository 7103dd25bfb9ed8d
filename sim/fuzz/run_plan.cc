#include "sim/fuzz/run_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/checkpoint/verify.h"
#include "core/model/layout.h"
#include "sim/fuzz/declared_reference.h"

namespace rehearse {
namespace {

constexpr std::uint64_t kSlice = 4096;
// Far more than any plan takes: a job of the largest size takes 5,000 events a step, and few faults cost more than ten
// restarts.
constexpr std::uint64_t kMostEvents = 3'000'000;

// Nothing where it does not end.
std::optional<TrainingRecord> run_once(const Scenario& scenario, const RecoveryPolicy* policy) {
  TrainingHooks hooks;
  hooks.policy = policy;
  TrainingSession session(scenario, std::nullopt, hooks);
  while (session.advance(kSlice)) {
    if (session.events() > kMostEvents) return std::nullopt;
  }
  return session.finish();
}

// Judges one run; each member looks at one invariant.
class Judging {
 public:
  Judging(const Scenario& scenario, const TrainingRecord& record, PlanResult& result)
      : scenario_(scenario), record_(record), result_(result) {}

  void judge() {
    outcome();
    for (const std::string& violation : record_.violations) found("invariants", violation);
    guards();
    checkpoints();
    if (record_.outcome == Outcome::kDone) weights();
  }

 private:
  void found(std::string invariant, std::string detail) {
    result_.findings.push_back(Finding{std::move(invariant), std::move(detail)});
  }

  void outcome() {
    if (record_.outcome == Outcome::kDone) {
      const std::int64_t last = record_.steps.empty() ? 0 : record_.steps.back().report.step;
      if (last != scenario_.train.steps) found("outcome", "ended DONE after step " + std::to_string(last));
      return;
    }
    const std::string text = std::string(name_of(record_.outcome)) + ": " + record_.failure;
    if (record_.outcome == Outcome::kStopped) {
      const bool said = !record_.guards.empty() && record_.guards.back().report.reaction == name_of(Reaction::kStop);
      if (!said) found("outcome", text + ", and no guard said so");
      return;
    }
    if (record_.outcome == Outcome::kFailed) {
      const auto says = [this](const char* words) { return record_.failure.find(words) != std::string::npos; };
      const bool few =
          scenario_.recovery.max_restarts < kAmpleRestarts && says("restarts that recovery allows are used");
      const bool elastic = scenario_.recovery.mode == RecoveryMode::kElastic &&
                           (says("no host is left") || says("no number from recovery.min_ranks"));
      if (few || elastic) return;
    }
    found("outcome", text);
  }

  bool struck_numbers() const {
    return std::any_of(record_.faults.begin(), record_.faults.end(), [](const FaultRecord& fault) {
      const std::string kind = kind_of_strike(fault);
      return kind == "flip" || kind == "overwrite" || kind == "spike" || kind == "lr_spike";
    });
  }

  void guards() {
    // A loss may double by itself.
    const auto wrong = std::find_if(record_.guards.begin(), record_.guards.end(), [](const GuardRecord& one) {
      return one.report.reason.find("the loss of ") == std::string::npos;
    });
    if (wrong == record_.guards.end() || struck_numbers()) return;
    const GuardReport& report = wrong->report;
    found("guards", report.reaction + " in step " + std::to_string(report.step) +
                        ", but no fault struck a number: " + report.reason);
  }

  void checkpoints() {
    if (!scenario_.faults.storage.empty()) return;
    for (const CheckpointRecord& checkpoint : record_.checkpoints) {
      std::map<std::string, std::string> texts;
      CheckpointFiles files;
      for (const auto& [name, data] : checkpoint.files) texts[name] = data.text();
      for (const auto& [name, text] : texts) files[name] = std::as_bytes(std::span(text.data(), text.size()));
      try {
        const VerifiedCheckpoint verified = verify_checkpoint(files, checkpoint.directory);
        compare_with_step(checkpoint, verified);
      } catch (const Error& error) {
        found("checkpoints", error.what());
      }
    }
  }

  // The state that a checkpoint holds is that after its step, as the steps that stand have it. Of saves by time one of
  // a past that was given up may stay, untrusted, where the job does not save that step again.
  void compare_with_step(const CheckpointRecord& checkpoint, const VerifiedCheckpoint& verified) {
    if (scenario_.train.checkpoint.every_time > Duration()) return;
    const auto step = std::find_if(record_.steps.begin(), record_.steps.end(),
                                   [&](const StepRecord& one) { return one.report.step == checkpoint.step; });
    if (step == record_.steps.end()) return;
    const std::int64_t size = size_of(scenario_.train.dtype);
    std::vector<Digest128> digests;
    const ParameterLayout layout(scenario_.train.model);
    for (const ParameterInfo& info : layout.tensors()) {
      digests.push_back(xxh3_128(
          std::span(verified.state.master.data() + info.offset * size, static_cast<std::size_t>(info.numel * size))));
    }
    if (xxh3_128(std::as_bytes(std::span(digests))) == step->parameters) return;
    found("checkpoints",
          checkpoint.directory + " is not of the step " + std::to_string(checkpoint.step) + " that stands");
  }

  void weights() {
    const DeclaredReference reference = run_declared_reference(scenario_, record_);
    result_.reference = reference.words;
    if (reference.none) {
      result_.reference = "none: " + reference.problem;
      return;
    }
    if (!reference.problem.empty()) return found("reference", reference.words + ": " + reference.problem);
    for (std::size_t i = 0; i < record_.steps.size(); ++i) {
      const std::int64_t step = record_.steps[i].report.step;
      if (i < reference.parameters.size() && record_.steps[i].parameters == reference.parameters[i]) continue;
      return found("weights", "the parameters after step " + std::to_string(step) +
                                  " are not those of the reference: " + reference.words);
    }
    if (record_.weights_sha256 == reference.weights_sha256) return;
    found("weights", "the final weights are not those of the reference: " + reference.words);
  }

  const Scenario& scenario_;
  const TrainingRecord& record_;
  PlanResult& result_;
};

}  // namespace

PlanResult run_plan_text(const std::string& text, const std::string& source_name, const RunPlanOptions& options) {
  PlanResult result;
  const auto found = [&result](std::string invariant, std::string detail) {
    result.findings.push_back(Finding{std::move(invariant), std::move(detail)});
  };
  std::optional<Scenario> scenario;
  try {
    scenario.emplace(load_plan_text(text, source_name));
  } catch (const Error& error) {
    found("refused", error.what());
    return result;
  }
  try {
    std::unique_ptr<RecoveryPolicy> policy;
    if (options.make_policy) policy = options.make_policy(*scenario);
    const std::optional<TrainingRecord> record = run_once(*scenario, policy.get());
    if (!record.has_value()) {
      found("progress", "it does not come to an end within " + std::to_string(kMostEvents) + " events");
      return result;
    }
    result.outcome = record->outcome;
    result.events = record->events;
    result.event_digest = record->event_digest;
    result.reached = reached_by(*scenario, *record);
    Judging(*scenario, *record, result).judge();
    const std::optional<TrainingRecord> again = run_once(*scenario, policy.get());
    if (!again.has_value() || again->event_digest != record->event_digest) {
      found("determinism", "a second run had other events");
    }
  } catch (const std::exception& error) {
    found("error", error.what());
  }
  return result;
}

PlanResult run_plan(const Plan& plan, const RunPlanOptions& options) {
  return run_plan_text(plan.text(), "plan", options);
}

}  // namespace rehearse
