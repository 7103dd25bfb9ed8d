#pragma once

#include <cstdint>
#include <vector>

#include "core/base/buffer.h"
#include "core/data/token_source.h"
#include "core/parallel/data_parallel.h"
#include "core/train/batch_share.h"
#include "core/train/config.h"
#include "core/train/gradient_dispute.h"
#include "core/train/microbatch.h"

namespace rehearse {

// Finds ranks whose gradients are wrong: a bit that flipped in a gradient or an activation, a device that computes
// wrong. In some steps (check_number) every rank also computes the gradient of another one's whole part of the batch,
// microbatch by microbatch from the same tokens, and digests (XXH3-128) of each unit of both are compared, before the
// gradients are summed. The same parameters, tokens and code give the same bits, so that every difference is a fault; a
// third rank says whose. Of the whole part, because what strikes a gradient may do so after its last microbatch.
//
// Not seen: what happens in the steps between, what strikes the gradient while it is summed or after, and a fault that
// all ranks have alike, as a bad batch is.
//
// A check costs the time of a rank's forward and backward passes once more, of reading both gradients, and of an
// all_gather of 32 bytes per rank and unit; a dispute the same passes and a broadcast of 16 bytes per unit. The second
// gradient is memory of its own, as large as the first (DataParallel); activations are those of the rank's own passes,
// which are over by then. All of it is time of the phase REDUCE.
template <class T>
class GradientCheck {
 public:
  // Of a job of two ranks or more. All outlive this.
  GradientCheck(RankContext& context, const TrainConfig& config, const BatchShare& share, const TokenSource& source,
                DataParallel<T>& parallel, Microbatch<T>& microbatch);

  bool is_due(std::int64_t step) const { return check(step) > 0; }
  // After the step's own passes and before the gradients are reduced. The same on all ranks; none in cost-only mode.
  Task<std::vector<GradientDispute>> run(std::int64_t step, std::int64_t batch_index);

 private:
  // Not in cost-only mode.
  bool has_numbers() const { return context_.storing() == Storing::kElements; }
  std::int64_t check(std::int64_t step) const {
    return check_number(config_.guards.recompute_every, step, config_.steps);
  }
  // Of the gradient of this rank's part of the batch, as it stands.
  Task<UnitDigests> digests_of_own();
  // Of that of a rank's part, computed here and now.
  Task<UnitDigests> compute_again(int rank, std::int64_t batch_index);
  Task<std::vector<GradientDispute>> settle_all(const std::vector<GradientDispute>& disputes,
                                                const std::vector<UnitDigests>& own,
                                                const std::vector<UnitDigests>& again, std::int64_t batch_index);
  ComputeCost cost_of_digests() const;

  RankContext& context_;
  const TrainConfig& config_;
  const BatchShare& share_;
  const TokenSource& source_;
  DataParallel<T>& parallel_;
  Microbatch<T>& microbatch_;
  const ParameterTable<const T>& parameters_;
  std::vector<Buffer> gradients_;  // by unit, placed as DataParallel's
  ParameterTable<T> gradient_table_;
  std::vector<std::int32_t> tokens_;  // of the part that is computed again
};

}  // namespace rehearse
