#include <string>

#include "core/base/check.h"
#include "core/base/digest.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"

namespace rehearse {
namespace {

void check_step(const char* path, std::int64_t step, const TrainConfig& train, const Origins& origins) {
  if (step <= train.steps) return;
  origins.fail(path, "found " + std::to_string(step) + "; allowed: a step of the run, 1 to train.steps, which is " +
                         std::to_string(train.steps));
}

// Rotation may delete the checkpoint before the run ends: who resumes from it has to take it when it is published.
void check_resume_from(std::int64_t step, const TrainConfig& train, const Origins& origins) {
  constexpr const char* kPath = "expect.resume_from";
  const std::string found = "found " + std::to_string(step) + "; ";
  const std::int64_t every = train.checkpoint.every_steps;
  if (!train.checkpoint.any())
    origins.fail(kPath, found + "allowed: only with checkpoint.every_steps or every, as there are no checkpoints");
  check_step(kPath, step, train, origins);
  // Which steps are saved by time only the run can tell.
  if (train.checkpoint.every_time > Duration()) return;
  if (step % every != 0) {
    origins.fail(kPath, found + "allowed: a step with a checkpoint, a multiple of checkpoint.every_steps, which is " +
                            std::to_string(every));
  }
}

// Without tiers there is one place to load from.
void check_tiers(const config::Expect& expect, const Origins& origins) {
  const auto check = [&origins](bool found, const char* field, std::int64_t value) {
    if (!found) return;
    origins.fail(field, "found " + std::to_string(value) + " without local disks; allowed: only with checkpoint.tiers");
  };
  check(expect.has_shards_from_other_disks(), "expect.shards_from_other_disks", expect.shards_from_other_disks());
  check(expect.has_shards_from_remote(), "expect.shards_from_remote", expect.shards_from_remote());
  check(expect.has_refused_copies(), "expect.refused_copies", expect.refused_copies());
}

void check_contradictions(const config::Expect& expect, const TrainConfig& train, const Origins& origins) {
  if (expect.has_final_step()) check_step("expect.final_step", expect.final_step(), train, origins);
  if (expect.has_resume_from()) check_resume_from(expect.resume_from(), train, origins);
  if (expect.has_eval_loss() && (train.eval_every == 0 || train.eval_every > train.steps)) {
    origins.fail("expect.eval_loss",
                 "found FALLS, but the held-out loss is not measured twice; allowed: only with "
                 "train.eval_every from 1 to train.steps, which is " +
                     std::to_string(train.steps));
  }
  if (expect.has_max_accumulation_difference() && train.accumulate == 1) {
    origins.fail("expect.max_accumulation_difference",
                 "found without accumulation; allowed: only where train.accumulate is 2 or more");
  }
  if (expect.has_max_accumulation_difference() && train.zero_stage == 3) {
    origins.fail(
        "expect.max_accumulation_difference",
        "found with train.zero_stage 3, where no rank has all parameters at once to compute the other gradient "
        "from; allowed: zero_stage 0, 1 or 2");
  }
  if (!train.checkpoint.tiers.has_value()) check_tiers(expect, origins);
  if (expect.outcome() != config::Expect::DONE && (expect.has_resume_from() || expect.has_weights_sha256() ||
                                                   expect.has_same_weights_as() || expect.has_final_loss_below())) {
    origins.fail("expect.outcome", "found " + config::Expect::Outcome_Name(expect.outcome()) +
                                       " together with weights, a final loss or a resume, which a run has only "
                                       "when it is done; allowed: one or the other");
  }
}

Outcome convert_outcome(config::Expect::Outcome outcome) {
  switch (outcome) {
    case config::Expect::DONE:
      return Outcome::kDone;
    case config::Expect::STOPPED:
      return Outcome::kStopped;
    case config::Expect::FAILED:
      return Outcome::kFailed;
    case config::Expect::DEADLOCK:
      return Outcome::kDeadlock;
  }
  check_failed(__FILE__, __LINE__, "an outcome that the schema does not have");
}

std::string checked_sha256(const char* path, const std::string& text, const Origins& origins) {
  if (is_sha256_hex(text)) return text;
  origins.fail(path, "found \"" + text + "\"; allowed: exactly 64 lower-case hex digits");
}

}  // namespace

void convert_expect(const config::Scenario& message, const NamedFiles& files, const Origins& origins,
                    Scenario& scenario) {
  const config::Expect& expect = message.expect();
  Expectations& out = scenario.expect;
  if (!scenario.job.has_value()) check_contradictions(expect, scenario.train, origins);
  out.outcome = convert_outcome(expect.outcome());
  if (expect.has_recoveries()) out.recoveries = expect.recoveries();
  if (expect.has_rollbacks()) out.rollbacks = expect.rollbacks();
  if (expect.has_skipped_steps()) out.skipped_steps = expect.skipped_steps();
  if (expect.has_lost_steps()) out.lost_steps = expect.lost_steps();
  if (expect.has_goodput_above()) out.goodput_above = expect.goodput_above();
  if (expect.has_goodput_below()) out.goodput_below = expect.goodput_below();
  if (expect.has_exposed_above()) out.exposed_above = expect.exposed_above();
  if (expect.has_exposed_below()) out.exposed_below = expect.exposed_below();
  if (expect.has_cause()) out.cause = expect.cause();
  if (expect.has_failed_saves()) out.failed_saves = expect.failed_saves();
  if (expect.has_refused_checkpoints()) out.refused_checkpoints = expect.refused_checkpoints();
  if (expect.has_shards_from_other_disks()) out.shards_from_other_disks = expect.shards_from_other_disks();
  if (expect.has_shards_from_remote()) out.shards_from_remote = expect.shards_from_remote();
  if (expect.has_refused_copies()) out.refused_copies = expect.refused_copies();
  out.loss_falls = expect.has_loss();
  out.eval_loss_falls = expect.has_eval_loss();
  if (expect.has_final_step()) out.final_step = expect.final_step();
  if (expect.has_resume_from()) out.resume_from = expect.resume_from();
  if (expect.has_final_loss_below()) out.final_loss_below = expect.final_loss_below();
  if (expect.has_max_accumulation_difference()) out.max_accumulation_difference = expect.max_accumulation_difference();
  if (expect.has_weights_sha256()) {
    out.weights_sha256 = checked_sha256("expect.weights_sha256", expect.weights_sha256(), origins);
  }
  if (expect.has_event_digest()) {
    out.event_digest = checked_sha256("expect.event_digest", expect.event_digest(), origins);
  }
  out.same_weights_as = files.weights;
}

}  // namespace rehearse
