#include "sim/trace/state_recorder.h"

#include <bit>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace rehearse {
namespace {

// Which NaN comes out of arithmetic with several depends on the compiler: one stands for all.
std::uint64_t bits_of(double value) {
  return std::bit_cast<std::uint64_t>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
}

}  // namespace

void StateRecorder::record(int rank, std::int64_t step, StateComponent component, int tensor, std::int64_t offset,
                           Bytes size, Digest128 digest) {
  EventRecord record(EventKind::kState);
  record.rank = rank;
  record.step = step;
  record.component = component;
  record.index = tensor;
  record.offset = offset;
  record.size = size.count();
  record.digest = digest;
  kernel_->record(record);
}

void StateRecorder::record_number(int rank, std::int64_t step, StateComponent component, std::uint64_t bits) {
  record(rank, step, component, -1, -1, Bytes(sizeof(bits)), Digest128{0, bits});
}

void StateRecorder::record_parameters(int rank, std::int64_t step, const TensorsView& parameters) {
  if (parameters.is_sharded()) {
    record_pieces(rank, step, StateComponent::kParameters, parameters.parts, &ConstShardPiece::parameters);
    return;
  }
  for (int t = 0; t < static_cast<int>(parameters.tensors.size()); ++t) {
    const Bytes size(static_cast<std::int64_t>(parameters.bytes(t).size()));
    record(rank, step, StateComponent::kParameters, t, 0, size, parameter_digests_[static_cast<std::size_t>(t)]);
  }
}

Digest128 StateRecorder::record_pieces(int rank, std::int64_t step, StateComponent component,
                                       std::span<const ConstShardPiece> pieces,
                                       const std::byte* ConstShardPiece::*data) {
  scratch_.clear();
  for (const ConstShardPiece& piece : pieces) {
    const Bytes size(piece.count * element_bytes_);
    const Digest128 digest = xxh3_128({piece.*data, static_cast<std::size_t>(size.count())});
    record(rank, step, component, piece.tensor, piece.offset, size, digest);
    scratch_.push_back(digest);
  }
  return xxh3_128(std::as_bytes(std::span(scratch_)));
}

void StateRecorder::on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128) {
  element_bytes_ = size_of(parameters.dtype);
  if (!kernel_->is_heard()) return;
  record_parameters(rank, step, parameters);
}

void StateRecorder::on_reduced(int rank, std::int64_t step, std::span<const ConstShardPiece> pieces) {
  if (!kernel_->is_heard()) return;
  open_[static_cast<std::size_t>(rank)].gradients =
      record_pieces(rank, step, StateComponent::kGradients, pieces, &ConstShardPiece::gradients);
}

void StateRecorder::on_step(int rank, const StepReport& report, const TensorsView& parameters,
                            std::span<const ConstShardPiece> pieces) {
  if (!kernel_->is_heard()) return;
  StateDigests& open = open_[static_cast<std::size_t>(rank)];
  const std::int64_t step = report.step;
  if (report.skipped) open.gradients = Digest128();
  const double loss = report.rank_losses[static_cast<std::size_t>(rank)];
  record_number(rank, step, StateComponent::kLoss, bits_of(loss));
  record_number(rank, step, StateComponent::kLearningRate, bits_of(report.lr));
  record_number(rank, step, StateComponent::kBatchIndex, static_cast<std::uint64_t>(report.batch_index));
  record_number(rank, step, StateComponent::kAppliedSteps, static_cast<std::uint64_t>(report.applied_steps));
  open.first_moment = record_pieces(rank, step, StateComponent::kFirstMoment, pieces, &ConstShardPiece::m);
  open.second_moment = record_pieces(rank, step, StateComponent::kSecondMoment, pieces, &ConstShardPiece::v);
  record_parameters(rank, step, parameters);
}

StateDigests StateRecorder::latest() const {
  if (!kernel_->is_heard()) return StateDigests();
  const auto over_ranks = [this](Digest128 StateDigests::*component) {
    std::vector<Digest128> digests;
    for (const StateDigests& rank : open_) digests.push_back(rank.*component);
    return xxh3_128(std::as_bytes(std::span(digests)));
  };
  StateDigests latest;
  latest.gradients = over_ranks(&StateDigests::gradients);
  latest.first_moment = over_ranks(&StateDigests::first_moment);
  latest.second_moment = over_ranks(&StateDigests::second_moment);
  return latest;
}

}  // namespace rehearse
