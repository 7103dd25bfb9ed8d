#include "sim/check/state_memory.h"

#include <algorithm>

#include "core/model/layout.h"
#include "core/train/batch_share.h"
#include "sim/check/unit_cut.h"

namespace rehearse {
namespace {

std::string words_of(int rank, const char* what, Bytes found, Bytes expected) {
  return "rank " + std::to_string(rank) + " " + what + " " + std::to_string(found.count()) + " bytes; by the formula " +
         std::to_string(expected.count());
}

}  // namespace

StateBytes expected_state_bytes(const TrainConfig& config, int ranks) {
  const ParameterLayout layout(config.model);
  const std::vector<PaddedUnit> units = cut_units(layout, config, ranks);
  std::int64_t all = 0;
  for (const PaddedUnit& unit : units) all += unit.padded;
  // Whole units of the stage, and with overlap of its neighbour.
  std::int64_t passing = 0;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    std::int64_t held = 0;
    for (const PaddedUnit& unit : units) {
      const bool next = config.overlap && unit.stages.contains(stage + 1);
      if (unit.stages.contains(stage) || next) held += unit.padded;
    }
    passing = std::max(passing, held);
  }
  const bool twice = config.guards.recompute_every > 0 && ranks > 1;
  const bool accumulates = share_of_batch(config, ranks).microbatches > 1;
  const bool shards_gradients = config.zero_stage >= 2;
  const bool shards_parameters = config.zero_stage == 3;
  const std::int64_t parameters = shards_parameters ? all / ranks : all;
  const std::int64_t gradients = (shards_gradients ? all / ranks : all) + (twice ? all : 0);
  const std::int64_t passing_gradients = twice || accumulates ? all : passing;
  const std::int64_t p = size_of(config.dtype);
  const std::int64_t g = size_of(config.gradient_dtype.value_or(config.dtype));
  StateBytes bytes;
  bytes.parameters = Bytes(p * parameters);
  bytes.gradients = Bytes(g * gradients);
  bytes.most_parameters = Bytes(p * (parameters + (shards_parameters ? (twice ? all : passing) : 0)));
  bytes.most_gradients = Bytes(g * (gradients + (shards_gradients ? passing_gradients : 0)));
  return bytes;
}

std::optional<std::string> check_state_memory(const TrainConfig& config, const std::vector<StateBytes>& by_rank) {
  const StateBytes expected = expected_state_bytes(config, static_cast<int>(by_rank.size()));
  const bool at_most = config.guards.recompute_every > 0;
  const auto holds = [at_most](Bytes found, Bytes most) { return found == most || (at_most && found < most); };
  for (int rank = 0; rank < static_cast<int>(by_rank.size()); ++rank) {
    const StateBytes& found = by_rank[static_cast<std::size_t>(rank)];
    if (found.parameters != expected.parameters) {
      return words_of(rank, "keeps parameters of", found.parameters, expected.parameters);
    }
    if (found.gradients != expected.gradients) {
      return words_of(rank, "keeps gradients of", found.gradients, expected.gradients);
    }
    if (!holds(found.most_parameters, expected.most_parameters)) {
      return words_of(rank, "held at most parameters of", found.most_parameters, expected.most_parameters);
    }
    if (!holds(found.most_gradients, expected.most_gradients)) {
      return words_of(rank, "held at most gradients of", found.most_gradients, expected.most_gradients);
    }
  }
  return std::nullopt;
}

}  // namespace rehearse
