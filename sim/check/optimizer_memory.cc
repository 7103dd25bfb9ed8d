#include "sim/check/optimizer_memory.h"

#include <algorithm>

#include "core/model/layout.h"

namespace rehearse {

// Written apart from core/parallel on purpose: the cut into buckets again, from design section 7.
Bytes expected_optimizer_bytes(const TrainConfig& config, int ranks) {
  const ParameterLayout layout(config.model);
  const std::int64_t multiple = std::int64_t{16} * ranks;
  const std::int64_t bucket = config.bucket_bytes / size_of(config.gradient_dtype.value_or(config.dtype));
  std::int64_t padded = 0;
  std::int64_t open = 0;
  const auto close = [&] {
    padded += (open + multiple - 1) / multiple * multiple;
    open = 0;
  };
  for (auto tensor = layout.tensors().rbegin(); tensor != layout.tensors().rend(); ++tensor) {
    if (bucket > 0 && open > 0 && open + tensor->numel > bucket) close();
    open += tensor->numel;
  }
  close();
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
