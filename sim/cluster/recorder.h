#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/runtime/storage.h"
#include "core/runtime/tracer.h"
#include "core/train/observer.h"
#include "sim/check/replica_agreement.h"
#include "sim/cluster/supervisor.h"
#include "sim/cluster/training_run.h"
#include "sim/cluster/world.h"
#include "sim/storage/file_system.h"
#include "sim/trace/event_log.h"
#include "sim/trace/state_recorder.h"

namespace rehearse {

// Tells several observers, in the order they were added.
class ObserverFan : public TrainObserver {
 public:
  void add(TrainObserver* observer) { observers_.push_back(observer); }

  void on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128 optimizer_state) override;
  void on_gradients(int rank, std::int64_t step, std::span<const std::int32_t> tokens, const TensorsView& parameters,
                    const TensorsView& gradients) override;
  void on_reduced(int rank, std::int64_t step, std::span<const ConstShardPiece> pieces) override;
  void on_checkpoint_problem(int rank, std::int64_t step, const std::string& problem) override;
  void on_guard(int rank, const GuardReport& report) override;
  void on_load(int rank, const LoadReport& report) override;
  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece> pieces) override;
  void on_eval(int rank, std::int64_t step, double loss) override;
  void on_checkpoint(int rank, const CheckpointReport& report, Digest128 optimizer_state) override;
  void on_end(int rank, const TensorsView& parameters) override;

 private:
  std::vector<TrainObserver*> observers_;
};

// Writes what the ranks report into a TrainingRecord. In a fan it comes after the ReplicaAgreement and the
// StateRecorder that it reads.
class Recorder : public TrainObserver {
 public:
  Recorder(const Scenario& scenario, const ReplicaAgreement& agreement, const StateRecorder& states,
           const FileSystem& disk, const StoragePath& checkpoint_root, const TrainingHooks& hooks,
           TrainingRecord& record)
      : scenario_(scenario),
        agreement_(agreement),
        states_(states),
        disk_(disk),
        checkpoint_root_(checkpoint_root),
        hooks_(hooks),
        record_(record) {}

  void on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128 optimizer_state) override;
  void on_step(int rank, const StepReport& report, const TensorsView& parameters,
               std::span<const ConstShardPiece> pieces) override;
  void on_eval(int rank, std::int64_t step, double loss) override;
  void on_checkpoint(int rank, const CheckpointReport& report, Digest128 optimizer_state) override;
  void on_checkpoint_problem(int rank, std::int64_t step, const std::string& problem) override;
  void on_guard(int rank, const GuardReport& report) override;
  void on_load(int rank, const LoadReport& report) override;
  void on_end(int rank, const TensorsView& parameters) override;

  // Whose memory the steps record; before the first of them.
  void watch(const World* world) { world_ = world; }

  // The job starts again.
  void restart(const RecoveryRecord& recovery);
  // Which attempt at training this is: one more after each restart and each rollback.
  std::uint32_t attempt() const { return static_cast<std::uint32_t>(record_.recoveries.size()); }
  // Told when the job is about to go back because of a guard.
  void set_rollback_listener(std::function<void()> listener) { on_rollback_ = std::move(listener); }
  // Told of each rank whose machine the guards have replaced.
  void set_eviction_listener(std::function<void(int rank)> listener) { on_eviction_ = std::move(listener); }

  // What the rank kept at the end of its last step; nothing where there was none.
  RankMemory kept(int rank) const {
    const auto found = kept_.find(rank);
    return found == kept_.end() ? RankMemory() : found->second;
  }
  // The last step that every rank has finished; before first_step where none is.
  std::int64_t last_step() const {
    return record_.steps.empty() ? record_.first_step - 1 : record_.steps.back().report.step;
  }

  // Checkpoints that led to the same failure twice, and have not been saved anew.
  std::vector<std::int64_t> avoided() const { return avoided_; }

  // At the end: the checkpoints that are on the disk.
  void list_checkpoints();

 private:
  // The record is that of a job which has done `step` and nothing after it.
  void go_to(std::int64_t step);
  void begin_recovery(const RecoveryRecord& recovery);
  // The checkpoint of the step counts from now on.
  void commit(std::int64_t step);
  bool is_committed(std::int64_t step) const {
    return std::find(committed_.begin(), committed_.end(), step) != committed_.end();
  }
  void mark_computed(int rank) { computed_[rank] = world_->computed(rank); }
  // Of the checkpoints whose files are durable, ascending.
  std::vector<std::int64_t> steps_on_disk() const;
  // The durable files of a checkpoint; none where it is not there.
  CheckpointRecord checkpoint_on_disk(std::int64_t step) const;

  const Scenario& scenario_;
  const ReplicaAgreement& agreement_;
  const StateRecorder& states_;
  const FileSystem& disk_;
  StoragePath checkpoint_root_;
  const TrainingHooks& hooks_;
  TrainingRecord& record_;
  const World* world_ = nullptr;
  ParameterAssembly final_parameters_;
  int ranks_ended_ = 0;
  // By rank: what its device had computed when its step began, and what it keeps.
  std::map<int, Duration> computed_;
  std::map<int, RankMemory> kept_;
  StepRecord open_step_;
  int ranks_in_step_ = 0;
  int ranks_started_ = 0;
  std::uint32_t generation_ = 0;
  bool recovering_ = false;        // the latest recovery has not come to its end
  std::int64_t guarded_step_ = 0;  // the latest attempt and step that a guard spoke about
  std::uint32_t guarded_attempt_ = 0;
  std::function<void()> on_rollback_;
  std::function<void(int)> on_eviction_;
  std::map<std::int64_t, std::int64_t> attempts_;  // by step
  std::vector<std::int64_t> committed_;
  std::vector<std::int64_t> avoided_;
  // The newest attempts that were taken out of the record.
  std::map<std::int64_t, StepRecord> undone_steps_;
  std::map<std::int64_t, EvalRecord> undone_evals_;
};

// Times the collectives of one rank and tells the event log what the rank is at.
class RankTracer : public Tracer {
 public:
  RankTracer(const Kernel& kernel, EventLog& log, int rank) : kernel_(kernel), log_(log), rank_(rank) {}
  void phase(std::int64_t step, Phase phase) override {
    log_.enter(rank_, step, phase);
    if (kernel_.activities() != nullptr) kernel_.activities()->on_phase(rank_, step, phase, kernel_.now());
  }
  void collective_begin(const Call& call, Bytes size) override;
  void collective_end(const Call& call) override;
  // The rank starts again: what it was in never ends.
  void restart() {
    open_.clear();
    next_.clear();
  }

  // Whether the rank has begun this call, in this life.
  bool has_called(std::uint32_t group_id, std::uint64_t sequence) const;

  std::int64_t calls(Operation operation) const { return calls_[static_cast<std::size_t>(operation)]; }
  Duration time(Operation operation) const { return time_[static_cast<std::size_t>(operation)]; }

 private:
  struct Open {
    std::uint32_t group_id;
    std::uint64_t sequence;
    TimePoint since;
  };
  const Kernel& kernel_;
  EventLog& log_;
  int rank_;
  std::vector<Open> open_;
  std::map<std::uint32_t, std::uint64_t> next_;  // by group: one more than the latest call that began
  std::array<std::int64_t, kOperations> calls_{};
  std::array<Duration, kOperations> time_{};
};

// What ranks hold at most; not what they keep.
std::vector<RankMemory> memory_of(const World& world);
std::vector<CommunicationRow> communication_of(World& world, const std::vector<std::unique_ptr<RankTracer>>& tracers);

}  // namespace rehearse
