#include "sim/check/batch_ledger.h"

#include <string>

namespace rehearse {

void BatchLedger::on_start(int rank, std::int64_t step, const TensorsView&, Digest128) {
  if (rank != 0) return;
  entries_.erase(entries_.upper_bound(step), entries_.end());
  if (step == 0) entries_.try_emplace(0);
  last_step_ = step;
  just_started_ = true;
}

void BatchLedger::on_step(int rank, const StepReport& report, const TensorsView&, std::span<const ConstShardPiece>) {
  if (rank != 0) return;
  const std::string step = "step " + std::to_string(report.step);
  if (report.step != last_step_ + 1) violated(step + " came after step " + std::to_string(last_step_));
  // Nothing is known of the step that a continued run was saved in.
  const auto before = entries_.find(report.step - 1);
  if (before != entries_.end()) {
    const std::int64_t next = before->second.batch + 1;
    const bool may_leave_out = just_started_ && report.batch_index > next;
    if (report.batch_index != next && !may_leave_out) {
      violated(step + " used batch " + std::to_string(report.batch_index) + " where " + std::to_string(next) +
               " comes next");
    }
    const std::int64_t applied = before->second.applied + (report.skipped ? 0 : 1);
    if (report.applied_steps != applied) {
      violated(step + " counts " + std::to_string(report.applied_steps) + " applied steps, not " +
               std::to_string(applied));
    }
  }
  Entry entry;
  entry.batch = report.batch_index;
  entry.applied = report.applied_steps;
  entries_[report.step] = entry;
  last_step_ = report.step;
  just_started_ = false;
}

}  // namespace rehearse
