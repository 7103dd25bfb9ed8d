#include "tools/rehearse/estimate.h"

#include "core/model/activations.h"
#include "core/model/cost.h"
#include "core/model/layout.h"
#include "core/parallel/units.h"
#include "sim/check/optimizer_memory.h"

namespace rehearse {
namespace {

// Loss, sum of squares, non-finite elements and tokens.
constexpr std::int64_t kSumsBytes = 4 * 8;

Traffic traffic(Operation operation, std::int64_t calls, std::int64_t messages, std::int64_t bytes) {
  Traffic one;
  one.operation = operation;
  one.calls = calls;
  one.messages = messages;
  one.bytes = Bytes(bytes);
  return one;
}

double flops_of_a_step(const Scenario& scenario, int stages) {
  const TrainConfig& train = scenario.train;
  double flops = 0;
  for (int stage = 0; stage < stages; ++stage) {
    for (Direction direction : {Direction::kForward, Direction::kBackward}) {
      const StageCost cost = stage_cost(train.model, train.batch / train.accumulate, stage, direction, train.dtype);
      flops += static_cast<double>(cost.flops.count());
    }
  }
  return flops * static_cast<double>(train.accumulate) * scenario.ranks;
}

}  // namespace

Estimate estimate(const Scenario& scenario) {
  const TrainConfig& train = scenario.train;
  const ParameterLayout layout(train.model);
  const std::int64_t element = size_of(train.dtype);
  const UnitPlan plan(layout, train.bucket_bytes / element, scenario.ranks);
  const std::int64_t ranks = scenario.ranks;
  const std::int64_t pairs = ranks * (ranks - 1);
  const auto units = static_cast<std::int64_t>(plan.units().size());
  const std::int64_t whole = (ranks - 1) * element * plan.padded_total();

  Estimate result;
  result.parameters = layout.total();
  result.padded_parameters = plan.padded_total();
  result.units = units;
  result.start.push_back(traffic(Operation::kBroadcast, units, units * (ranks - 1), whole));
  if (train.zero_stage == 0) {
    result.step.push_back(traffic(Operation::kAllReduce, units, 2 * units * pairs, 2 * whole));
    result.step.push_back(traffic(Operation::kAllGather, 1, pairs, kSumsBytes * pairs));
  } else {
    result.step.push_back(traffic(Operation::kReduceScatter, units, units * pairs, whole));
    result.step.push_back(traffic(Operation::kAllGather, units + 1, (units + 1) * pairs, whole + kSumsBytes * pairs));
  }
  result.parameter_bytes = Bytes(element * plan.padded_total());
  result.gradient_bytes = result.parameter_bytes;
  result.optimizer_bytes = expected_optimizer_bytes(train, scenario.ranks);
  result.activation_bytes = Bytes(element * activation_elements(train.model, train.batch / train.accumulate));

  double steps = static_cast<double>(train.steps);
  if (scenario.expect.resume_from) steps += static_cast<double>(train.steps - *scenario.expect.resume_from);
  result.flops = steps * flops_of_a_step(scenario, layout.stages());
  const double rate = train.dtype == DType::kFloat64 ? kAssumedFlopsPerSecond / 2 : kAssumedFlopsPerSecond;
  result.wall_seconds = result.flops / rate;
  return result;
}

}  // namespace rehearse
