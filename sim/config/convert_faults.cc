#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/model/layout.h"
#include "core/parallel/units.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"

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

FaultAddress convert_address(std::int64_t rank, const config::At& at, const std::string& path, const Origins& origins,
                             const Scenario& scenario) {
  if (rank >= scenario.ranks) {
    origins.fail(path + ".rank", "found " + std::to_string(rank) +
                                     "; allowed: 0 to cluster.ranks - 1 = " + std::to_string(scenario.ranks - 1));
  }
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

FlipFault convert_flip(const config::Flip& flip, const std::string& path, const Origins& origins,
                       const Scenario& scenario) {
  FlipFault out;
  out.at = convert_address(flip.rank(), flip.at(), path, origins, scenario);
  out.target = convert_target(flip.target());
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

void convert_faults(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  for (int i = 0; i < message.faults().flip_size(); ++i) {
    const std::string path = "faults.flip[" + std::to_string(i) + "]";
    scenario.faults.flips.push_back(convert_flip(message.faults().flip(i), path, origins, scenario));
  }
}

}  // namespace rehearse
