#include "sim/fuzz/declared_reference.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/optim/config.h"
#include "core/train/recovery_policy.h"
#include "sim/config/reshard.h"

namespace rehearse {
namespace {

// From the record: what the steps that stand are, in the order in which they were trained.
struct Ledger {
  std::set<std::int64_t> skipped;              // batches whose step was skipped
  std::map<std::int64_t, std::int64_t> jumps;  // by the last batch that was left out: the step that was gone back to
  std::map<std::int64_t, double> factors;      // by step, of its learning rate
  std::vector<std::pair<std::int64_t, int>> segments;  // the first step of each number of ranks
};

constexpr std::string_view kRateWords = "the learning rate is multiplied by ";

// Of all faults of the learning rate that struck in a step. None of them strikes there twice.
double factor_of_faults(const TrainingRecord& record, std::int64_t step, double rate) {
  for (const FaultRecord& fault : record.faults) {
    if (fault.at.step != step || !fault.what.starts_with(kRateWords)) continue;
    double factor = 1;
    const std::string number = fault.what.substr(kRateWords.size());
    std::from_chars(number.data(), number.data() + number.size(), factor);
    rate *= factor;
  }
  return rate;
}

Ledger read_ledger(const TrainConfig& train, const TrainingRecord& record) {
  Ledger ledger;
  std::int64_t offset = -1;  // batches count from 0
  for (const StepRecord& one : record.steps) {
    const StepReport& report = one.report;
    const std::int64_t back_to = report.step - 1;
    // In several leaps where more was left out than one return to that step can leave out.
    while (report.batch_index - report.step > offset) {
      const std::int64_t missing = report.batch_index - report.step - offset;
      const std::int64_t bad_step = std::min(train.steps, back_to + missing);
      ledger.jumps[bad_step + offset] = back_to;
      offset += bad_step - back_to;
    }
    if (report.skipped) ledger.skipped.insert(report.batch_index);
    const int ranks = static_cast<int>(report.rank_losses.size());
    if (ledger.segments.empty() || ledger.segments.back().second != ranks) {
      ledger.segments.emplace_back(report.step, ranks);
    }
    if (report.skipped) continue;
    const double planned =
        learning_rate(train.adam.lr, train.schedule, train.steps, train.lr_spike, report.applied_steps);
    if (report.lr != planned) ledger.factors[report.step] = factor_of_faults(record, report.step, 1);
  }
  return ledger;
}

// Does what the ledger says and nothing of its own.
class LedgerPolicy : public RecoveryPolicy {
 public:
  explicit LedgerPolicy(const Ledger& ledger) : ledger_(ledger) {}

  Judgement judge(const StepReport& report, const GuardHistory&, std::int64_t) const override {
    Judgement judgement;
    if (report.rank_losses.empty()) return judgement;  // of the state after the last step
    const auto jump = ledger_.jumps.find(report.batch_index);
    if (jump != ledger_.jumps.end()) {
      target_ = jump->second;
      judgement.reaction = Reaction::kRollbackAndSkipBatches;
      judgement.reason = "the run that is looked at went back here";
    } else if (ledger_.skipped.contains(report.batch_index)) {
      judgement.reaction = Reaction::kSkipStep;
      judgement.reason = "the run that is looked at skipped this step";
    }
    return judgement;
  }
  bool trusts_at_once() const override { return true; }
  std::vector<std::int64_t> order(const std::vector<RecoveryPoint>&) const override {
    return target_ > 0 ? std::vector<std::int64_t>{target_} : std::vector<std::int64_t>();
  }
  std::vector<std::int64_t> must_keep(const std::vector<RecoveryPoint>&) const override { return {}; }
  RestartDecision on_failure(const JobFailure&) const override { return {}; }

 private:
  const Ledger& ledger_;
  mutable std::int64_t target_ = 0;  // of the latest return; all ranks say the same
};

// The same job, calm. Guards are there only for the policy to be asked.
Scenario calm(Scenario scenario, const Ledger& ledger) {
  scenario.faults = FaultPlan();
  for (const auto& [step, factor] : ledger.factors) {
    Fault fault;
    fault.when.at.rank = kAllRanks;
    fault.when.at.step = step;
    fault.when.at.phase = Phase::kOptimizer;
    fault.when.count = 0;
    fault.when.always = true;
    fault.kind = LrSpikeFault{factor};
    scenario.faults.faults.push_back(fault);
  }
  scenario.transport.reset();
  scenario.expect = Expectations();
  scenario.train.guards = GuardConfig();
  scenario.train.checkpoint = CheckpointConfig();
  const bool acts = !ledger.skipped.empty() || !ledger.jumps.empty();
  if (acts) scenario.train.guards.nonfinite = Reaction::kStop;
  if (!ledger.jumps.empty() || ledger.segments.size() > 1) scenario.train.checkpoint.every_steps = 1;
  return scenario;
}

std::string words_of(const Ledger& ledger, int planned_ranks) {
  std::string words;
  const auto add = [&words](bool holds, const char* what) {
    if (holds) words += (words.empty() ? "" : ", ") + std::string(what);
  };
  add(!ledger.skipped.empty(), "the same steps skipped");
  add(!ledger.jumps.empty(), "the same batches left out");
  add(!ledger.factors.empty(), "the same learning rates");
  const bool fewer = ledger.segments.size() > 1 || ledger.segments.front().second != planned_ranks;
  add(fewer, "resharded from the same steps on");
  return words.empty() ? "fault-free" : words;
}

}  // namespace

DeclaredReference run_declared_reference(const Scenario& scenario, const TrainingRecord& record) {
  DeclaredReference reference;
  const Ledger ledger = read_ledger(scenario.train, record);
  if (ledger.segments.empty()) {
    reference.none = true;
    reference.problem = "no step stands";
    return reference;
  }
  reference.words = words_of(ledger, scenario.ranks);
  if (ledger.segments.size() > 1 && !ledger.jumps.empty()) {
    reference.none = true;
    reference.problem = "fewer ranks and batches left out";
    return reference;
  }
  std::optional<ResumeFrom> resume;
  for (std::size_t i = 0; i < ledger.segments.size(); ++i) {
    const int ranks = ledger.segments[i].second;
    Scenario job = scenario;
    if (ranks != scenario.ranks) {
      std::vector<std::string> changes = {"cluster.ranks=" + std::to_string(ranks)};
      if (ranks == 1 && scenario.train.guards.recompute_every > 0) {
        changes.emplace_back("train.guards.recompute_every=0");
      }
      job = reshard_scenario(scenario, changes);
    }
    job = calm(std::move(job), ledger);
    const bool last = i + 1 == ledger.segments.size();
    const std::int64_t until = last ? 0 : ledger.segments[i + 1].first - 1;
    std::optional<ResumeFrom> next;
    LedgerPolicy policy(ledger);
    TrainingHooks hooks;
    hooks.log_events = false;
    hooks.policy = &policy;
    hooks.on_checkpoint = [&](const CheckpointRecord& checkpoint) {
      if (checkpoint.step != until) return;
      next.emplace();
      next->step = checkpoint.step;
      next->files = checkpoint.files;
      next->reshard_from = job.arithmetic_sha256;
    };
    hooks.interrupted = [&next] { return next.has_value(); };
    const TrainingRecord run = run_training(job, resume, hooks);
    const std::size_t wanted = last ? record.steps.size() : static_cast<std::size_t>(until);
    for (const StepRecord& step : run.steps) {
      if (reference.parameters.size() < wanted) reference.parameters.push_back(step.parameters);
    }
    if (last) {
      reference.weights_sha256 = run.weights_sha256;
      if (run.outcome != Outcome::kDone) reference.problem = std::string(name_of(run.outcome)) + ": " + run.failure;
      return reference;
    }
    if (!next.has_value()) {
      reference.problem = "the reference has no checkpoint of step " + std::to_string(until) + ": " + run.failure;
      return reference;
    }
    resume = std::move(next);
  }
  return reference;
}

}  // namespace rehearse
