#include "sim/config/convert_fault_when.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

Phase convert_phase(config::At::Phase phase) {
  switch (phase) {
    case config::At::DATA:
      return Phase::kData;
    case config::At::FORWARD:
      return Phase::kForward;
    case config::At::BACKWARD:
      return Phase::kBackward;
    case config::At::REDUCE:
      return Phase::kReduce;
    case config::At::OPTIMIZER:
      return Phase::kOptimizer;
    case config::At::GATHER:
      return Phase::kGather;
    case config::At::CHECKPOINT:
      return Phase::kCheckpoint;
    case config::At::LOAD:
      return Phase::kLoad;
  }
  check_failed(__FILE__, __LINE__, "a phase that the schema does not have");
}

void check_phase(const config::At& at, const AllowedPlaces& allowed, const std::string& path, const Origins& origins) {
  const auto& phases = allowed.phases;
  if (phases.empty() || std::find(phases.begin(), phases.end(), at.phase()) != phases.end()) return;
  std::string names;
  for (const config::At::Phase phase : phases) names += (names.empty() ? "" : ", ") + config::At::Phase_Name(phase);
  origins.fail(path + ".at.phase",
               "found " + config::At::Phase_Name(at.phase()) + "; allowed for this kind of fault: " + names);
}

void check_steps(const config::At& at, const std::string& path, const Origins& origins, const Scenario& scenario) {
  // Loads are counted, not steps of the run.
  if (at.phase() == config::At::LOAD) return;
  const std::string allowed =
      "; allowed: a step of the run, 1 to train.steps, which is " + std::to_string(scenario.train.steps);
  if (at.step() > scenario.train.steps) {
    origins.fail(path + ".at.step", "found " + std::to_string(at.step()) + allowed);
  }
  if (at.has_until_step() && at.until_step() > scenario.train.steps) {
    origins.fail(path + ".at.until_step", "found " + std::to_string(at.until_step()) + allowed);
  }
}

void check_saves(const config::At& at, const std::string& path, const Origins& origins, const Scenario& scenario) {
  const std::int64_t every = scenario.train.checkpoint.every_steps;
  if (at.phase() == config::At::LOAD && !scenario.train.checkpoint.any()) {
    origins.fail(path + ".at.phase",
                 "found LOAD, but nothing is saved; allowed: only with checkpoint.every_steps or every");
  }
  if (at.phase() != config::At::CHECKPOINT || scenario.train.checkpoint.every_time > Duration()) return;
  const bool several = at.has_every() || at.has_until_step();
  if (every == 0 || (!several && at.step() % every != 0)) {
    origins.fail(path + ".at.phase", "found CHECKPOINT of step " + std::to_string(at.step()) +
                                         ", after which nothing is saved; allowed: only in a multiple of "
                                         "checkpoint.every_steps, which is " +
                                         std::to_string(every));
  }
}

}  // namespace

void check_rank(std::int64_t rank, const std::string& path, const Origins& origins, const Scenario& scenario) {
  if (rank < scenario.known_ranks()) return;
  origins.fail(path + ".rank", "found " + std::to_string(rank) + "; allowed: " + scenario.allowed_ranks());
}

FaultWhen convert_when(std::int64_t rank, const config::At& at, const AllowedPlaces& allowed, const std::string& path,
                       const Origins& origins, const Scenario& scenario) {
  if (rank != kAllRanks) check_rank(rank, path, origins, scenario);
  check_steps(at, path, origins, scenario);
  check_phase(at, allowed, path, origins);
  check_saves(at, path, origins, scenario);
  if (at.has_until_step() && at.until_step() < at.step()) {
    origins.fail(path + ".at.until_step", "found " + std::to_string(at.until_step()) +
                                              "; allowed: at least at.step, which is " + std::to_string(at.step()));
  }
  if (at.has_message() && !allowed.message) {
    origins.fail(path + ".at.message", "found " + std::to_string(at.message()) + "; allowed only for crash and hang");
  }
  if (at.always() && at.has_count()) {
    origins.fail(path + ".at.count", "found " + std::to_string(at.count()) +
                                         " with always, which has no limit; "
                                         "allowed: one or the other");
  }
  const auto probability = to_billionths(at.probability());
  if (!probability) origins.fail(path + ".at.probability", "found more than 9 decimals; allowed: at most 9");
  FaultWhen when;
  when.at.rank = static_cast<int>(rank);
  when.at.step = at.step();
  when.at.phase = convert_phase(at.phase());
  when.message = at.message();
  when.every = at.every();
  when.until_step = at.until_step();
  when.probability = *probability;
  when.always = at.always();
  const bool several = at.has_every() || at.has_until_step() || at.probability() < 1;
  when.count = at.has_count() ? at.count() : (several ? 0 : 1);
  return when;
}

FaultAddress convert_address(std::int64_t rank, const config::At& at, const std::string& path, const Origins& origins,
                             const Scenario& scenario) {
  const AllowedPlaces allowed = {{config::At::DATA, config::At::FORWARD, config::At::BACKWARD, config::At::REDUCE,
                                  config::At::OPTIMIZER, config::At::GATHER, config::At::CHECKPOINT},
                                 false};
  const FaultWhen when = convert_when(rank, at, allowed, path, origins, scenario);
  FaultWhen plain;
  plain.at = when.at;
  if (!(when == plain)) {
    origins.fail(path + ".at", "found more than a step and a phase; allowed for this kind of fault: at { step phase }");
  }
  return when.at;
}

}  // namespace rehearse
