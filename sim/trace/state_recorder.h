#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/train/observer.h"
#include "sim/kernel/kernel.h"

namespace rehearse {

// One digest of each component, over all ranks.
struct StateDigests {
  Digest128 gradients;
  Digest128 first_moment;
  Digest128 second_moment;
  bool operator==(const StateDigests&) const = default;
};

// Puts digests of every rank's state in the event log, step by step: XXH3-128 of each tensor's parameters (of the
// rank's parts of them where none is whole), and of the gradient and the moments of each part of a tensor that the rank
// updates; learning rate, batch index, applied steps and loss as they are. Master weights have no digest of their own:
// in one element type they are what the parameters are copied from.
class StateRecorder : public TrainObserver {
 public:
  // `parameter_digests` are those of the rank that was seen last, by tensor, computed by an observer before this one.
  StateRecorder(int ranks, const std::vector<Digest128>& parameter_digests)
      : parameter_digests_(parameter_digests), open_(static_cast<std::size_t>(ranks)) {}
  // Where records go; before the first call. Nobody may be listening.
  void watch(Kernel* kernel) { kernel_ = kernel; }
  // The job starts again with so many ranks.
  void set_ranks(int ranks) { open_.assign(static_cast<std::size_t>(ranks), StateDigests()); }

  void on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128 optimizer_state) override;
  void on_reduced(int rank, std::int64_t step, std::span<const ConstShardPiece> pieces) override;
  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece> pieces) override;

  // Of the step that every rank has finished last: XXH3-128 over the ranks' digests of their pieces' digests. Zero when
  // nobody listens.
  StateDigests latest() const;

 private:
  void record(int rank, std::int64_t step, StateComponent component, int tensor, std::int64_t offset, Bytes size,
              Digest128 digest);
  void record_number(int rank, std::int64_t step, StateComponent component, std::uint64_t bits);
  void record_parameters(int rank, std::int64_t step, const TensorsView& parameters);
  Digest128 record_pieces(int rank, std::int64_t step, StateComponent component,
                          std::span<const ConstShardPiece> pieces, const std::byte* ConstShardPiece::*data);

  const std::vector<Digest128>& parameter_digests_;
  Kernel* kernel_ = nullptr;
  std::int64_t element_bytes_ = 0;
  std::vector<StateDigests> open_;  // by rank
  std::vector<Digest128> scratch_;
};

}  // namespace rehearse
