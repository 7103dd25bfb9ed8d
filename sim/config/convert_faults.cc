#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/model/layout.h"
#include "core/parallel/units.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
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
  }
  check_failed(__FILE__, __LINE__, "a phase that the schema does not have");
}

FaultTarget convert_target(config::Flip::Target target) {
  switch (target) {
    case config::Flip::GRADIENT:
      return FaultTarget::kGradient;
    case config::Flip::PARAMETER:
      return FaultTarget::kParameter;
    case config::Flip::MASTER:
      return FaultTarget::kMaster;
    case config::Flip::FIRST_MOMENT:
      return FaultTarget::kFirstMoment;
    case config::Flip::SECOND_MOMENT:
      return FaultTarget::kSecondMoment;
  }
  check_failed(__FILE__, __LINE__, "a target that the schema does not have");
}

void check_rank(std::int64_t rank, const std::string& path, const Origins& origins, const Scenario& scenario) {
  if (rank < scenario.ranks) return;
  origins.fail(path + ".rank", "found " + std::to_string(rank) +
                                   "; allowed: 0 to cluster.ranks - 1 = " + std::to_string(scenario.ranks - 1));
}

int find_tensor(const ParameterLayout& layout, const std::string& name, const std::string& path,
                const Origins& origins) {
  std::vector<std::string> names;
  for (const ParameterInfo& info : layout.tensors()) names.push_back(info.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) origins.fail(path, "found \"" + name + "\"; " + suggestion(name, names));
  return static_cast<int>(found - names.begin());
}

// Only the rank that updates an element has its moments, its master weight and its summed gradient.
void check_is_updated(const FlipFault& flip, const ParameterLayout& layout, const std::string& path,
                      const Origins& origins, const Scenario& scenario) {
  const bool summed = flip.target == FaultTarget::kGradient && flip.at.phase != Phase::kReduce;
  const bool shard_only = flip.target != FaultTarget::kGradient && flip.target != FaultTarget::kParameter;
  if ((!summed && !shard_only) || scenario.train.zero_stage == 0) return;
  const UnitPlan plan(layout, scenario.train.bucket_bytes / size_of(scenario.train.dtype), scenario.ranks);
  const Unit& unit = plan.units()[static_cast<std::size_t>(plan.unit_of(flip.tensor))];
  const std::int64_t tensor_begin = plan.offset_in_unit(flip.tensor);
  const std::int64_t tensor_end = tensor_begin + layout.tensors()[static_cast<std::size_t>(flip.tensor)].numel;
  const std::int64_t begin = std::max(flip.at.rank * unit.chunk, tensor_begin) - tensor_begin;
  const std::int64_t end = std::min((flip.at.rank + 1) * unit.chunk, tensor_end) - tensor_begin;
  if (flip.index >= begin && flip.index < end) return;
  const std::int64_t owner = (tensor_begin + flip.index) / unit.chunk;
  std::string allowed = "; rank " + std::to_string(flip.at.rank) + " updates ";
  allowed += begin < end ? "elements " + std::to_string(begin) + " to " + std::to_string(end - 1) + " of it"
                         : std::string("nothing of it");
  origins.fail(path + ".index", "found " + std::to_string(flip.index) + allowed + ", rank " + std::to_string(owner) +
                                    " that element; allowed: an element that the rank updates");
}

CrashFault convert_crash(const config::Crash& crash, const std::string& path, const Origins& origins,
                         const Scenario& scenario) {
  if (!crash.has_at() && !crash.has_time()) {
    origins.fail(path, "says not when; allowed: at { step phase }, or time");
  }
  CrashFault out;
  out.kind = crash.kind() == config::Crash::HOST ? CrashKind::kHost : CrashKind::kProcess;
  out.unsynced = convert_host_loss(crash, path, origins);
  if (crash.has_time()) {
    check_rank(crash.rank(), path, origins, scenario);
    out.at.rank = static_cast<int>(crash.rank());
    out.time = TimePoint::at(parse_duration(crash.time()));
    return out;
  }
  out.at = convert_address(crash.rank(), crash.at(), path, origins, scenario);
  check_is_saved(out.at, path, origins, scenario);
  return out;
}

FlipFault convert_flip(const config::Flip& flip, const std::string& path, const Origins& origins,
                       const Scenario& scenario) {
  FlipFault out;
  out.at = convert_address(flip.rank(), flip.at(), path, origins, scenario);
  out.target = convert_target(flip.target());
  if (out.at.phase == Phase::kCheckpoint) {
    origins.fail(path + ".at.phase",
                 "found CHECKPOINT; allowed for a flip: DATA, FORWARD, BACKWARD, REDUCE, OPTIMIZER, GATHER");
  }
  const bool before_gradients =
      out.at.phase == Phase::kData || out.at.phase == Phase::kForward || out.at.phase == Phase::kBackward;
  if (out.target == FaultTarget::kGradient && before_gradients) {
    origins.fail(path + ".at.phase", "found " + config::At::Phase_Name(flip.at().phase()) +
                                         ", when there is no gradient yet; allowed: REDUCE, OPTIMIZER, GATHER");
  }
  const ParameterLayout layout(scenario.train.model);
  out.tensor = find_tensor(layout, flip.tensor(), path + ".tensor", origins);
  out.tensor_name = flip.tensor();
  out.index = flip.index();
  const std::int64_t numel = layout.tensors()[static_cast<std::size_t>(out.tensor)].numel;
  if (out.index >= numel) {
    origins.fail(path + ".index", "found " + std::to_string(out.index) + "; allowed: 0 to " +
                                      std::to_string(numel - 1) + ", as " + flip.tensor() + " has " +
                                      std::to_string(numel) + " elements");
  }
  const std::int64_t bits = 8 * size_of(scenario.train.dtype);
  if (flip.bit() >= bits) {
    origins.fail(path + ".bit", "found " + std::to_string(flip.bit()) + "; allowed: 0 to " + std::to_string(bits - 1));
  }
  out.bit = static_cast<int>(flip.bit());
  check_is_updated(out, layout, path, origins, scenario);
  return out;
}

}  // namespace

FaultAddress convert_address(std::int64_t rank, const config::At& at, const std::string& path, const Origins& origins,
                             const Scenario& scenario) {
  check_rank(rank, path, origins, scenario);
  if (at.step() > scenario.train.steps) {
    origins.fail(path + ".at.step", "found " + std::to_string(at.step()) +
                                        "; allowed: a step of the run, 1 to train.steps, which is " +
                                        std::to_string(scenario.train.steps));
  }
  FaultAddress address;
  address.rank = static_cast<int>(rank);
  address.step = at.step();
  address.phase = convert_phase(at.phase());
  return address;
}

void check_is_saved(const FaultAddress& at, const std::string& path, const Origins& origins, const Scenario& scenario) {
  const std::int64_t every = scenario.train.checkpoint.every_steps;
  if (at.phase != Phase::kCheckpoint || (every > 0 && at.step % every == 0)) return;
  origins.fail(path + ".at.phase", "found CHECKPOINT of step " + std::to_string(at.step) +
                                       ", after which nothing is saved; allowed: only in a multiple of "
                                       "checkpoint.every_steps, which is " +
                                       std::to_string(every));
}

void convert_faults(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  for (int i = 0; i < message.faults().flip_size(); ++i) {
    const std::string path = "faults.flip[" + std::to_string(i) + "]";
    scenario.faults.flips.push_back(convert_flip(message.faults().flip(i), path, origins, scenario));
  }
  for (int i = 0; i < message.faults().crash_size(); ++i) {
    const std::string path = "faults.crash[" + std::to_string(i) + "]";
    const CrashFault crash = convert_crash(message.faults().crash(i), path, origins, scenario);
    for (const CrashFault& other : scenario.faults.crashes) {
      if (other.at == crash.at && other.time == crash.time) {
        origins.fail(
            path, "found a second crash of rank " + std::to_string(crash.at.rank) + " at the same place; allowed: one");
      }
    }
    scenario.faults.crashes.push_back(crash);
  }
  scenario.recovery.max_restarts = static_cast<int>(message.recovery().max_restarts());
  scenario.recovery.restart_delay = parse_duration(message.recovery().restart_delay());
  scenario.recovery.heartbeat_timeout = parse_duration(message.recovery().heartbeat_timeout());
}

}  // namespace rehearse
