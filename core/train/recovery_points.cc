#include "core/train/recovery_points.h"

#include <algorithm>
#include <utility>

#include "core/checkpoint/directory.h"

namespace rehearse {
namespace {

bool contains(const std::vector<std::int64_t>& steps, std::int64_t step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

}  // namespace

RecoveryPoint RecoveryPoints::point(std::int64_t step, bool trusted) const {
  RecoveryPoint point;
  point.step = step;
  point.trusted = trusted;
  point.avoided = contains(told_to_avoid_, step) || contains(avoided_, step);
  return point;
}

CheckpointChoice RecoveryPoints::choice() {
  CheckpointChoice choice;
  choice.reads_trust = !policy_.trusts_at_once();
  choice.order = [this](const std::vector<StoredCheckpoint>& stored) { return order(stored); };
  choice.on_damaged_trust = [this](const std::string& problem) { problem_ = "no checkpoint is trusted: " + problem; };
  choice.on_trust = [this](const std::vector<std::int64_t>& named) { named_ = named; };
  stored_.clear();
  wait_for_trust_.clear();
  return choice;
}

// On rank 0.
std::vector<std::int64_t> RecoveryPoints::order(const std::vector<StoredCheckpoint>& stored) {
  trusted_.clear();
  for (const StoredCheckpoint& one : stored) {
    stored_.push_back(point(one.step, one.trusted || policy_.trusts_at_once()));
    if (stored_.back().trusted) trusted_.push_back(one.step);
  }
  return policy_.order(stored_);
}

Task<std::string> RecoveryPoints::gone_back(std::int64_t step) {
  if (context_.rank() != 0) co_return "";
  std::vector<std::int64_t> there;
  for (const RecoveryPoint& one : stored_) {
    if (one.step <= step) there.push_back(one.step);
  }
  std::erase_if(trusted_, [&](std::int64_t one) { return one > step; });
  std::string problem = std::exchange(problem_, "");
  // Nobody who is gone may be named either: whoever takes that step's place would be trusted unseen.
  if (named_ != trusted_ && !policy_.trusts_at_once()) {
    const std::string other = co_await store_trust();
    if (!other.empty()) problem += (problem.empty() ? "" : "; ") + other;
  }
  const std::vector<std::int64_t> gone = rotated_out(there, keep_, policy_.must_keep(stored_));
  try {
    co_await delete_checkpoints(context_.storage(), parent_, gone);
  } catch (const StorageError& error) {
    problem += (problem.empty() ? "" : "; ") + std::string("older ones could not be deleted: ") + error.what();
  }
  std::erase_if(trusted_, [&](std::int64_t one) { return contains(gone, one); });
  co_return problem;
}

Task<std::string> RecoveryPoints::resumed(std::int64_t step) {
  trusted_.assign(1, step);
  if (policy_.trusts_at_once()) co_return "";
  std::string problem = co_await store_trust();
  co_return problem;
}

void RecoveryPoints::note_failure(std::int64_t resumed_step, std::int64_t failed_step) {
  const auto here = std::pair(resumed_step, failed_step);
  if (failure_ == here) avoided_.push_back(resumed_step);
  failure_ = here;
}

std::vector<std::int64_t> RecoveryPoints::must_keep(std::int64_t step) const {
  std::vector<RecoveryPoint> points;
  for (const std::int64_t one : trusted_) points.push_back(point(one, true));
  points.push_back(point(step, policy_.trusts_at_once()));
  std::vector<std::int64_t> steps = policy_.must_keep(points);
  // It may have been trusted by the time that this step's is.
  if (!wait_for_trust_.empty()) steps.push_back(wait_for_trust_.back());
  return steps;
}

void RecoveryPoints::saved(std::int64_t step, const std::vector<std::int64_t>& deleted) {
  std::erase(avoided_, step);
  std::erase(told_to_avoid_, step);
  const auto is_gone = [&](std::int64_t one) { return one == step || contains(deleted, one); };
  std::erase_if(trusted_, is_gone);
  std::erase_if(wait_for_trust_, is_gone);
  if (policy_.trusts_at_once()) {
    trusted_.push_back(step);
  } else {
    wait_for_trust_.push_back(step);
  }
}

Task<std::string> RecoveryPoints::judged_well(std::int64_t checked_step) {
  const auto first_newer = std::upper_bound(wait_for_trust_.begin(), wait_for_trust_.end(), checked_step);
  if (first_newer == wait_for_trust_.begin()) co_return "";
  trusted_.insert(trusted_.end(), wait_for_trust_.begin(), first_newer);
  wait_for_trust_.erase(wait_for_trust_.begin(), first_newer);
  std::string problem = co_await store_trust();
  co_return problem;
}

Task<std::string> RecoveryPoints::store_trust() {
  if (context_.rank() != 0) co_return "";
  std::string problem;
  try {
    co_await write_trusted(context_.storage(), parent_, trusted_);
    named_ = trusted_;
  } catch (const StorageError& error) {
    problem = std::string("it could not be marked as trusted: ") + error.what();
  }
  co_return problem;
}

}  // namespace rehearse
