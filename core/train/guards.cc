#include "core/train/guards.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/check.h"
#include "core/base/numbers.h"
#include "core/train/state_seal.h"

namespace rehearse {
namespace {

// The middle loss, or the lower of the two.
double median_of(std::vector<double> losses) {
  std::sort(losses.begin(), losses.end());
  return losses[(losses.size() - 1) / 2];
}

std::string nonfinite_reason(const StepReport& report) {
  for (std::size_t rank = 0; rank < report.rank_losses.size(); ++rank) {
    if (std::isfinite(report.rank_losses[rank])) continue;
    return "the loss of rank " + std::to_string(rank) + " is " + shortest_text(report.rank_losses[rank]);
  }
  if (report.nonfinite_elements > 0) {
    return "the gradient has " + std::to_string(report.nonfinite_elements) + " elements that are NaN or infinite";
  }
  if (!std::isfinite(report.grad_norm)) return "the norm of the gradient is " + shortest_text(report.grad_norm);
  return "";
}

std::vector<int> convicted_ranks(const StepReport& report) {
  std::set<int> ranks;
  for (std::size_t rank = 0; rank < report.changed_state.size(); ++rank) {
    if (report.changed_state[rank] != 0) ranks.insert(static_cast<int>(rank));
  }
  for (const GradientDispute& dispute : report.disputes) {
    if (dispute.wrong >= 0) ranks.insert(dispute.wrong);
  }
  return std::vector<int>(ranks.begin(), ranks.end());
}

std::string corruption_reason(const StepReport& report) {
  std::string text;
  for (std::size_t rank = 0; rank < report.changed_state.size(); ++rank) {
    if (report.changed_state[rank] == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string("the ") + words_of(report.changed_state[rank]) + " of rank " +
            std::to_string(rank);
  }
  if (!text.empty()) text += " are not what the last update left";
  for (const GradientDispute& dispute : report.disputes) text += (text.empty() ? "" : "; ") + words_of(dispute);
  return text;
}

std::string spike_reason(const GuardConfig& config, double loss, const GuardHistory& history) {
  // Of a loss that is no number, that guard speaks which is for it.
  if (history.losses.empty() || !std::isfinite(loss)) return "";
  const std::string factor = shortest_text(config.spike_factor) + " times ";
  if (loss > config.spike_factor * history.losses.back()) {
    return "the loss of " + shortest_text(loss) + " is more than " + factor + shortest_text(history.losses.back()) +
           ", the one before";
  }
  if (std::cmp_less(history.losses.size(), config.median_window) || config.median_window == 0) return "";
  const double median = median_of(history.losses);
  if (loss <= config.spike_factor * median) return "";
  return "the loss of " + shortest_text(loss) + " is more than " + factor + shortest_text(median) +
         ", the median of the last " + std::to_string(config.median_window);
}

}  // namespace

const char* name_of(Reaction reaction) {
  switch (reaction) {
    case Reaction::kGoOn:
      return "GO_ON";
    case Reaction::kSkipStep:
      return "SKIP_STEP";
    case Reaction::kRollback:
      return "ROLLBACK";
    case Reaction::kRollbackAndSkipBatches:
      return "ROLLBACK_AND_SKIP_BATCHES";
    case Reaction::kEvict:
      return "EVICT";
    case Reaction::kStop:
      return "STOP";
  }
  check_failed(__FILE__, __LINE__, "unknown reaction");
}

Judgement judge_step(const GuardConfig& config, const StepReport& report, const GuardHistory& history,
                     std::int64_t rollbacks) {
  Judgement judgement;
  // First of all: numbers that are wrong then follow from it.
  if (config.corruption.has_value()) {
    judgement.reason = corruption_reason(report);
    if (!judgement.reason.empty()) {
      judgement.convicted = convicted_ranks(report);
      judgement.reaction = *config.corruption;
      const bool nobody = judgement.convicted.empty();
      if (nobody && judgement.reaction == Reaction::kEvict) judgement.reaction = Reaction::kRollback;
    }
  }
  if (judgement.reaction == Reaction::kGoOn && config.nonfinite.has_value()) {
    judgement.reason = nonfinite_reason(report);
    if (!judgement.reason.empty()) judgement.reaction = *config.nonfinite;
  }
  if (judgement.reaction == Reaction::kGoOn && config.loss_spike.has_value()) {
    judgement.reason = spike_reason(config, report.loss, history);
    if (!judgement.reason.empty()) judgement.reaction = *config.loss_spike;
  }
  if (judgement.reaction == Reaction::kSkipStep && history.consecutive_skips >= config.max_consecutive_skips) {
    judgement.reaction = Reaction::kRollback;
    judgement.reason += ", and " + std::to_string(history.consecutive_skips) + " steps in a row are skipped already";
  }
  const bool goes_back =
      judgement.reaction == Reaction::kRollback || judgement.reaction == Reaction::kRollbackAndSkipBatches;
  if (goes_back && rollbacks >= config.max_rollbacks) {
    judgement.reaction = Reaction::kStop;
    judgement.reason += ", and the " + std::to_string(config.max_rollbacks) + " rollbacks that are allowed are used";
  }
  return judgement;
}

void note_applied(const GuardConfig& config, double loss, GuardHistory& history) {
  history.consecutive_skips = 0;
  if (!std::isfinite(loss)) return;
  history.losses.push_back(loss);
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(config.median_window, 1));
  if (history.losses.size() > most) history.losses.erase(history.losses.begin());
}

void note_skipped(GuardHistory& history) { ++history.consecutive_skips; }

}  // namespace rehearse
