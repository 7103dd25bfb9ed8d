#pragma once

#include <span>

#include "core/train/disturbance.h"
#include "core/train/observer.h"

namespace rehearse {

// Between the ranks of one generation of a job and whoever watches and disturbs the job: once closed, what they say is
// not heard any more, and nothing strikes them. A rank that lives on although another runs in its place would else be
// taken for that one.
class GenerationGate : public TrainObserver, public Disturbance {
 public:
  // Both outlive this; `disturbance` may be null.
  GenerationGate(TrainObserver& observer, Disturbance* disturbance) : observer_(observer), disturbance_(disturbance) {}
  void close() { open_ = false; }
  bool is_open() const { return open_; }

  void on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128 optimizer_state) override {
    if (open_) observer_.on_start(rank, step, parameters, optimizer_state);
  }
  void on_gradients(int rank, std::int64_t step, std::span<const std::int32_t> tokens, const TensorsView& parameters,
                    const TensorsView& gradients) override {
    if (open_) observer_.on_gradients(rank, step, tokens, parameters, gradients);
  }
  void on_reduced(int rank, std::int64_t step, std::span<const ConstShardPiece> pieces) override {
    if (open_) observer_.on_reduced(rank, step, pieces);
  }
  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece> pieces) override {
    if (open_) observer_.on_step(rank, report, parameters, pieces);
  }
  void on_eval(int rank, std::int64_t step, double loss) override {
    if (open_) observer_.on_eval(rank, step, loss);
  }
  void on_checkpoint(int rank, const CheckpointReport& report, Digest128 optimizer_state) override {
    if (open_) observer_.on_checkpoint(rank, report, optimizer_state);
  }
  void on_checkpoint_problem(int rank, std::int64_t step, const std::string& problem) override {
    if (open_) observer_.on_checkpoint_problem(rank, step, problem);
  }
  void on_guard(int rank, const GuardReport& report) override {
    if (open_) observer_.on_guard(rank, report);
  }
  void on_load(int rank, const LoadReport& report) override {
    if (open_) observer_.on_load(rank, report);
  }
  void on_end(int rank, const TensorsView& parameters) override {
    if (open_) observer_.on_end(rank, parameters);
  }

  void strike(const TrainMoment& moment, const StateMemory& memory) override {
    if (strikes()) disturbance_->strike(moment, memory);
  }
  double loss_factor(const TrainMoment& moment) override { return strikes() ? disturbance_->loss_factor(moment) : 1; }
  double lr_factor(const TrainMoment& moment) override { return strikes() ? disturbance_->lr_factor(moment) : 1; }
  ProgramError program_error(const TrainMoment& moment) override {
    return strikes() ? disturbance_->program_error(moment) : ProgramError::kNone;
  }

 private:
  bool strikes() const { return open_ && disturbance_ != nullptr; }

  TrainObserver& observer_;
  Disturbance* disturbance_;
  bool open_ = true;
};

}  // namespace rehearse
