#pragma once

#include <cstdint>
#include <map>

#include "sim/check/invariant.h"

namespace rehearse {

// Steps come one after the other, each with the batch after that of the step before, and no batch is used twice by the
// steps that stand; where the job has gone back it may leave batches out, and nowhere else. A step is applied or
// skipped, and counted so.
//
// Does not cover: which batches may be left out, what is in a batch, and other ranks than rank 0 (step_agreement.h).
class BatchLedger : public Invariant {
 public:
  void on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128 optimizer_state) override;
  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece> pieces) override;

 private:
  struct Entry {
    std::int64_t batch = -1;
    std::int64_t applied = 0;
  };
  std::map<std::int64_t, Entry> entries_;  // of the steps that stand
  std::int64_t last_step_ = 0;
  bool just_started_ = true;
};

}  // namespace rehearse
