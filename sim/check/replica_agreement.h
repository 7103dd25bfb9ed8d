#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/digest.h"
#include "sim/check/invariant.h"
#include "sim/check/parameter_assembly.h"

namespace rehearse {

// Data-parallel replicas hold the same parameters, bit for bit, when training starts and after every step: the norm and
// a digest of every tensor are equal on all ranks. With zero_stage 3 there are no replicas: the parts of all ranks are
// put together, and norm and digests are those of the whole.
//
// Does not cover: an error that all ranks make alike, and state that is not replicated (moments, master weights).
class ReplicaAgreement : public Invariant {
 public:
  explicit ReplicaAgreement(int ranks) : ranks_(ranks) {}

  void on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128) override {
    see(rank, step, parameters);
  }
  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece>) override {
    see(rank, report.step, parameters);
  }

  // The job starts again: steps that not all ranks had finished never will be.
  void restart() { open_.clear(); }
  // With so many ranks from now on.
  void set_ranks(int ranks) { ranks_ = ranks; }

  // Of the parameters after a step that every rank has finished (or at the start), as the last rank had them.
  struct Parameters {
    double norm = 0;
    Digest128 digest;  // XXH3-128 of the tensors' digests, in flat order
  };
  const Parameters& after(std::int64_t step) const { return finished_.at(step); }
  // Of each tensor, as the rank had them that was seen last; of parameters that no rank has whole, nothing.
  const std::vector<Digest128>& latest() const { return latest_; }

 private:
  struct Seen {
    int first_rank = 0;
    int ranks = 0;
    double norm = 0;
    std::vector<Digest128> tensors;
    ParameterAssembly parts;
  };
  void see(int rank, std::int64_t step, const TensorsView& parameters);
  void see_parts(std::int64_t step, const TensorsView& parameters);

  int ranks_;
  std::vector<Digest128> latest_;
  std::map<std::int64_t, Seen> open_;  // steps that not all ranks have finished
  std::map<std::int64_t, Parameters> finished_;
};

// sqrt of the sum over tensors, in flat order, of their sums of squares in double (core/tensor/reduce.h).
double parameter_norm(const TensorsView& parameters);

}  // namespace rehearse
