#include "core/train/rank_main.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/digest.h"
#include "core/data/token_source.h"
#include "core/optim/clip.h"
#include "core/parallel/data_parallel.h"
#include "core/train/batch_share.h"
#include "core/train/gradient_check.h"
#include "core/train/initial_parameters.h"
#include "core/train/job_parts.h"
#include "core/train/passes.h"
#include "core/train/recovery_points.h"
#include "core/train/saver.h"
#include "core/train/state_seal.h"
#include "core/train/step_sums.h"

namespace rehearse {
namespace {

// One rank's part of a training job, with the state that lasts from step to step.
template <class T>
class Trainer {
 public:
  Trainer(RankContext& context, const TrainJob& job)
      : context_(context),
        job_(job),
        config_(job.config),
        model_(layout_of(job)),
        parallel_(context, model_.layout(), config_.zero_stage, config_.bucket_elements(), config_.adam.decay,
                  job.collective_timeout, config_.collectives, config_.state_types()),
        share_(share_of_batch(config_, context.world_size())),
        source_(source_of(job, context.world_size())),
        passes_(context, model_, parallel_, share_, work_of(job, share_.per_microbatch()), config_),
        parameter_view_(view(parallel_.parameters())),
        tokens_(has_numbers() ? static_cast<std::size_t>(share_.sequences * sequence_length()) : 0),
        pieces_(parallel_.pieces()),
        const_pieces_(pieces_.begin(), pieces_.end()),
        points_(context, *job.policy, job.checkpoints, job.avoided),
        saver_(context, job, parallel_, points_) {
    if (parallel_.shards_parameters()) parameter_view_.parts = const_pieces_;
    passes_.flow().set_listener([this](UnitRange units) { tell_gradients(units); });
    if (has_numbers()) describe_memory();
    if (config_.guards.any()) counters_.guards = GuardHistory();
    if (config_.guards.corruption.has_value()) seal_.emplace(context, parallel_);
    // One rank alone has nobody to ask.
    if (config_.guards.recompute_every > 0 && context.world_size() > 1) {
      check_.emplace(context, config_, share_, *source_, parallel_, passes_.microbatch());
    }
  }

  Task<RunResult> run() {
    enter(0, Phase::kStart);
    if (config_.checkpoint.any() || job_.resume_from.has_value()) {
      co_await open_checkpoints(context_, parallel_, job_.checkpoints);
    }
    bool continues = false;
    if (context_.generation() > 0 && config_.checkpoint.any()) {
      continues = co_await go_back(0);
    } else if (job_.resume_from.has_value()) {
      co_await resume();
      continues = true;
    }
    if (!continues) {
      if (context_.generation() > 0) {
        const std::string problem = co_await points_.gone_back(0);
        report_problem(problem);
      }
      co_await start_fresh();
    }
    co_await begin_training();
    RunResult result;
    while (counters_.step < config_.steps || seal_.has_value()) {
      Judgement judgement;
      if (counters_.step < config_.steps) {
        judgement = co_await step();
        co_await saver_.look();
      } else {
        judgement = co_await look_at_last_state();
        if (judgement.reaction == Reaction::kGoOn) break;
      }
      if (judgement.reaction == Reaction::kStop) {
        result.stopped = judgement.reason;
        break;
      }
      if (goes_back(judgement.reaction)) {
        co_await roll_back(judgement.reaction == Reaction::kRollbackAndSkipBatches);
        continue;
      }
      if (config_.eval_every > 0 && counters_.step % config_.eval_every == 0) co_await evaluate();
      const bool due = co_await saver_.is_due(counters_.step);
      if (due) {
        enter(counters_.step, Phase::kCheckpoint);
        co_await saver_.save(counters_, state_digest());
      }
    }
    co_await saver_.settle();
    enter(counters_.step, Phase::kEnd);
    job_.observer->on_end(context_.rank(), parameter_view_);
    result.step = counters_.step;
    result.applied_steps = counters_.applied_steps;
    co_return result;
  }

 private:
  TrainMoment moment(std::int64_t step, Phase phase) const {
    TrainMoment here;
    here.rank = context_.rank();
    here.step = step;
    here.phase = phase;
    here.attempt = std::uint64_t{context_.generation()} << 32 | static_cast<std::uint64_t>(rollbacks_);
    return here;
  }

  // Not in cost-only mode.
  bool has_numbers() const { return context_.storing() == Storing::kElements; }

  void describe_memory() {
    memory_.layout = &model_.layout();
    memory_.dtype = dtype_of<T>;
    for (T* tensor : parallel_.parameters().tensors) memory_.parameters.push_back(reinterpret_cast<std::byte*>(tensor));
    describe_gradients();
    memory_.pieces = pieces_;
    activations_ = passes_.microbatch().activations().named();
    memory_.activations = activations_;
  }

  void describe_gradients() {
    memory_.gradients.clear();
    for (T* tensor : parallel_.gradients().tensors) memory_.gradients.push_back(reinterpret_cast<std::byte*>(tensor));
  }

  Disturbance* disturbance() const { return job_.disturbance; }
  ProgramError program_error(std::int64_t step, Phase phase) const {
    return disturbance() == nullptr ? ProgramError::kNone : disturbance()->program_error(moment(step, phase));
  }
  double factor(double (Disturbance::*of)(const TrainMoment&), std::int64_t step, Phase phase) const {
    return disturbance() != nullptr && has_numbers() ? (disturbance()->*of)(moment(step, phase)) : 1;
  }

  void enter(std::int64_t step, Phase phase, bool may_strike = true) {
    context_.tracer().phase(step, phase);
    if (!may_strike || disturbance() == nullptr) return;
    if (parallel_.shards_gradients() && has_numbers()) describe_gradients();
    disturbance()->strike(moment(step, phase), memory_);
  }

  static bool goes_back(Reaction reaction) {
    return reaction == Reaction::kRollback || reaction == Reaction::kRollbackAndSkipBatches;
  }

  std::int64_t sequence_length() const { return config_.model.context + 1; }

  // This rank's part of a batch.
  template <class Fill>
  void fetch(const Fill& fill) {
    if (has_numbers()) hand_out(share_, config_.batch, parallel_.rank(), std::span(tokens_), fill);
  }

  TensorsView view(const ParameterTable<T>& table) const {
    TensorsView tensors;
    tensors.layout = &model_.layout();
    tensors.dtype = dtype_of<T>;
    for (T* tensor : table.tensors) tensors.tensors.push_back(reinterpret_cast<const std::byte*>(tensor));
    return tensors;
  }

  Task<> start_fresh() {
    typename DataParallel<T>::MakeParameters make = [this](const ParameterTable<T>& parameters) {
      make_initial_parameters(config_, model_.layout(), parameters);
    };
    co_await parallel_.start_from(std::move(make));
  }

  // The rank's own gradients of these units, as they are now.
  void tell_gradients(UnitRange units) {
    TensorsView gradients = view(parallel_.gradients());
    for (int t = 0; t < static_cast<int>(gradients.tensors.size()); ++t) {
      if (!units.contains(parallel_.plan().unit_of(t))) gradients.tensors[static_cast<std::size_t>(t)] = nullptr;
    }
    job_.observer->on_gradients(context_.rank(), counters_.step + 1, tokens_, parameter_view_, gradients);
  }

  Task<> resume() {
    enter(*job_.resume_from, Phase::kLoad);
    counters_ = co_await load_training_state(context_, parallel_, job_.checkpoints, *job_.resume_from);
    const std::string problem = co_await points_.resumed(counters_.step);
    report_problem(problem);
  }

  // To the first checkpoint that the policy chooses and all ranks can load; false where there is none. The batches
  // before `next_batch` are left out.
  Task<bool> go_back(std::int64_t next_batch) {
    enter(0, Phase::kLoad);
    FoundState found;
    if (config_.checkpoint.any()) {
      CheckpointChoice choice = points_.choice();
      found = co_await load_first_training_state(context_, parallel_, job_.checkpoints, std::move(choice));
    }
    LoadReport report;
    report.loaded = found.counters.has_value();
    if (report.loaded) {
      counters_ = *found.counters;
      const std::string problem = co_await points_.gone_back(counters_.step);
      report_problem(problem);
      report.step = counters_.step;
    }
    report.read = found.read;
    report.has_tiers = job_.checkpoints.local.has_value();
    report.reads = found.reads;
    report.refused_copies = found.refused_copies;
    report.skipped_batches = std::max<std::int64_t>(next_batch - (report.loaded ? counters_.batch_index : 0), 0);
    for (const RejectedCheckpoint& one : found.rejected) {
      report.rejected.push_back("step " + std::to_string(one.step) + ": " + one.reason);
    }
    job_.observer->on_load(context_.rank(), report);
    co_return report.loaded;
  }

  // After a guard's verdict, on all ranks alike.
  Task<> roll_back(bool skip_batches) {
    const std::int64_t next_batch = skip_batches ? counters_.batch_index + 1 : 0;
    const std::int64_t failed_step = counters_.step + 1;
    ++rollbacks_;
    co_await saver_.settle();
    const bool loaded = co_await go_back(next_batch);
    if (!loaded) {
      counters_ = TrainCounters();
      counters_.guards = GuardHistory();
      parallel_.zero_moments();
      const std::string problem = co_await points_.gone_back(0);
      report_problem(problem);
      co_await start_fresh();
    }
    points_.note_failure(counters_.step, failed_step);
    counters_.batch_index = std::max(counters_.batch_index, next_batch);
    co_await begin_training();
  }

  // From a state that was made or loaded just now.
  Task<> begin_training() {
    if (seal_.has_value()) co_await seal_->seal_all();
    checked_step_ = counters_.step;
    saver_.begin();
    job_.observer->on_start(context_.rank(), counters_.step, parameter_view_, state_digest());
    if (config_.eval_every > 0 && counters_.step == 0) co_await evaluate();
  }

  // Of the checkpoint that the job stands on; training goes on.
  void report_problem(const std::string& problem) {
    if (!problem.empty()) job_.observer->on_checkpoint_problem(context_.rank(), counters_.step, problem);
  }

  // Of this rank's own chunks of master weights and moments, unit by unit.
  Digest128 state_digest() {
    std::vector<Digest128> digests;
    if (!has_numbers()) return Digest128();
    for (int unit = 0; unit < static_cast<int>(parallel_.plan().units().size()); ++unit) {
      const auto shard = parallel_.shard_to_save(unit);
      for (const BufferView& view : {shard.master, shard.m, shard.v}) {
        digests.push_back(xxh3_128({view.data, static_cast<std::size_t>(view.bytes().count())}));
      }
    }
    return xxh3_128(std::as_bytes(std::span(digests)));
  }

  void fetch_tokens() {
    fetch([this](int rank, std::int64_t index, std::span<std::int32_t> tokens) {
      source_->sequence(counters_.batch_index, rank, index, tokens);
    });
  }

  // One step: the batch in equal microbatches, the gradient averaged over ranks, one update where the guards agree.
  Task<Judgement> step() {
    StepReport report;
    report.began = context_.clock().now();
    report.step = counters_.step + 1;
    report.batch_index = counters_.batch_index;

    enter(report.step, Phase::kData);
    fetch_tokens();
    const bool checks = check_.has_value() && check_->is_due(report.step);
    const typename Passes<T>::Enter entering = [&](Phase phase, bool first) { enter(report.step, phase, first); };
    double loss = co_await passes_.train(tokens_, checks, entering);
    enter(report.step, Phase::kReduce);
    loss *= factor(&Disturbance::loss_factor, report.step, Phase::kReduce);
    const ProgramError error = program_error(report.step, Phase::kReduce);
    tell_gradients(passes_.flow().left());
    if (checks) {
      co_await passes_.flow().gather_all();
      report.disputes = co_await check_->run(report.step, report.batch_index);
      passes_.flow().release_all();
      if (report.disputes.empty()) checked_step_ = report.step;
    }
    co_await passes_.flow().finish(error);
    const auto tokens = static_cast<double>(share_.sequences * config_.model.context);
    const StepSums own = co_await parallel_.measure(loss, tokens);
    const std::vector<StepSums> sums = co_await parallel_.exchange_sums(own);
    const double divisor = collect(sums, report);

    report.applied_steps = counters_.applied_steps;
    // As late as can be: right before the update.
    if (seal_.has_value()) {
      enter(report.step, Phase::kOptimizer);
      report.changed_state = co_await seal_->changed();
    }
    const Judgement judgement = judge(report);
    if (judgement.reaction != Reaction::kGoOn) {
      refuse(judgement, report);
      co_return judgement;
    }
    if (!check_.has_value()) checked_step_ = report.step;
    const std::string problem = co_await points_.judged_well(checked_step_);
    report_problem(problem);
    if (!seal_.has_value()) enter(report.step, Phase::kOptimizer);
    job_.observer->on_reduced(context_.rank(), report.step, const_pieces_);
    AdamStep adam;
    adam.config = config_.adam;
    adam.applied_step = counters_.applied_steps + 1;
    adam.lr = scheduled_rate();
    adam.lr *= factor(&Disturbance::lr_factor, report.step, Phase::kOptimizer);
    double factor = 1.0;
    if (config_.clip_norm.has_value()) factor = clip_factor(report.grad_norm, *config_.clip_norm);
    co_await parallel_.update(adam, divisor, factor);
    if (seal_.has_value()) co_await seal_->seal_optimizer();

    enter(report.step, Phase::kGather);
    const ProgramError gather_error = program_error(report.step, Phase::kGather);
    co_await parallel_.gather_parameters(gather_error);
    if (seal_.has_value()) co_await seal_->seal_parameters();

    ++counters_.applied_steps;
    if (counters_.guards.has_value()) note_applied(config_.guards, report.loss, *counters_.guards);
    report.lr = adam.lr;
    finish_step(report);
    co_return judgement;
  }

  Judgement judge(const StepReport& report) const {
    if (!counters_.guards.has_value()) return Judgement();
    return job_.policy->judge(report, *counters_.guards, rollbacks_);
  }

  // What the last update left is used too: it is what the job was for.
  Task<Judgement> look_at_last_state() {
    StepReport report;
    report.step = counters_.step;
    report.applied_steps = counters_.applied_steps;
    report.changed_state = co_await seal_->changed();
    const Judgement judgement = judge(report);
    CHECK(judgement.reaction != Reaction::kSkipStep);
    if (judgement.reaction != Reaction::kGoOn) refuse(judgement, report);
    co_return judgement;
  }

  double scheduled_rate() const {
    return learning_rate(config_.adam.lr, config_.schedule, config_.steps, config_.lr_spike,
                         counters_.applied_steps + 1);
  }

  void finish_step(StepReport& report) {
    ++counters_.step;
    ++counters_.batch_index;
    report.applied_steps = counters_.applied_steps;
    report.ended = context_.clock().now();
    job_.observer->on_step(context_.rank(), report, parameter_view_, const_pieces_);
  }

  // The step is not applied. A skipped one counts all the same; after any other the job goes back, or ends.
  void refuse(const Judgement& judgement, StepReport& report) {
    GuardReport guard;
    guard.step = report.step;
    guard.reaction = name_of(judgement.reaction);
    guard.reason = judgement.reason;
    guard.goes_back = goes_back(judgement.reaction);
    if (judgement.reaction == Reaction::kEvict) guard.evicted = judgement.convicted;
    job_.observer->on_guard(context_.rank(), guard);
    if (judgement.reaction == Reaction::kEvict) throw EvictedError(judgement.reason);
    if (judgement.reaction != Reaction::kSkipStep) return;
    note_skipped(*counters_.guards);
    report.skipped = true;
    report.lr = scheduled_rate();
    finish_step(report);
  }

  // The loss on the held-out batch, in the same microbatches.
  Task<> evaluate() {
    fetch([this](int rank, std::int64_t index, std::span<std::int32_t> tokens) {
      source_->eval_sequence(rank, index, tokens);
    });
    const double loss = co_await passes_.measure(tokens_);
    const StepSums own(loss, 0, 0, 0);
    const std::vector<StepSums> sums = co_await parallel_.exchange_sums(own);
    StepReport report;
    collect(sums, report);
    job_.observer->on_eval(context_.rank(), counters_.step, report.loss);
  }

  RankContext& context_;
  const TrainJob& job_;
  const TrainConfig& config_;
  MiniGpt<T> model_;
  DataParallel<T> parallel_;
  BatchShare share_;
  std::shared_ptr<const TokenSource> source_;
  Passes<T> passes_;
  TensorsView parameter_view_;
  std::vector<std::int32_t> tokens_;  // (batch, context + 1)
  std::vector<ShardPiece> pieces_;
  std::vector<ConstShardPiece> const_pieces_;
  std::vector<ActivationTensor> activations_;
  StateMemory memory_;
  TrainCounters counters_;
  std::int64_t rollbacks_ = 0;  // of this generation
  RecoveryPoints points_;
  std::optional<StateSeal<T>> seal_;
  std::optional<GradientCheck<T>> check_;
  std::int64_t checked_step_ = 0;  // the last whose gradients all ranks agree on, as far as they are asked
  Saver<T> saver_;
};

template <class T>
Task<RunResult> run_trainer(RankContext& context, const TrainJob& job) {
  const auto trainer = std::make_unique<Trainer<T>>(context, job);
  const RunResult result = co_await trainer->run();
  co_return result;
}

}  // namespace

Task<RunResult> rank_main(RankContext& context, const TrainJob& job) {
  CHECK(job.policy != nullptr);
  if (job.config.dtype == DType::kFloat64) return run_trainer<double>(context, job);
  // Types that nothing computes with are sizes of what cost-only mode does not have.
  CHECK(job.config.dtype == DType::kFloat32 || context.storing() == Storing::kShapeOnly);
  return run_trainer<float>(context, job);
}

}  // namespace rehearse
