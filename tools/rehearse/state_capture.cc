#include "tools/rehearse/state_capture.h"

#include <span>
#include <utility>

namespace rehearse {
namespace {

class Capture : public TrainObserver {
 public:
  explicit Capture(const CaptureRequest& request) : request_(request) {}
  bool done() const { return done_; }
  Captured take() { return std::move(captured_); }

  void on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128) override {
    element_bytes_ = size_of(parameters.dtype);
    see_parameters(rank, step, parameters);
  }
  void on_gradients(int rank, std::int64_t step, std::span<const std::int32_t>, const TensorsView&,
                    const TensorsView& gradients) override {
    if (!wants(rank, step)) return;
    // They may come in parts; the embeddings' are the last.
    captured_.own_gradients.resize(gradients.tensors.size());
    for (int t = 0; t < static_cast<int>(gradients.tensors.size()); ++t) {
      if (gradients.tensors[static_cast<std::size_t>(t)] == nullptr) continue;
      const std::span<const std::byte> bytes = gradients.bytes(t);
      captured_.own_gradients[static_cast<std::size_t>(t)].assign(bytes.begin(), bytes.end());
    }
    if (request_.component == StateComponent::kNone) done_ = gradients.tensors.front() != nullptr;
  }
  void on_reduced(int rank, std::int64_t step, std::span<const ConstShardPiece> pieces) override {
    if (request_.component == StateComponent::kGradients) see(rank, step, pieces, &ConstShardPiece::gradients);
  }
  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece> pieces) override {
    if (request_.component == StateComponent::kFirstMoment) see(rank, report.step, pieces, &ConstShardPiece::m);
    if (request_.component == StateComponent::kSecondMoment) see(rank, report.step, pieces, &ConstShardPiece::v);
    see_parameters(rank, report.step, parameters);
  }

 private:
  bool wants(int rank, std::int64_t step) const { return rank == request_.rank && step == request_.step && !done_; }

  void see_parameters(int rank, std::int64_t step, const TensorsView& parameters) {
    if (request_.component != StateComponent::kParameters || !wants(rank, step)) return;
    if (parameters.is_sharded()) return see(rank, step, parameters.parts, &ConstShardPiece::parameters);
    if (request_.tensor < 0 || std::cmp_greater_equal(request_.tensor, parameters.tensors.size())) return;
    const std::span<const std::byte> bytes = parameters.bytes(request_.tensor);
    captured_.state.assign(bytes.begin(), bytes.end());
    done_ = xxh3_128(captured_.state) == request_.digest;
  }
  void see(int rank, std::int64_t step, std::span<const ConstShardPiece> pieces,
           const std::byte* ConstShardPiece::*data) {
    if (!wants(rank, step)) return;
    for (const ConstShardPiece& piece : pieces) {
      if (piece.tensor != request_.tensor || piece.offset != request_.offset) continue;
      captured_.state.assign(piece.*data, piece.*data + piece.count * element_bytes_);
    }
    done_ = xxh3_128(captured_.state) == request_.digest;
  }

  CaptureRequest request_;
  std::int64_t element_bytes_ = 0;
  bool done_ = false;
  Captured captured_;
};

}  // namespace

Captured capture_state(const Recording& recording, const CaptureRequest& request) {
  Capture capture(request);
  TrainingHooks hooks;
  hooks.observer = &capture;
  hooks.log_events = false;
  hooks.interrupted = [&capture] { return capture.done(); };
  const TrainingRecord record = run_training(recording.scenario, recording.resume, hooks);
  (void)record;
  return capture.take();
}

}  // namespace rehearse
