#include "core/train/recovery_points.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/checkpoint/directory.h"

namespace rehearse {
namespace {

bool contains(const std::vector<std::int64_t>& steps, std::int64_t step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

void add_problem(std::string& all, const std::string& one) {
  if (!one.empty()) all += (all.empty() ? "" : "; ") + one;
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
  choice.on_trust = [this](const TrustedSteps& named) { named_ = named; };
  stored_.clear();
  good_.clear();
  waits_.clear();
  for (std::set<std::int64_t>& steps : copies_) steps.clear();
  return choice;
}

// On rank 0.
std::vector<std::int64_t> RecoveryPoints::order(const std::vector<StoredCheckpoint>& stored) {
  const bool at_once = policy_.trusts_at_once();
  std::vector<RecoveryPoint> points;
  for (const StoredCheckpoint& one : stored) {
    stored_.push_back(one);
    points.push_back(point(one.step, one.is_trusted() || at_once));
    if (points.back().trusted) good_.insert(one.step);
    if (one.remote && (one.trusted || at_once)) copies(Tier::kRemote).insert(one.step);
    if (one.local && (one.trusted_local || at_once)) copies(Tier::kLocal).insert(one.step);
  }
  return policy_.order(points);
}

Task<std::string> RecoveryPoints::gone_back(std::int64_t step) {
  if (context_.rank() != 0) co_return "";
  good_.erase(good_.upper_bound(step), good_.end());
  for (std::set<std::int64_t>& steps : copies_) steps.erase(steps.upper_bound(step), steps.end());
  std::string problem = std::exchange(problem_, "");
  // Nobody who is gone may be named either: whoever takes that step's place would be trusted unseen.
  if (named_ != trusted() && !policy_.trusts_at_once()) {
    const std::string other = co_await store_trust();
    add_problem(problem, other);
  }
  std::vector<std::int64_t> there;
  std::vector<RecoveryPoint> points;
  for (const StoredCheckpoint& one : stored_) {
    if (!one.remote) continue;
    points.push_back(point(one.step, copies(Tier::kRemote).contains(one.step)));
    if (one.step <= step) there.push_back(one.step);
  }
  std::vector<std::int64_t> stay = policy_.must_keep(points);
  keep_what_is_named(Tier::kRemote, stay);
  const std::vector<std::int64_t> gone = rotated_out(there, keep_, stay);
  try {
    co_await delete_checkpoints(context_.storage(), parent_, gone);
  } catch (const StorageError& error) {
    add_problem(problem, std::string("older ones could not be deleted: ") + error.what());
  }
  for (const std::int64_t one : gone) copies(Tier::kRemote).erase(one);
  co_return problem;
}

Task<std::string> RecoveryPoints::resumed(std::int64_t step) {
  good_ = {step};
  copies(Tier::kRemote) = {step};
  if (policy_.trusts_at_once()) co_return "";
  std::string problem = co_await store_trust();
  co_return problem;
}

void RecoveryPoints::note_failure(std::int64_t resumed_step, std::int64_t failed_step) {
  const auto here = std::pair(resumed_step, failed_step);
  if (failure_ == here) avoided_.push_back(resumed_step);
  failure_ = here;
}

std::vector<std::int64_t> RecoveryPoints::trusted_in(Tier tier) const {
  std::vector<std::int64_t> steps;
  std::set_intersection(good_.begin(), good_.end(), copies(tier).begin(), copies(tier).end(),
                        std::back_inserter(steps));
  return steps;
}

TrustedSteps RecoveryPoints::trusted() const {
  TrustedSteps steps;
  steps.remote = trusted_in(Tier::kRemote);
  if (has_tiers_) steps.local = trusted_in(Tier::kLocal);
  return steps;
}

void RecoveryPoints::keep_what_is_named(Tier tier, std::vector<std::int64_t>& steps) const {
  const std::vector<std::int64_t>& named = tier == Tier::kLocal ? named_.local : named_.remote;
  if (!named.empty() && !policy_.trusts_at_once()) steps.push_back(named.back());
}

std::vector<std::int64_t> RecoveryPoints::must_keep(std::int64_t step, Tier tier) const {
  std::vector<RecoveryPoint> points;
  for (const std::int64_t one : trusted_in(tier)) points.push_back(point(one, true));
  points.push_back(point(step, policy_.trusts_at_once()));
  std::vector<std::int64_t> steps = policy_.must_keep(points);
  // It may have been trusted by the time that this step's is.
  const auto newest =
      std::find_if(waits_.rbegin(), waits_.rend(), [&](std::int64_t one) { return copies(tier).contains(one); });
  if (newest != waits_.rend()) steps.push_back(*newest);
  // The list in the storage may be older than what is known here.
  keep_what_is_named(tier, steps);
  if (tier == Tier::kLocal) {
    // Each disk alone cannot tell which of its checkpoints all disks together have whole.
    std::int64_t others = keep_ - 1;
    for (auto one = copies(tier).rbegin(); one != copies(tier).rend() && others > 0; ++one) {
      if (*one >= step) continue;
      steps.push_back(*one);
      --others;
    }
  }
  return steps;
}

void RecoveryPoints::saved(std::int64_t step, const std::vector<std::int64_t>& deleted, Tier tier) {
  std::erase(avoided_, step);
  std::erase(told_to_avoid_, step);
  for (const std::int64_t one : deleted) copies(tier).erase(one);
  copies(tier).insert(step);
  // What the other tier has of this step is of before the job went back.
  copies(tier == Tier::kLocal ? Tier::kRemote : Tier::kLocal).erase(step);
  good_.erase(step);
  waits_.erase(step);
  (policy_.trusts_at_once() ? good_ : waits_).insert(step);
}

Task<std::string> RecoveryPoints::uploaded(std::int64_t step, std::vector<std::int64_t> deleted) {
  for (const std::int64_t one : deleted) copies(Tier::kRemote).erase(one);
  copies(Tier::kRemote).insert(step);
  if (policy_.trusts_at_once() || !good_.contains(step)) co_return "";
  std::string problem = co_await store_trust();
  co_return problem;
}

Task<std::string> RecoveryPoints::judged_well(std::int64_t checked_step) {
  const auto first_newer = waits_.upper_bound(checked_step);
  if (first_newer == waits_.begin()) co_return "";
  good_.insert(waits_.begin(), first_newer);
  waits_.erase(waits_.begin(), first_newer);
  std::string problem = co_await store_trust();
  co_return problem;
}

Task<std::string> RecoveryPoints::store_trust() {
  if (context_.rank() != 0) co_return "";
  std::string problem;
  try {
    const TrustedSteps steps = trusted();
    co_await write_trusted(context_.storage(), parent_, steps);
    named_ = steps;
  } catch (const StorageError& error) {
    problem = std::string("it could not be marked as trusted: ") + error.what();
  }
  co_return problem;
}

}  // namespace rehearse
