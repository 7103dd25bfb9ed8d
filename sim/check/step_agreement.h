#pragma once

#include <cstdint>
#include <map>

#include "sim/check/invariant.h"

namespace rehearse {

// Every rank says the same of an attempt at a step: one verdict (applied or skipped), one batch, one learning rate, one
// loss and one norm, and as many applied steps.
//
// Does not cover: what all ranks say alike and wrongly, and attempts that not every rank has come to the end of.
class StepAgreement : public Invariant {
 public:
  explicit StepAgreement(int ranks) : ranks_(ranks) {}

  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece> pieces) override;

  // The job starts again: steps that not all ranks had finished never will be.
  void restart() { open_.clear(); }
  // With so many ranks from now on.
  void set_ranks(int ranks) { ranks_ = ranks; }

 private:
  struct Said {
    int first_rank = 0;
    int ranks = 0;
    StepReport report;
  };
  int ranks_;
  std::map<std::int64_t, Said> open_;  // steps that not all ranks have finished
};

}  // namespace rehearse
