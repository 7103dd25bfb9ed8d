#include "core/train/rank_main.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/digest.h"
#include "core/data/token_source.h"
#include "core/formats/safetensors.h"
#include "core/model/init.h"
#include "core/model/load.h"
#include "core/optim/clip.h"
#include "core/parallel/data_parallel.h"
#include "core/train/microbatch.h"
#include "core/train/recovery_points.h"

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
        model_(config_.model),
        parallel_(context, model_.layout(), config_.zero_stage,
                  config_.bucket_bytes / static_cast<std::int64_t>(sizeof(T)), config_.adam.decay,
                  job.collective_timeout),
        source_(make_token_source(config_.data, config_.seed, context.world_size(), config_.batch,
                                  config_.model.context, config_.model.vocab)),
        microbatch_(context, model_, config_.batch / config_.accumulate),
        parameters_(parallel_.const_parameters()),
        parameter_view_(view(parallel_.parameters())),
        gradient_view_(view(parallel_.gradients())),
        tokens_(static_cast<std::size_t>(config_.batch * sequence_length())),
        pieces_(parallel_.pieces()),
        const_pieces_(pieces_.begin(), pieces_.end()),
        points_(context, *job.policy, job.checkpoints.parent, job.checkpoints.keep, job.avoided) {
    memory_.layout = &model_.layout();
    memory_.dtype = dtype_of<T>;
    for (T* tensor : parallel_.parameters().tensors) memory_.parameters.push_back(reinterpret_cast<std::byte*>(tensor));
    for (T* tensor : parallel_.gradients().tensors) memory_.gradients.push_back(reinterpret_cast<std::byte*>(tensor));
    memory_.pieces = pieces_;
    activations_ = microbatch_.activations().named();
    memory_.activations = activations_;
    if (config_.guards.any()) counters_.guards = GuardHistory();
  }

  Task<RunResult> run() {
    enter(0, Phase::kStart);
    if (config_.checkpoint.every_steps > 0 || job_.resume_from.has_value()) {
      co_await open_checkpoints(context_, parallel_, job_.checkpoints);
    }
    bool continues = false;
    if (context_.generation() > 0 && config_.checkpoint.every_steps > 0) {
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
    job_.observer->on_start(context_.rank(), counters_.step, parameter_view_, state_digest());
    if (config_.eval_every > 0 && counters_.step == 0) co_await evaluate();
    RunResult result;
    while (counters_.step < config_.steps) {
      const Judgement judgement = co_await step();
      if (judgement.reaction == Reaction::kStop) {
        result.stopped = judgement.reason;
        break;
      }
      if (goes_back(judgement.reaction)) {
        co_await roll_back(judgement.reaction == Reaction::kRollbackAndSkipBatches);
        continue;
      }
      if (config_.eval_every > 0 && counters_.step % config_.eval_every == 0) co_await evaluate();
      const std::int64_t every = config_.checkpoint.every_steps;
      if (every > 0 && counters_.step % every == 0) co_await save();
    }
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

  // In cost-only mode there is nothing to strike.
  Disturbance* disturbance() const { return context_.storing() == Storing::kShapeOnly ? nullptr : job_.disturbance; }

  void enter(std::int64_t step, Phase phase, bool may_strike = true) {
    context_.tracer().phase(step, phase);
    if (may_strike && disturbance() != nullptr) disturbance()->strike(moment(step, phase), memory_);
  }

  static bool goes_back(Reaction reaction) {
    return reaction == Reaction::kRollback || reaction == Reaction::kRollbackAndSkipBatches;
  }

  std::int64_t sequence_length() const { return config_.model.context + 1; }

  TensorsView view(const ParameterTable<T>& table) const {
    TensorsView tensors;
    tensors.layout = &model_.layout();
    tensors.dtype = dtype_of<T>;
    for (T* tensor : table.tensors) tensors.tensors.push_back(reinterpret_cast<const std::byte*>(tensor));
    return tensors;
  }

  Task<> start_fresh() {
    auto work = [this] { initialise_parameters(); };
    if (context_.rank() == 0) co_await context_.device().run(ComputeCost(), work);
    co_await parallel_.broadcast_parameters();
  }

  void initialise_parameters() {
    if (!config_.init_file.has_value()) {
      initialise(model_.layout(), RandomStream(config_.seed), parallel_.parameters());
      return;
    }
    const std::string& contents = *config_.init_file->contents;
    const SafetensorsFile file = SafetensorsFile::parse(std::as_bytes(std::span(contents)), config_.init_file->path);
    load_parameters(file, model_.layout(), parallel_.parameters(), config_.init_file->path);
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
    if (config_.checkpoint.every_steps > 0) {
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
    job_.observer->on_start(context_.rank(), counters_.step, parameter_view_, state_digest());
    if (config_.eval_every > 0 && counters_.step == 0) co_await evaluate();
  }

  Task<> save() {
    enter(counters_.step, Phase::kCheckpoint);
    const SaveResult result = co_await save_training_state(context_, parallel_, job_.checkpoints, counters_,
                                                           points_.must_keep(counters_.step));
    if (result.saved()) points_.saved(counters_.step, result.deleted);
    CheckpointReport report;
    report.step = counters_.step;
    report.problem = result.problem;
    report.rotation_problem = result.rotation_problem;
    job_.observer->on_checkpoint(context_.rank(), report, state_digest());
  }

  // Of the checkpoint that the job stands on; training goes on.
  void report_problem(const std::string& problem) {
    if (!problem.empty()) job_.observer->on_checkpoint_problem(context_.rank(), counters_.step, problem);
  }

  // Of this rank's own chunks of master weights and moments, unit by unit.
  Digest128 state_digest() {
    std::vector<Digest128> digests;
    if (context_.storing() == Storing::kShapeOnly) return Digest128();
    for (int unit = 0; unit < static_cast<int>(parallel_.plan().units().size()); ++unit) {
      const auto shard = parallel_.shard_to_save(unit);
      for (const BufferView& view : {shard.master, shard.m, shard.v}) {
        digests.push_back(xxh3_128({view.data, static_cast<std::size_t>(view.bytes().count())}));
      }
    }
    return xxh3_128(std::as_bytes(std::span(digests)));
  }

  void fetch_tokens() {
    const auto length = static_cast<std::size_t>(sequence_length());
    for (std::int64_t i = 0; i < config_.batch; ++i) {
      source_->sequence(counters_.batch_index, parallel_.rank(), i,
                        std::span(tokens_).subspan(static_cast<std::size_t>(i) * length, length));
    }
  }

  std::span<const std::int32_t> microbatch_tokens(std::int64_t index) const {
    const std::size_t size = tokens_.size() / static_cast<std::size_t>(config_.accumulate);
    return std::span(tokens_).subspan(static_cast<std::size_t>(index) * size, size);
  }

  // One step: the batch in equal microbatches, the gradient averaged over ranks, one update where the guards agree.
  Task<Judgement> step() {
    StepReport report;
    report.began = context_.clock().now();
    report.step = counters_.step + 1;
    report.batch_index = counters_.batch_index;

    enter(report.step, Phase::kData);
    fetch_tokens();
    parallel_.zero_gradients();
    double loss = co_await forward_backward(report.step);
    enter(report.step, Phase::kReduce);
    ProgramError error = ProgramError::kNone;
    if (disturbance() != nullptr) {
      loss *= disturbance()->loss_factor(moment(report.step, Phase::kReduce));
      error = disturbance()->program_error(moment(report.step, Phase::kReduce));
    }
    job_.observer->on_gradients(context_.rank(), report.step, tokens_, parameter_view_, gradient_view_);
    co_await parallel_.reduce_gradients(error);
    const auto tokens = static_cast<double>(config_.batch * config_.model.context);
    const StepSums own = co_await parallel_.measure(loss, tokens);
    const std::vector<StepSums> sums = co_await parallel_.exchange_sums(own);
    const double divisor = collect(sums, report);

    report.applied_steps = counters_.applied_steps;
    Judgement judgement;
    if (counters_.guards.has_value()) judgement = job_.policy->judge(report, *counters_.guards, rollbacks_);
    if (judgement.reaction != Reaction::kGoOn) {
      refuse(judgement, report);
      co_return judgement;
    }
    const std::string problem = co_await points_.judged_well();
    report_problem(problem);
    enter(report.step, Phase::kOptimizer);
    job_.observer->on_reduced(context_.rank(), report.step, const_pieces_);
    AdamStep adam;
    adam.config = config_.adam;
    adam.applied_step = counters_.applied_steps + 1;
    adam.lr = scheduled_rate();
    if (disturbance() != nullptr) adam.lr *= disturbance()->lr_factor(moment(report.step, Phase::kOptimizer));
    double factor = 1.0;
    if (config_.clip_norm.has_value()) factor = clip_factor(report.grad_norm, *config_.clip_norm);
    co_await parallel_.update(adam, divisor, factor);

    enter(report.step, Phase::kGather);
    error = ProgramError::kNone;
    if (disturbance() != nullptr) error = disturbance()->program_error(moment(report.step, Phase::kGather));
    co_await parallel_.gather_parameters(error);

    ++counters_.applied_steps;
    if (counters_.guards.has_value()) note_applied(config_.guards, report.loss, *counters_.guards);
    report.lr = adam.lr;
    finish_step(report);
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
    job_.observer->on_guard(context_.rank(), guard);
    if (judgement.reaction != Reaction::kSkipStep) return;
    note_skipped(*counters_.guards);
    report.skipped = true;
    report.lr = scheduled_rate();
    finish_step(report);
  }

  // The mean loss of this rank's batch; gradients of it are in parallel_.
  Task<double> forward_backward(std::int64_t step) {
    double loss = 0;
    const double scale = 1.0 / static_cast<double>(config_.accumulate);
    for (std::int64_t i = 0; i < config_.accumulate; ++i) {
      const std::span<const std::int32_t> tokens = microbatch_tokens(i);
      // What strikes a phase strikes the first microbatch of it.
      enter(step, Phase::kForward, i == 0);
      const double one = co_await microbatch_.forward(parameters_, tokens);
      loss += one;
      enter(step, Phase::kBackward, i == 0);
      co_await microbatch_.backward(parameters_, tokens, parallel_.gradients(), scale);
    }
    co_return loss* scale;
  }

  // Adds up what the ranks said, in rank order (design section 7); returns the divisor of the average.
  static double collect(const std::vector<StepSums>& sums, StepReport& report) {
    const auto divisor = static_cast<double>(sums.size());
    double loss = 0;
    double squares = 0;
    double nonfinite = 0;
    double tokens = 0;
    for (const StepSums& one : sums) {
      report.rank_losses.push_back(one.loss);
      loss += one.loss;
      squares += one.sum_of_squares;
      nonfinite += one.nonfinite_elements;
      tokens += one.tokens;
    }
    report.loss = loss / divisor;
    report.grad_norm = std::sqrt(squares) / divisor;
    report.nonfinite_elements = static_cast<std::int64_t>(nonfinite);
    report.tokens = static_cast<std::int64_t>(tokens);
    return divisor;
  }

  // The loss on the held-out batch, in the same microbatches.
  Task<> evaluate() {
    const auto length = static_cast<std::size_t>(sequence_length());
    for (std::int64_t i = 0; i < config_.batch; ++i) {
      source_->eval_sequence(parallel_.rank(), i,
                             std::span(tokens_).subspan(static_cast<std::size_t>(i) * length, length));
    }
    double loss = 0;
    for (std::int64_t i = 0; i < config_.accumulate; ++i) {
      const double one = co_await microbatch_.forward(parameters_, microbatch_tokens(i));
      loss += one;
    }
    const StepSums own(loss / static_cast<double>(config_.accumulate), 0, 0, 0);
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
  std::unique_ptr<TokenSource> source_;
  Microbatch<T> microbatch_;
  ParameterTable<const T> parameters_;
  TensorsView parameter_view_;
  TensorsView gradient_view_;
  std::vector<std::int32_t> tokens_;  // (batch, context + 1)
  std::vector<ShardPiece> pieces_;
  std::vector<ConstShardPiece> const_pieces_;
  std::vector<ActivationTensor> activations_;
  StateMemory memory_;
  TrainCounters counters_;
  std::int64_t rollbacks_ = 0;  // of this generation
  RecoveryPoints points_;
};

template <class T>
Task<RunResult> run_trainer(RankContext& context, const TrainJob& job) {
  const auto trainer = std::make_unique<Trainer<T>>(context, job);
  const RunResult result = co_await trainer->run();
  co_return result;
}

}  // namespace

CheckpointPlan make_checkpoint_plan(const TrainConfig& config) {
  CheckpointPlan plan;
  plan.keep = config.checkpoint.keep;
  plan.has_guards = config.guards.any();
  plan.schedule.lr = config.adam.lr;
  plan.schedule.warmup_steps = config.schedule.warmup_steps;
  plan.schedule.cosine = config.schedule.cosine;
  plan.schedule.min_lr = config.schedule.min_lr;
  plan.schedule.total_steps = config.steps;
  if (config.lr_spike.has_value()) {
    LrSpikeRecord spike;
    spike.step = config.lr_spike->step;
    spike.factor = config.lr_spike->factor;
    plan.schedule.lr_spike = spike;
  }
  return plan;
}

Task<RunResult> rank_main(RankContext& context, const TrainJob& job) {
  CHECK(job.policy != nullptr);
  if (job.config.dtype == DType::kFloat64) return run_trainer<double>(context, job);
  CHECK(job.config.dtype == DType::kFloat32);
  return run_trainer<float>(context, job);
}

}  // namespace rehearse
