#include "core/train/batch_share.h"

#include "core/base/check.h"

namespace rehearse {

std::int64_t sequences_of_batch(const TrainConfig& config, std::int64_t ranks) {
  return (config.data_ranks > 0 ? config.data_ranks : ranks) * config.batch;
}

bool divides_batch(const TrainConfig& config, std::int64_t ranks) {
  return sequences_of_batch(config, ranks) % ranks == 0;
}

BatchShare share_of_batch(const TrainConfig& config, std::int64_t ranks) {
  CHECK_GT(ranks, 0);
  CHECK(divides_batch(config, ranks));
  const std::int64_t most = config.batch / config.accumulate;
  BatchShare share;
  share.sequences = sequences_of_batch(config, ranks) / ranks;
  share.microbatches = (share.sequences + most - 1) / most;
  while (share.sequences % share.microbatches != 0) ++share.microbatches;
  return share;
}

}  // namespace rehearse
