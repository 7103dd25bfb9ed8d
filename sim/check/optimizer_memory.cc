#include "sim/check/optimizer_memory.h"

#include <algorithm>

#include "core/model/layout.h"
#include "sim/check/unit_cut.h"

namespace rehearse {

Bytes expected_optimizer_bytes(const TrainConfig& config, int ranks) {
  std::int64_t padded = 0;
  for (const PaddedUnit& unit : cut_units(ParameterLayout(config.model), config, ranks)) padded += unit.padded;
  const std::int64_t held = config.zero_stage == 0 ? padded : padded / ranks;
  return Bytes(3 * size_of(config.optimizer_dtype.value_or(config.dtype)) * held);
}

std::optional<std::string> check_optimizer_memory(const TrainConfig& config,
                                                  const std::vector<Bytes>& optimizer_by_rank,
                                                  const std::vector<int>& earlier_ranks) {
  Bytes expected = expected_optimizer_bytes(config, static_cast<int>(optimizer_by_rank.size()));
  for (const int ranks : earlier_ranks) expected = std::max(expected, expected_optimizer_bytes(config, ranks));
  for (std::size_t rank = 0; rank < optimizer_by_rank.size(); ++rank) {
    if (optimizer_by_rank[rank] == expected) continue;
    return "rank " + std::to_string(rank) + " holds " + std::to_string(optimizer_by_rank[rank].count()) +
           " bytes of optimizer state; " + (config.zero_stage == 0 ? "12 P" : "12 P / N") +
           " (padded, float32; twice that in float64, half in 16 bits) is " + std::to_string(expected.count());
  }
  return std::nullopt;
}

}  // namespace rehearse
