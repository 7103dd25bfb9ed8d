#pragma once

#include <cstdint>
#include <span>

#include "core/train/config.h"

namespace rehearse {

// What a rank takes of a batch. The batch of a job is data_ranks x batch sequences in order of (rank, sequence),
// however many ranks there are: N ranks take N equal consecutive parts of it. So a job that is cut otherwise sees the
// same sequences in the same steps.
struct BatchShare {
  std::int64_t sequences = 0;     // of one rank
  std::int64_t microbatches = 1;  // equal and consecutive, that they are cut in
  std::int64_t per_microbatch() const { return sequences / microbatches; }
  // What each microbatch's loss is multiplied with, so that they add up to the mean.
  double loss_scale() const { return 1.0 / static_cast<double>(microbatches); }
};

// Sequences of a whole batch; `ranks` are the job's where the configuration does not say data_ranks.
std::int64_t sequences_of_batch(const TrainConfig& config, std::int64_t ranks);

// Whether so many ranks can share the batches equally.
bool divides_batch(const TrainConfig& config, std::int64_t ranks);

// Requires divides_batch(). Microbatches are never larger than `batch` / `accumulate`, which the memory was planned
// for: there are the fewest for which that holds, `accumulate` of them where the ranks are data_ranks.
BatchShare share_of_batch(const TrainConfig& config, std::int64_t ranks);

// Calls fill(planned rank, sequence in its batch, tokens) for each sequence of a rank's part, in order: where it stands
// among the job's, and where in `tokens` its own go. `batch` is the configuration's.
template <class Fill>
void hand_out(const BatchShare& share, std::int64_t batch, int rank, std::span<std::int32_t> tokens, const Fill& fill) {
  const std::size_t length = tokens.size() / static_cast<std::size_t>(share.sequences);
  for (std::int64_t i = 0; i < share.sequences; ++i) {
    const std::int64_t in_batch = rank * share.sequences + i;
    fill(static_cast<int>(in_batch / batch), in_batch % batch,
         tokens.subspan(static_cast<std::size_t>(i) * length, length));
  }
}

// The tokens of one microbatch of a rank's part.
inline std::span<const std::int32_t> microbatch_of(const BatchShare& share, std::span<const std::int32_t> tokens,
                                                   std::int64_t index) {
  const std::size_t size = tokens.size() / static_cast<std::size_t>(share.microbatches);
  return tokens.subspan(static_cast<std::size_t>(index) * size, size);
}

}  // namespace rehearse
