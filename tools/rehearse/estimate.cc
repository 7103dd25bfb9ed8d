#include "tools/rehearse/estimate.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "core/base/error.h"
#include "core/comm/traffic_formulas.h"
#include "core/model/activations.h"
#include "core/model/cost.h"
#include "core/model/layout.h"
#include "core/parallel/collective_choice.h"
#include "core/parallel/stage_units.h"
#include "core/parallel/units.h"
#include "core/train/batch_share.h"
#include "core/train/gradient_dispute.h"
#include "sim/check/optimizer_memory.h"

namespace rehearse {
namespace {

// Doubles of a rank: loss, sum of squares, non-finite elements and tokens.
constexpr std::int64_t kSums = 4;

// What one rank takes fits 64 bits, or the loader refused it; what 65,536 ranks take may not.
std::int64_t checked(__int128 value, const Scenario& scenario, const char* what) {
  if (value <= std::numeric_limits<std::int64_t>::max()) return static_cast<std::int64_t>(value);
  throw InputError(scenario.file_path + ": cluster.ranks: found " + std::to_string(scenario.ranks) + "; " + what +
                   " of so many ranks of this model would be 2^63 or more; take fewer, or a smaller model");
}

// One call more.
void add(Traffic& sum, const CollectiveTraffic& call) {
  ++sum.calls;
  if (__builtin_add_overflow(sum.messages, call.messages, &sum.messages) ||
      call.bytes.count() > std::numeric_limits<std::int64_t>::max() - sum.bytes.count()) {
    throw InputError("the messages or bytes of a step would be 2^63 or more; take fewer ranks, or a smaller model");
  }
  sum.bytes += call.bytes;
}

double flops_of_a_step(const Scenario& scenario, int stages) {
  const TrainConfig& train = scenario.train;
  const BatchShare share = share_of_batch(train, scenario.ranks);
  double flops = 0;
  for (int stage = 0; stage < stages; ++stage) {
    for (Direction direction : {Direction::kForward, Direction::kBackward}) {
      const StageCost cost = stage_cost(train.model, share.per_microbatch(), stage, direction, train.dtype);
      flops += static_cast<double>(cost.flops.count());
      // Forward again, before backward of every block but the last.
      const bool again = train.recompute_blocks && stage >= 1 && stage < train.model.layers;
      if (again && direction == Direction::kForward) flops += static_cast<double>(cost.flops.count());
    }
  }
  return flops * static_cast<double>(share.microbatches) * scenario.ranks;
}

// A call on each unit.
using TrafficOf = std::function<CollectiveTraffic(std::int64_t elements, DType dtype)>;
Traffic of_units(const UnitPlan& plan, DType dtype, Operation operation, const TrafficOf& traffic_of) {
  Traffic sum;
  sum.operation = operation;
  for (const Unit& unit : plan.units()) add(sum, traffic_of(unit.padded_numel, dtype));
  return sum;
}

// How often parameters are gathered in a step, by unit.
std::vector<std::int64_t> gathers_of_units(const Scenario& scenario, const ParameterLayout& layout,
                                           const UnitPlan& plan) {
  if (scenario.train.zero_stage < 3) return std::vector<std::int64_t>(plan.units().size(), 1);
  return gathers_in_a_step(layout, plan, share_of_batch(scenario.train, scenario.ranks).microbatches);
}

}  // namespace

Estimate estimate(const Scenario& scenario) {
  const TrainConfig& train = scenario.train;
  const ParameterLayout layout(train.model);
  const StateTypes types = train.state_types();
  const UnitPlan plan(layout, train.bucket_elements(), scenario.ranks);
  const std::int64_t ranks = scenario.ranks;
  const auto units = static_cast<std::int64_t>(plan.units().size());
  Estimate result;
  result.parameters = layout.total();
  result.padded_parameters = plan.padded_total();
  result.units = units;
  const CollectiveChoice& choice = train.collectives;
  const int n = scenario.ranks;
  result.start.push_back(of_units(plan, types.parameters, Operation::kBroadcast, [&](std::int64_t count, DType dtype) {
    return broadcast_traffic(BroadcastAlgorithm::kBinomial, n, count, dtype);
  }));
  Traffic gathers;
  gathers.operation = Operation::kAllGather;
  if (train.zero_stage == 0) {
    result.step.push_back(of_units(plan, types.gradients, Operation::kAllReduce, [&](std::int64_t count, DType dtype) {
      return all_reduce_traffic(choice.all_reduce, n, count, dtype, choice.options);
    }));
  } else {
    result.step.push_back(
        of_units(plan, types.gradients, Operation::kReduceScatter, [&](std::int64_t count, DType dtype) {
          return reduce_scatter_traffic(choice.reduce_scatter, n, count, dtype);
        }));
    const std::vector<std::int64_t> times = gathers_of_units(scenario, layout, plan);
    for (std::size_t u = 0; u < times.size(); ++u) {
      const CollectiveTraffic one =
          all_gather_traffic(choice.all_gather, n, plan.units()[u].padded_numel, types.parameters);
      for (std::int64_t i = 0; i < times[u]; ++i) add(gathers, one);
    }
  }
  add(gathers, all_gather_traffic(AllGatherAlgorithm::kRing, n, kSums * ranks, DType::kFloat64));
  result.step.push_back(gathers);
  result.state = expected_state_bytes(train, scenario.ranks);
  const std::int64_t recompute_every = train.guards.recompute_every;
  result.optimizer_bytes = expected_optimizer_bytes(train, scenario.ranks);
  const BatchShare share = share_of_batch(train, scenario.ranks);
  result.activation_bytes = Bytes(size_of(types.parameters) *
                                  activation_elements(train.model, share.per_microbatch(), train.recompute_blocks));

  result.rank_bytes =
      result.state.most_parameters + result.state.most_gradients + result.optimizer_bytes + result.activation_bytes;
  __int128 messages = 0;
  for (const Traffic& one : result.start) messages += one.messages;
  for (const Traffic& one : result.step) messages += static_cast<__int128>(one.messages) * train.steps;
  result.messages = checked(messages, scenario, "the messages");
  if (scenario.cost_only) {
    result.process_bytes = Bytes(ranks * kRankBytesInCostMode);
    result.wall_seconds = static_cast<double>(result.messages) / kAssumedMessagesPerSecond;
    return result;
  }
  result.process_bytes =
      Bytes(checked(static_cast<__int128>(result.rank_bytes.count()) * ranks, scenario, "the bytes in this process"));

  // Computing gradients again takes as much as a step.
  const std::int64_t checks = check_number(recompute_every, train.steps, train.steps);
  double steps = static_cast<double>(train.steps + checks);
  if (scenario.expect.resume_from) {
    const std::int64_t from = *scenario.expect.resume_from;
    steps += static_cast<double>(train.steps - from + checks);
    if (recompute_every > 0) steps -= static_cast<double>(from / recompute_every);
  }
  result.flops = steps * flops_of_a_step(scenario, layout.stages());
  const double rate = train.dtype == DType::kFloat64 ? kAssumedFlopsPerSecond / 2 : kAssumedFlopsPerSecond;
  result.wall_seconds = result.flops / rate;
  if (scenario.expect.same_weights_as && scenario.expect.same_weights_as->scenario != nullptr) {
    // One after the other: their times add up, their memory does not.
    const Estimate other = estimate(*scenario.expect.same_weights_as->scenario);
    result.flops += other.flops;
    result.wall_seconds += other.wall_seconds;
    result.process_bytes = std::max(result.process_bytes, other.process_bytes);
  }
  return result;
}

}  // namespace rehearse
