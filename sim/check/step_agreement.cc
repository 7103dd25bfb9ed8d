#include "sim/check/step_agreement.h"

#include <bit>
#include <string>

namespace rehearse {
namespace {

// Bits, so that a NaN is equal to itself.
bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// What two ranks do not agree on; null where they do.
const char* difference(const StepReport& a, const StepReport& b) {
  if (a.skipped != b.skipped) return "whether the step is applied";
  if (a.batch_index != b.batch_index) return "the batch";
  if (a.applied_steps != b.applied_steps) return "how many steps are applied";
  if (!same(a.lr, b.lr)) return "the learning rate";
  if (!same(a.loss, b.loss)) return "the loss";
  if (!same(a.grad_norm, b.grad_norm)) return "the gradient's norm";
  return nullptr;
}

}  // namespace

void StepAgreement::on_step(int rank, const StepReport& report, const TensorsView&, std::span<const ConstShardPiece>) {
  auto [entry, is_first] = open_.try_emplace(report.step);
  Said& said = entry->second;
  if (is_first) {
    said.first_rank = rank;
    said.report = report;
  }
  if (const char* what = difference(said.report, report)) {
    violated("ranks do not agree: of step " + std::to_string(report.step) + ", ranks " +
             std::to_string(said.first_rank) + " and " + std::to_string(rank) + " say otherwise " + what);
  }
  if (++said.ranks == ranks_) open_.erase(entry);
}

}  // namespace rehearse
