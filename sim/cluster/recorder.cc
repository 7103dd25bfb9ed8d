#include "sim/cluster/recorder.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "core/base/check.h"
#include "core/checkpoint/names.h"

namespace rehearse {
void ObserverFan::on_start(int rank, std::int64_t step, const TensorsView& parameters, Digest128 optimizer_state) {
  for (TrainObserver* observer : observers_) observer->on_start(rank, step, parameters, optimizer_state);
}
void ObserverFan::on_gradients(int rank, std::int64_t step, std::span<const std::int32_t> tokens,
                               const TensorsView& parameters, const TensorsView& gradients) {
  for (TrainObserver* observer : observers_) observer->on_gradients(rank, step, tokens, parameters, gradients);
}
void ObserverFan::on_reduced(int rank, std::int64_t step, std::span<const ConstShardPiece> pieces) {
  for (TrainObserver* observer : observers_) observer->on_reduced(rank, step, pieces);
}
void ObserverFan::on_step(int rank, const StepReport& report, const TensorsView& parameters,
                          std::span<const ConstShardPiece> pieces) {
  for (TrainObserver* observer : observers_) observer->on_step(rank, report, parameters, pieces);
}
void ObserverFan::on_eval(int rank, std::int64_t step, double loss) {
  for (TrainObserver* observer : observers_) observer->on_eval(rank, step, loss);
}
void ObserverFan::on_checkpoint(int rank, const CheckpointReport& report, Digest128 optimizer_state) {
  for (TrainObserver* observer : observers_) observer->on_checkpoint(rank, report, optimizer_state);
}
void ObserverFan::on_checkpoint_problem(int rank, std::int64_t step, const std::string& problem) {
  for (TrainObserver* observer : observers_) observer->on_checkpoint_problem(rank, step, problem);
}
void ObserverFan::on_guard(int rank, const GuardReport& report) {
  for (TrainObserver* observer : observers_) observer->on_guard(rank, report);
}
void ObserverFan::on_load(int rank, const LoadReport& report) {
  for (TrainObserver* observer : observers_) observer->on_load(rank, report);
}
void ObserverFan::on_end(int rank, const TensorsView& parameters) {
  for (TrainObserver* observer : observers_) observer->on_end(rank, parameters);
}

void Recorder::on_start(int rank, std::int64_t step, const TensorsView&, Digest128 optimizer_state) {
  ++ranks_started_;
  mark_computed(rank);
  if (step == record_.first_step - 1) {
    record_.start_optimizer_state[rank] = optimizer_state;
    if (ranks_started_ == world_->ranks() && !scenario_.cost_only) {
      record_.start_parameters = agreement_.after(step).digest;
    }
  }
  if (!recovering_) return;
  RecoveryRecord& recovery = record_.recoveries.back();
  if (ranks_started_ == 1) {
    go_to(step);
    std::erase_if(record_.checkpoint_failures, [step](const CheckpointFailure& one) { return one.step > step; });
    // It may have been published without rank 0 having come to say so; with tiers an older one, too.
    const bool has_tiers = scenario_.train.checkpoint.tiers.has_value();
    for (const std::int64_t saved : recovery.from_checkpoint ? steps_on_disk() : std::vector<std::int64_t>()) {
      const bool counts = saved == step || (has_tiers && saved < step);
      if (counts && saved >= record_.first_step && !is_committed(saved)) commit(saved);
    }
  }
  if (ranks_started_ < world_->ranks()) return;
  recovery.resumed = world_->now();
  recovery.resumed_step = step;
  recovery.last_step = std::max(recovery.last_step, step);
  recovering_ = false;
  if (hooks_.on_recovery) hooks_.on_recovery(recovery);
}

// All ranks come to the same verdict: the first speaks for them.
void Recorder::on_guard(int, const GuardReport& report) {
  const bool heard = report.goes_back ? recovering_ : guarded_step_ == report.step && guarded_attempt_ == attempt();
  if (heard) return;
  guarded_step_ = report.step;
  guarded_attempt_ = attempt();
  GuardRecord guard;
  guard.time = world_->now();
  guard.report = report;
  record_.guards.push_back(guard);
  for (const int rank : report.evicted) {
    if (on_eviction_) on_eviction_(rank);
  }
  if (report.goes_back) {
    RecoveryRecord recovery;
    recovery.kind = RecoveryRecord::Kind::kRollback;
    recovery.cause = report.reason;
    recovery.generation = generation_;
    recovery.failed = world_->now();
    recovery.detected = world_->now();
    recovery.restarted = world_->now();
    begin_recovery(recovery);
    if (on_rollback_) on_rollback_();
  }
}

void Recorder::go_to(std::int64_t step) {
  // What came after is done again.
  while (!record_.steps.empty() && record_.steps.back().report.step > step) {
    const StepRecord& last = record_.steps.back();
    undone_steps_.insert_or_assign(last.report.step, last);
    record_.steps.pop_back();
  }
  while (!record_.evals.empty() && (record_.evals.back().step > step || step == 0)) {
    undone_evals_.insert_or_assign(record_.evals.back().step, record_.evals.back());
    record_.evals.pop_back();
  }
  // A checkpoint that could not be read before takes the job further than it had come again.
  for (std::int64_t next = last_step() + 1; next <= step; ++next) {
    const auto step_record = undone_steps_.find(next);
    if (step_record == undone_steps_.end()) {
      // Done by the run that this one continues: the record begins after it.
      record_.steps.clear();
      record_.evals.clear();
      continue;
    }
    record_.steps.push_back(step_record->second);
    const auto eval = undone_evals_.find(next);
    if (eval != undone_evals_.end()) record_.evals.push_back(eval->second);
  }
}

void Recorder::on_load(int, const LoadReport& report) {
  if (!recovering_) return;
  RecoveryRecord& recovery = record_.recoveries.back();
  recovery.from_checkpoint = report.loaded;
  recovery.read += report.read;
  recovery.has_tiers = report.has_tiers;
  recovery.reads += report.reads;
  recovery.refused_copies = report.refused_copies;
  recovery.rejected = report.rejected;
  recovery.skipped_batches = report.skipped_batches;
}

void Recorder::restart(const RecoveryRecord& recovery) {
  generation_ = recovery.generation;
  begin_recovery(recovery);
  const auto& all = record_.recoveries;
  if (all.size() < 2) return;
  const auto blamed = blamed_checkpoint(all[all.size() - 2], all.back());
  if (blamed && std::find(avoided_.begin(), avoided_.end(), *blamed) == avoided_.end()) avoided_.push_back(*blamed);
}

void Recorder::begin_recovery(const RecoveryRecord& recovery) {
  record_.recoveries.push_back(recovery);
  record_.recoveries.back().last_step = last_step();
  recovering_ = true;
  ranks_in_step_ = 0;
  ranks_started_ = 0;
  ranks_ended_ = 0;
  final_parameters_.clear();
}

// A rank can finish a step only after every rank has finished the one before, so at most one step is open.
void Recorder::on_step(int rank, const StepReport& report, const TensorsView&, std::span<const ConstShardPiece>) {
  if (ranks_in_step_ == 0) {
    open_step_ = StepRecord();
    open_step_.report = report;
  }
  CHECK_EQ(open_step_.report.step, report.step);
  const TimePoint began = std::min(open_step_.report.began, report.began);
  open_step_.report = report;
  open_step_.report.began = began;
  open_step_.computed = std::max(open_step_.computed, world_->computed(rank) - computed_[rank]);
  mark_computed(rank);
  const MemoryAccount& account = world_->memory(rank);
  kept_[rank].parameters_kept = account.current(MemoryKind::kParameters);
  kept_[rank].gradients_kept = account.current(MemoryKind::kGradients);
  if (++ranks_in_step_ < world_->ranks()) return;
  ranks_in_step_ = 0;
  if (scenario_.cost_only) {
    open_step_.report.loss = std::nan("");
    open_step_.report.grad_norm = std::nan("");
    open_step_.param_norm = std::nan("");
  } else {
    open_step_.param_norm = agreement_.after(report.step).norm;
    open_step_.parameters = agreement_.after(report.step).digest;
    open_step_.states = states_.latest();
  }
  open_step_.step_seconds = report.ended - began;
  CHECK(world_ != nullptr);
  for (const RankMemory& memory : memory_of(*world_)) {
    RankMemory& most = open_step_.memory;
    most.parameters = std::max(most.parameters, memory.parameters);
    most.gradients = std::max(most.gradients, memory.gradients);
    most.optimizer = std::max(most.optimizer, memory.optimizer);
    most.activations_peak = std::max(most.activations_peak, memory.activations_peak);
    most.communication_buffers = std::max(most.communication_buffers, memory.communication_buffers);
  }
  open_step_.attempt = ++attempts_[report.step];
  open_step_.generation = generation_;
  open_step_.recoveries = static_cast<std::int64_t>(record_.recoveries.size());
  record_.steps.push_back(open_step_);
  if (hooks_.on_step) hooks_.on_step(open_step_, scenario_.train.steps);
}

void Recorder::on_eval(int rank, std::int64_t step, double loss) {
  mark_computed(rank);
  if (rank == 0 && !scenario_.cost_only) record_.evals.push_back(EvalRecord{step, loss});
}

std::vector<std::int64_t> Recorder::steps_on_disk() const {
  std::set<std::int64_t> steps;
  const std::string prefix = checkpoint_root_.path + "/";
  for (const auto& [path, data] : disk_.durable_files()) {
    if (!path.starts_with(prefix)) continue;
    const std::string_view name = std::string_view(path).substr(prefix.size());
    const auto step = step_of_directory(name.substr(0, name.find('/')));
    if (step.has_value()) steps.insert(*step);
  }
  return {steps.begin(), steps.end()};
}

CheckpointRecord Recorder::checkpoint_on_disk(std::int64_t step) const {
  CheckpointRecord checkpoint;
  checkpoint.step = step;
  checkpoint.directory = step_directory_name(step);
  const std::string prefix = checkpoint_root_.path + "/" + checkpoint.directory + "/";
  for (auto& [path, data] : disk_.durable_files()) {
    if (path.starts_with(prefix)) checkpoint.files.emplace(path.substr(prefix.size()), data);
  }
  return checkpoint;
}

// Rank 0 commits; the others hear of it.
void Recorder::on_checkpoint(int rank, const CheckpointReport& report, Digest128 optimizer_state) {
  mark_computed(rank);
  if (scenario_.expect.resume_from == report.step) record_.resume_optimizer_state[rank] = optimizer_state;
  if (rank != 0) return;
  if (!report.rotation_problem.empty() || !report.problem.empty()) ++record_.failed_saves;
  const std::string where = report.tier == Tier::kLocal ? "on the local disks: " : "";
  if (!report.rotation_problem.empty()) {
    record_.checkpoint_failures.push_back(
        CheckpointFailure{report.step, where + "saved, but " + report.rotation_problem});
  }
  if (!report.problem.empty()) {
    record_.checkpoint_failures.push_back(CheckpointFailure{report.step, where + report.problem});
    return;
  }
  if (report.tier == Tier::kLocal) {
    ++record_.local_saves;
    std::erase(avoided_, report.step);
  } else {
    commit(report.step);
  }
}

void Recorder::on_checkpoint_problem(int, std::int64_t step, const std::string& problem) {
  ++record_.failed_saves;
  record_.checkpoint_failures.push_back(CheckpointFailure{step, problem});
}

void Recorder::commit(std::int64_t step) {
  if (!is_committed(step)) committed_.push_back(step);
  std::erase(avoided_, step);
  const CheckpointRecord checkpoint = checkpoint_on_disk(step);
  if (scenario_.expect.resume_from == step) record_.resume_checkpoint = checkpoint;
  if (hooks_.on_checkpoint) hooks_.on_checkpoint(checkpoint);
}

void Recorder::list_checkpoints() {
  for (const std::int64_t step : committed_) {
    CheckpointRecord checkpoint = checkpoint_on_disk(step);
    if (!checkpoint.files.empty()) record_.checkpoints.push_back(std::move(checkpoint));
  }
}

// SHA-256 of the final parameters as little-endian float32 in flat order.
void Recorder::on_end(int rank, const TensorsView& all) {
  if (scenario_.cost_only || (rank != 0 && !all.is_sharded())) return;
  TensorsView parameters = all;
  if (all.is_sharded()) {
    final_parameters_.add(all);
    if (++ranks_ended_ < world_->ranks()) return;
    parameters = final_parameters_.view();
  }
  Sha256 sha;
  std::vector<float> rounded;
  for (int t = 0; t < static_cast<int>(parameters.tensors.size()); ++t) {
    const std::span<const std::byte> bytes = parameters.bytes(t);
    if (parameters.dtype == DType::kFloat32) {
      sha.update(bytes);
      continue;
    }
    const auto* values = reinterpret_cast<const double*>(bytes.data());
    rounded.assign(values, values + bytes.size() / sizeof(double));
    sha.update(std::as_bytes(std::span(rounded)));
  }
  record_.weights_sha256 = sha.finish_hex();
}

void RankTracer::collective_begin(const Call& call, Bytes size) {
  if (kernel_.activities() != nullptr) kernel_.activities()->on_collective_begin(rank_, call, size, kernel_.now());
  open_.push_back(Open{call.group->id, call.sequence, kernel_.now()});
  std::uint64_t& next = next_[call.group->id];
  next = std::max(next, call.sequence + 1);
}

bool RankTracer::has_called(std::uint32_t group_id, std::uint64_t sequence) const {
  const auto next = next_.find(group_id);
  return next != next_.end() && sequence < next->second;
}

void RankTracer::collective_end(const Call& call) {
  const auto open = std::find_if(open_.begin(), open_.end(), [&](const Open& candidate) {
    return candidate.group_id == call.group->id && candidate.sequence == call.sequence;
  });
  CHECK(open != open_.end());
  const auto operation = static_cast<std::size_t>(call.operation);
  ++calls_[operation];
  time_[operation] = time_[operation] + (kernel_.now() - open->since);
  if (kernel_.activities() != nullptr) kernel_.activities()->on_collective_end(rank_, call, kernel_.now());
  open_.erase(open);
}

std::vector<RankMemory> memory_of(const World& world) {
  std::vector<RankMemory> memory;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    const MemoryAccount& account = world.memory(rank);
    RankMemory one;
    one.parameters = account.peak(MemoryKind::kParameters);
    one.gradients = account.peak(MemoryKind::kGradients);
    one.optimizer = account.peak(MemoryKind::kOptimizer);
    one.activations_peak = account.peak(MemoryKind::kActivations);
    one.communication_buffers = account.peak(MemoryKind::kCommunication);
    memory.push_back(one);
  }
  return memory;
}

std::vector<CommunicationRow> communication_of(World& world, const std::vector<std::unique_ptr<RankTracer>>& tracers) {
  std::vector<CommunicationRow> rows;
  for (int o = 0; o < kOperations; ++o) {
    CommunicationRow row;
    row.operation = static_cast<Operation>(o);
    for (int rank = 0; rank < world.most_ranks(); ++rank) {
      const TrafficCounters& counters = world.network().counters(rank, row.operation);
      const RankTracer& tracer = *tracers[static_cast<std::size_t>(rank)];
      row.calls = std::max(row.calls, tracer.calls(row.operation));
      row.messages += counters.messages_sent;
      row.bytes += counters.bytes_sent;
      row.time = std::max(row.time, tracer.time(row.operation));
    }
    if (row.calls > 0 || row.messages > 0) rows.push_back(row);
  }
  return rows;
}

}  // namespace rehearse
