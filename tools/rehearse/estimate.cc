#include "tools/rehearse/estimate.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/error.h"
#include "core/model/activations.h"
#include "core/model/cost.h"
#include "core/model/layout.h"
#include "core/parallel/collective_choice.h"
#include "core/parallel/units.h"
#include "core/train/batch_share.h"
#include "core/train/gradient_dispute.h"
#include "sim/check/optimizer_memory.h"

namespace rehearse {
namespace {

// Loss, sum of squares, non-finite elements and tokens.
constexpr std::int64_t kSumsBytes = 4 * 8;

// What one rank takes fits 64 bits, or the loader refused it; what 65,536 ranks take may not.
std::int64_t checked(__int128 value, const Scenario& scenario, const char* what) {
  if (value <= std::numeric_limits<std::int64_t>::max()) return static_cast<std::int64_t>(value);
  throw InputError(scenario.file_path + ": cluster.ranks: found " + std::to_string(scenario.ranks) + "; " + what +
                   " of so many ranks of this model would be 2^63 or more; take fewer, or a smaller model");
}

Traffic traffic(const Scenario& scenario, Operation operation, std::int64_t calls, __int128 messages, __int128 bytes) {
  Traffic one;
  one.operation = operation;
  one.calls = calls;
  one.messages = checked(messages, scenario, "the messages");
  one.bytes = Bytes(checked(bytes, scenario, "the bytes sent by all"));
  return one;
}

double flops_of_a_step(const Scenario& scenario, int stages) {
  const TrainConfig& train = scenario.train;
  const BatchShare share = share_of_batch(train, scenario.ranks);
  double flops = 0;
  for (int stage = 0; stage < stages; ++stage) {
    for (Direction direction : {Direction::kForward, Direction::kBackward}) {
      const StageCost cost = stage_cost(train.model, share.per_microbatch(), stage, direction, train.dtype);
      flops += static_cast<double>(cost.flops.count());
    }
  }
  return flops * static_cast<double>(share.microbatches) * scenario.ranks;
}

// Direct exchanges send as many messages and bytes as rings do.
bool sends_as_rings(const CollectiveChoice& choice) {
  return choice.all_reduce == AllReduceAlgorithm::kRing &&
         choice.reduce_scatter != ReduceScatterAlgorithm::kRecursiveHalving &&
         choice.all_gather != AllGatherAlgorithm::kRecursiveDoubling;
}

}  // namespace

Estimate estimate(const Scenario& scenario) {
  const TrainConfig& train = scenario.train;
  const ParameterLayout layout(train.model);
  const std::int64_t element = size_of(train.dtype);
  const UnitPlan plan(layout, train.bucket_bytes / element, scenario.ranks);
  const std::int64_t ranks = scenario.ranks;
  const auto units = static_cast<std::int64_t>(plan.units().size());
  const __int128 pairs = static_cast<__int128>(ranks) * (ranks - 1);
  const __int128 whole = static_cast<__int128>(ranks - 1) * element * plan.padded_total();

  Estimate result;
  result.parameters = layout.total();
  result.padded_parameters = plan.padded_total();
  result.units = units;
  result.start.push_back(traffic(scenario, Operation::kBroadcast, units, units * (ranks - 1), whole));
  if (train.zero_stage == 0) {
    result.step.push_back(traffic(scenario, Operation::kAllReduce, units, 2 * units * pairs, 2 * whole));
    result.step.push_back(traffic(scenario, Operation::kAllGather, 1, pairs, kSumsBytes * pairs));
  } else {
    result.step.push_back(traffic(scenario, Operation::kReduceScatter, units, units * pairs, whole));
    result.step.push_back(
        traffic(scenario, Operation::kAllGather, units + 1, (units + 1) * pairs, whole + kSumsBytes * pairs));
  }
  result.step_as_by_rings = !sends_as_rings(train.collectives);
  result.parameter_bytes = Bytes(element * plan.padded_total());
  const std::int64_t recompute_every = train.guards.recompute_every;
  result.gradient_bytes = Bytes(result.parameter_bytes.count() * (recompute_every > 0 ? 2 : 1));
  result.optimizer_bytes = expected_optimizer_bytes(train, scenario.ranks);
  const BatchShare share = share_of_batch(train, scenario.ranks);
  result.activation_bytes = Bytes(element * activation_elements(train.model, share.per_microbatch()));

  result.rank_bytes = result.parameter_bytes + result.gradient_bytes + result.optimizer_bytes + result.activation_bytes;
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
