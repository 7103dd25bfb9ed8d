#include "sim/cluster/verdicts.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/numbers.h"
#include "core/checkpoint/names.h"
#include "sim/config/number_expectations.h"

namespace rehearse {
namespace {

Verdict verdict(std::string name, bool held, std::string detail) {
  Verdict result;
  result.name = std::move(name);
  result.held = held;
  result.detail = std::move(detail);
  return result;
}

std::string at_step(std::int64_t step) { return "step " + std::to_string(step); }

std::string held_invariants(const Scenario& scenario, const TrainingRecord& record) {
  std::string text = scenario.cost_only ? "" : "replicas equal, ranks agree, batches in order";
  if (record.optimizer_checked) text += std::string(text.empty() ? "" : ", ") + "optimizer bytes by the formula";
  if (record.state_checked && scenario.train.zero_stage >= 2) text += ", gradients and parameters too";
  return text.empty() ? "none could be looked at" : text;
}

Verdict judge_digest(const char* name, const std::string& expected, const std::string& found) {
  const bool held = expected == found;
  return verdict(name, held, held ? "the one that is expected" : "expected " + expected + ", found " + found);
}

std::string times(std::int64_t count) { return std::to_string(count) + (count == 1 ? " time" : " times"); }

void judge_recoveries(const Expectations& expect, const TrainingRecord& record, std::vector<Verdict>& verdicts) {
  const auto& all = record.recoveries;
  const auto rollbacks = std::count_if(
      all.begin(), all.end(), [](const RecoveryRecord& one) { return one.kind == RecoveryRecord::Kind::kRollback; });
  const auto restarts = static_cast<std::int64_t>(all.size()) - rollbacks;
  judge_restarts(expect, restarts, verdicts);
  if (expect.rollbacks.has_value()) {
    verdicts.push_back(verdict("rollbacks", rollbacks == *expect.rollbacks, "went back " + times(rollbacks)));
  }
  if (expect.skipped_steps.has_value()) {
    const auto skips = std::count_if(record.guards.begin(), record.guards.end(), [](const GuardRecord& one) {
      return one.report.reaction == name_of(Reaction::kSkipStep);
    });
    verdicts.push_back(verdict("skipped_steps", skips == *expect.skipped_steps,
                               std::to_string(skips) + (skips == 1 ? " step was" : " steps were") + " skipped"));
  }
  judge_cause(expect, record.failure, all, verdicts);
}

// Where the ranks that went back took their shards from.
void judge_tiers(const Expectations& expect, const TrainingRecord& record, std::vector<Verdict>& verdicts) {
  TierReads reads;
  std::int64_t refused = 0;
  for (const RecoveryRecord& one : record.recoveries) {
    reads += one.reads;
    refused += std::ssize(one.refused_copies);
  }
  const auto judge_count = [&](const char* name, const std::optional<std::int64_t>& wanted, std::int64_t found,
                               const std::string& what) {
    if (wanted.has_value()) verdicts.push_back(verdict(name, found == *wanted, std::to_string(found) + what));
  };
  judge_count("shards_from_other_disks", expect.shards_from_other_disks, reads.shards_from_other_disks,
              reads.shards_from_other_disks == 1 ? " shard came from another host's disk"
                                                 : " shards came from other hosts' disks");
  judge_count(
      "shards_from_remote", expect.shards_from_remote, reads.shards_from_remote,
      reads.shards_from_remote == 1 ? " shard came from the shared storage" : " shards came from the shared storage");
  judge_count("refused_copies", expect.refused_copies, refused,
              refused == 1 ? " copy on a local disk was refused" : " copies on local disks were refused");
}

// Each loss below the one before; `what` names them. Fewer than two prove nothing.
template <class Record, class Step, class Loss>
Verdict judge_falling(const char* name, const std::vector<Record>& records, Step step, Loss loss) {
  if (records.size() < 2) return verdict(name, false, std::to_string(records.size()) + " losses are too few to fall");
  for (std::size_t i = 1; i < records.size(); ++i) {
    // Not <, so that a NaN does not fall either.
    if (loss(records[i]) < loss(records[i - 1])) continue;
    return verdict(name, false,
                   at_step(step(records[i])) + " has loss " + shortest_text(loss(records[i])) + ", not below " +
                       shortest_text(loss(records[i - 1])) + " before");
  }
  return verdict(name, true,
                 "from " + shortest_text(loss(records.front())) + " to " + shortest_text(loss(records.back())) +
                     ", each below the one before");
}

Verdict judge_loss_falls(const TrainingRecord& record) {
  return judge_falling(
      "loss", record.steps, [](const StepRecord& step) { return step.report.step; },
      [](const StepRecord& step) { return step.report.loss; });
}

Verdict judge_eval_loss_falls(const TrainingRecord& record) {
  return judge_falling(
      "eval_loss", record.evals, [](const EvalRecord& eval) { return eval.step; },
      [](const EvalRecord& eval) { return eval.loss; });
}

bool same_bytes(const FileData& a, const FileData& b) { return a.text() == b.text(); }

// Files whose bytes depend on the arithmetic alone; run_state.json and the scenario's text may differ between runs.
bool claims_equal_bytes(const std::string& file) {
  return file == kManifestFile || file == kModelFile || file.starts_with("shard_");
}

// What differs between a run and its continuation from `step`, or nothing.
std::string difference(const TrainingRecord& whole, const TrainingRecord& continued, std::int64_t step) {
  if (continued.outcome != Outcome::kDone) {
    return std::string("the continued run ended ") + name_of(continued.outcome) + ": " + continued.failure;
  }
  const auto before = std::find_if(whole.steps.begin(), whole.steps.end(),
                                   [&](const StepRecord& record) { return record.report.step == step; });
  CHECK(before != whole.steps.end());
  if (continued.start_parameters != before->parameters) {
    return "the loaded parameters differ from those after " + at_step(step);
  }
  for (const auto& [rank, saved] : whole.resume_optimizer_state) {
    const auto loaded = continued.start_optimizer_state.find(rank);
    if (loaded == continued.start_optimizer_state.end() || loaded->second != saved) {
      return "rank " + std::to_string(rank) + " loaded other master weights or moments than it saved";
    }
  }
  if (static_cast<std::ptrdiff_t>(continued.steps.size()) != whole.steps.end() - (before + 1)) {
    return "the continued run has " + std::to_string(continued.steps.size()) + " steps";
  }
  for (std::size_t i = 0; i < continued.steps.size(); ++i) {
    const StepRecord& a = *(before + 1 + static_cast<std::ptrdiff_t>(i));
    const StepRecord& b = continued.steps[i];
    if (a.report.loss != b.report.loss || a.report.rank_losses != b.report.rank_losses) {
      return "losses differ in " + at_step(a.report.step) + ": " + shortest_text(a.report.loss) + " and " +
             shortest_text(b.report.loss);
    }
    if (a.parameters != b.parameters) return "parameters differ after " + at_step(a.report.step);
  }
  if (whole.weights_sha256 != continued.weights_sha256) return "final weights differ";
  for (const EvalRecord& eval : whole.evals) {
    if (eval.step <= step) continue;
    const auto other = std::find_if(continued.evals.begin(), continued.evals.end(),
                                    [&](const EvalRecord& candidate) { return candidate.step == eval.step; });
    if (other == continued.evals.end() || other->loss != eval.loss) {
      return "held-out losses differ after " + at_step(eval.step);
    }
  }
  for (const CheckpointRecord& a : whole.checkpoints) {
    for (const CheckpointRecord& b : continued.checkpoints) {
      if (a.step != b.step || a.step <= step) continue;
      for (const auto& [file, data] : a.files) {
        if (!claims_equal_bytes(file)) continue;
        const auto other = b.files.find(file);
        if (other == b.files.end() || !same_bytes(data, other->second)) {
          return a.directory + "/" + file + " differs between the two runs";
        }
      }
    }
  }
  return "";
}

Verdict judge_resume(const Scenario& scenario, const TrainingRecord& record, std::int64_t step,
                     const TrainingHooks& hooks) {
  if (!record.resume_checkpoint.has_value()) {
    return verdict("resume_from", false, "the run has no checkpoint of " + at_step(step));
  }
  ResumeFrom resume;
  resume.step = step;
  resume.files = record.resume_checkpoint->files;
  Scenario again = scenario;
  again.expect = Expectations();
  TrainingHooks quiet;
  quiet.interrupted = hooks.interrupted;
  quiet.log_events = false;
  const TrainingRecord continued = run_training(again, resume, quiet);
  const std::string different = difference(record, continued, step);
  const std::string span =
      "continued from step " + std::to_string(step) + " to " + std::to_string(scenario.train.steps);
  if (!different.empty()) return verdict("resume_from", false, span + ": " + different);
  return verdict("resume_from", true, span + ", weights, losses and checkpoints byte-equal");
}

Verdict judge_same_weights(const WeightsReference& reference, const TrainingRecord& record,
                           const TrainingHooks& hooks) {
  std::string expected = reference.sha256;
  if (reference.scenario != nullptr) {
    TrainingHooks quiet;
    quiet.interrupted = hooks.interrupted;
    quiet.log_events = false;
    const TrainingRecord other = run_training(*reference.scenario, std::nullopt, quiet);
    if (other.outcome != Outcome::kDone) {
      return verdict("same_weights_as", false,
                     reference.text + " ended " + name_of(other.outcome) + ": " + other.failure);
    }
    expected = other.weights_sha256;
  }
  const bool held = expected == record.weights_sha256;
  return verdict("same_weights_as", held,
                 held ? "the weights of " + reference.text
                      : reference.text + " has " + expected + ", this run " + record.weights_sha256);
}

}  // namespace

void judge_outcome(const Expectations& expect, Outcome outcome, const std::string& failure,
                   std::vector<Verdict>& verdicts) {
  const bool held = outcome == expect.outcome;
  std::string detail = std::string("ended ") + name_of(outcome);
  if (!held) detail += std::string(", expected ") + name_of(expect.outcome);
  if (!failure.empty()) detail += ": " + failure;
  verdicts.push_back(verdict("outcome", held, detail));
}

void judge_restarts(const Expectations& expect, std::int64_t restarts, std::vector<Verdict>& verdicts) {
  if (!expect.recoveries.has_value()) return;
  verdicts.push_back(verdict("recoveries", restarts == *expect.recoveries, "restarted " + times(restarts)));
}

void judge_final_step(const Expectations& expect, std::int64_t last, std::vector<Verdict>& verdicts) {
  if (!expect.final_step.has_value()) return;
  verdicts.push_back(
      verdict("final_step", last == *expect.final_step, "last finished step is " + std::to_string(last)));
}

void judge_event_digest(const Expectations& expect, const std::string& found, std::vector<Verdict>& verdicts) {
  if (!expect.event_digest.has_value()) return;
  verdicts.push_back(judge_digest("event_digest", *expect.event_digest, found));
}

void judge_cause(const Expectations& expect, const std::string& failure, const std::vector<RecoveryRecord>& recoveries,
                 std::vector<Verdict>& verdicts) {
  if (!expect.cause.has_value()) return;
  std::vector<std::string> causes = {failure};
  for (const RecoveryRecord& one : recoveries) causes.push_back(one.cause);
  const auto found = std::find_if(causes.begin(), causes.end(), [&](const std::string& cause) {
    return cause.find(*expect.cause) != std::string::npos;
  });
  verdicts.push_back(verdict("cause", found != causes.end(),
                             found != causes.end() ? *found : "no failure has the words '" + *expect.cause + "'"));
}

void judge_work(const Expectations& expect, std::int64_t lost_steps, double goodput, std::vector<Verdict>& verdicts) {
  if (expect.lost_steps.has_value()) {
    verdicts.push_back(
        verdict("lost_steps", lost_steps == *expect.lost_steps,
                std::to_string(lost_steps) + " steps were done again, expected " + std::to_string(*expect.lost_steps)));
  }
  const std::string found = "goodput is " + shortest_text(goodput);
  if (expect.goodput_above.has_value()) {
    verdicts.push_back(verdict("goodput_above", goodput > *expect.goodput_above, found));
  }
  if (expect.goodput_below.has_value()) {
    verdicts.push_back(verdict("goodput_below", goodput < *expect.goodput_below, found));
  }
}

void judge_exposed(const Expectations& expect, const TrainingRecord& record, std::vector<Verdict>& verdicts) {
  const double exposed = exposed_of(record);
  const std::string found = "of the steps' time " + shortest_text(exposed) + " is not computed in";
  if (expect.exposed_above.has_value()) {
    verdicts.push_back(verdict("exposed_above", exposed > *expect.exposed_above, found));
  }
  if (expect.exposed_below.has_value()) {
    verdicts.push_back(verdict("exposed_below", exposed < *expect.exposed_below, found));
  }
}

std::vector<Verdict> judge(const Scenario& scenario, const TrainingRecord& record, const TrainingHooks& hooks) {
  const Expectations expect = scenario.cost_only ? without_number_expectations(scenario) : scenario.expect;
  std::vector<Verdict> verdicts;
  judge_outcome(expect, record.outcome, record.failure, verdicts);
  std::string violations;
  for (const std::string& violation : record.violations) violations += (violations.empty() ? "" : "; ") + violation;
  verdicts.push_back(verdict("invariants", record.violations.empty(),
                             record.violations.empty() ? held_invariants(scenario, record) : violations));
  if (record.second_run.has_value()) {
    const SecondRun& second = *record.second_run;
    verdicts.push_back(verdict("determinism", second.difference.empty(),
                               second.difference.empty()
                                   ? "a second run in this process, from another heap, gave the same " +
                                         std::to_string(second.compared) + " records"
                                   : second.difference));
  }
  std::string failures;
  for (const CheckpointFailure& failure : record.checkpoint_failures) {
    failures += (failures.empty() ? "" : "; ") + text_of(failure);
  }
  // What failed before a continued run is not its to count.
  if (expect.failed_saves.has_value()) {
    if (record.first_step == 1) {
      verdicts.push_back(verdict("failed_saves", record.failed_saves == *expect.failed_saves,
                                 std::to_string(record.failed_saves) +
                                     (record.failed_saves == 1 ? " save failed" : " saves failed") +
                                     (failures.empty() ? "" : ": " + failures)));
    }
  } else if (!failures.empty()) {
    verdicts.push_back(verdict("checkpoints", false, failures));
  }
  if (record.outcome == Outcome::kInterrupted) return verdicts;
  // What failed before a continued run is not its to count.
  if (record.first_step == 1) judge_recoveries(expect, record, verdicts);
  judge_exposed(expect, record, verdicts);
  if (expect.refused_checkpoints.has_value() && record.first_step == 1) {
    std::int64_t found = 0;
    for (const RecoveryRecord& recovery : record.recoveries) found += std::ssize(recovery.rejected);
    verdicts.push_back(verdict("refused_checkpoints", found == *expect.refused_checkpoints,
                               std::to_string(found) + (found == 1 ? " was refused" : " were refused")));
  }
  if (record.first_step == 1) judge_tiers(expect, record, verdicts);
  if (record.first_step == 1) judge_work(expect, lost_steps_of(record.recoveries), goodput_of(record), verdicts);
  judge_final_step(expect, record.steps.empty() ? record.first_step - 1 : record.steps.back().report.step, verdicts);
  // A run continued from near its end may have nothing to compare.
  const bool continued = record.first_step > 1;
  if (expect.loss_falls && !(continued && record.steps.size() < 2)) verdicts.push_back(judge_loss_falls(record));
  if (expect.eval_loss_falls && !(continued && record.evals.size() < 2)) {
    verdicts.push_back(judge_eval_loss_falls(record));
  }
  if (expect.final_loss_below.has_value() && !(continued && record.steps.empty())) {
    const double last = record.steps.empty() ? std::nan("") : record.steps.back().report.loss;
    verdicts.push_back(
        verdict("final_loss_below", last < *expect.final_loss_below, "last loss is " + shortest_text(last)));
  }
  if (expect.max_accumulation_difference.has_value()) {
    const double found = record.accumulation_difference.value_or(std::nan(""));
    verdicts.push_back(verdict("max_accumulation_difference", found <= *expect.max_accumulation_difference,
                               "largest gradient difference from the whole batch is " + shortest_text(found)));
  }
  // The events of a continued run are its own.
  if (!continued) judge_event_digest(expect, record.event_digest, verdicts);
  if (record.outcome != Outcome::kDone) {
    // Nothing that needs final weights can hold.
    if (expect.weights_sha256.has_value()) verdicts.push_back(verdict("weights_sha256", false, "no final weights"));
    if (expect.same_weights_as.has_value()) verdicts.push_back(verdict("same_weights_as", false, "no final weights"));
    if (expect.resume_from.has_value()) verdicts.push_back(verdict("resume_from", false, "no final weights"));
    return verdicts;
  }
  if (expect.weights_sha256.has_value()) {
    verdicts.push_back(judge_digest("weights_sha256", *expect.weights_sha256, record.weights_sha256));
  }
  if (expect.same_weights_as.has_value())
    verdicts.push_back(judge_same_weights(*expect.same_weights_as, record, hooks));
  // A continued run starts behind its checkpoint: whoever continues it has nothing left to compare.
  if (expect.resume_from.has_value() && record.first_step <= *expect.resume_from) {
    verdicts.push_back(judge_resume(scenario, record, *expect.resume_from, hooks));
  }
  return verdicts;
}

ExitCode exit_code_of(const TrainingRecord& record, const std::vector<Verdict>& verdicts) {
  if (record.outcome == Outcome::kInterrupted) return ExitCode::kInterrupted;
  const auto broken =
      std::find_if(verdicts.begin(), verdicts.end(), [](const Verdict& verdict) { return !verdict.held; });
  if (broken == verdicts.end()) return ExitCode::kDone;
  // The outcome is judged first: a deadlock that was expected is no reason to report one.
  const bool unexpected = broken->name == "outcome";
  return record.outcome == Outcome::kDeadlock && unexpected ? ExitCode::kDeadlock : ExitCode::kExpectationFailed;
}

}  // namespace rehearse
