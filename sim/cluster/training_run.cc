#include "sim/cluster/training_run.h"

#include <utility>

#include "core/base/check.h"
#include "core/checkpoint/names.h"
#include "core/train/rank_main.h"
#include "sim/check/accumulation_difference.h"
#include "sim/check/optimizer_memory.h"
#include "sim/check/replica_agreement.h"
#include "sim/cluster/interval_report.h"
#include "sim/cluster/rate_failures.h"
#include "sim/cluster/recorder.h"
#include "sim/cluster/world.h"
#include "sim/config/loader.h"
#include "sim/fault/injector.h"
#include "sim/storage/file_system.h"
#include "sim/storage/sim_storage.h"
#include "sim/trace/event_digest.h"
#include "sim/trace/event_log.h"
#include "sim/trace/state_recorder.h"

namespace rehearse {
namespace {

// Events between two looks at the hooks: few, because the arithmetic of one may take seconds.
constexpr std::uint64_t kEventsPerSlice = 8;

std::unique_ptr<TrainObserver> make_accumulation_difference(const TrainConfig& config) {
  if (config.dtype == DType::kFloat64) {
    return std::make_unique<AccumulationDifference<double>>(config.model, config.batch);
  }
  return std::make_unique<AccumulationDifference<float>>(config.model, config.batch);
}

double largest_difference(const TrainConfig& config, const TrainObserver& observer) {
  if (config.dtype == DType::kFloat64) return static_cast<const AccumulationDifference<double>&>(observer).largest();
  return static_cast<const AccumulationDifference<float>&>(observer).largest();
}

WorldConfig world_config(const Scenario& scenario) {
  WorldConfig config;
  config.ranks = scenario.ranks;
  config.seed = scenario.seed;
  config.network = scenario.network;
  config.device = scenario.device;
  return config;
}

TrainJob make_job(const Scenario& scenario, const std::optional<ResumeFrom>& resume, TrainObserver* observer,
                  Disturbance* disturbance) {
  TrainJob job;
  job.config = scenario.train;
  job.observer = observer;
  job.disturbance = disturbance;
  if (resume.has_value()) job.resume_from = resume->step;
  job.checkpoints = make_checkpoint_plan(scenario.train);
  job.checkpoints.arithmetic_sha256 = scenario.arithmetic_sha256;
  job.checkpoints.scenario_sha256 = scenario.scenario_sha256;
  // The copy names every file it needs as the checkpoint will hold it; what is too large to copy stays where it is.
  ScenarioCopy copy = make_scenario_copy(scenario);
  job.checkpoints.scenario_text = std::move(copy.text);
  for (const CopiedFile& file : copy.files) {
    CheckpointInput input;
    input.path = file.path;
    input.sha256 = sha256_hex(*file.contents);
    input.contents = file.contents;
    job.checkpoints.inputs.push_back(input);
  }
  for (const InputFile& file : copy.left_out) {
    CheckpointInput input;
    input.path = file.path;
    input.sha256 = file.sha256;
    input.contents = file.contents;
    job.checkpoints.inputs.push_back(input);
  }
  return job;
}

Task<> rank_program(RankContext& context, const TrainJob& job) {
  const RunResult result = co_await rank_main(context, job);
  (void)result;
}

// What ended a failed run: the input's fault before anything that followed from it, else the first rank's error that is
// not about a peer's.
std::exception_ptr cause_of_failure(const World& world) {
  std::exception_ptr comm_error;
  std::exception_ptr other;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    const std::exception_ptr error = world.error(rank);
    if (error == nullptr) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      return error;
    } catch (const CommError&) {
      if (comm_error == nullptr) comm_error = error;
    } catch (...) {
      if (other == nullptr) other = error;
    }
  }
  return other != nullptr ? other : comm_error;
}

void conclude(World& world, RunEnd end, bool interrupted, TrainingRecord& record) {
  if (end == RunEnd::kDeadlock) {
    record.outcome = Outcome::kDeadlock;
    record.failure = "nothing is left that could wake the unfinished ranks";
    record.waiting = world.kernel().waiting();
    return;
  }
  if (interrupted) {
    record.outcome = Outcome::kInterrupted;
    record.failure = "interrupted";
    return;
  }
  const std::exception_ptr error = cause_of_failure(world);
  if (error == nullptr) return;
  record.outcome = Outcome::kFailed;
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw InputError("out of memory: the scenario needs more than there is; 'rehearse check' says how much");
  } catch (const std::exception& failure) {
    record.failure = failure.what();
  }
}

}  // namespace

// Everything of a run but its record. The world's coroutines see what stands before it until they are destroyed; what
// stands behind it, their end does not touch.
struct TrainingSession::Parts {
  Parts(const Scenario& run_scenario, const std::optional<ResumeFrom>& resume, const TrainingHooks& run_hooks,
        TrainingRecord& record)
      : scenario(run_scenario),
        hooks(run_hooks),
        agreement(scenario.ranks),
        states(scenario.ranks, agreement.latest()),
        accumulation(scenario.expect.max_accumulation_difference.has_value()
                         ? make_accumulation_difference(scenario.train)
                         : nullptr),
        injector(scenario.faults, injector_hooks(record)),
        job(make_job(scenario, resume, &fan, scenario.faults.empty() ? nullptr : &injector)),
        disk(mounts.add(job.checkpoints.parent.mount, scenario.storage)),
        recorder(scenario, agreement, states, disk, job.checkpoints.parent, hooks, record),
        world(world_config(scenario)),
        event_log(world.kernel(), scenario.ranks),
        supervisor(
            world, scenario.recovery, scenario.network.latency,
            [this](RankContext& context) { return rank_program(context, job); },
            [this](std::uint32_t generation) { on_restart(generation); }),
        save_cost(world.kernel(), scenario.ranks),
        timed_crash(this),
        rate_failures(world.kernel(), scenario.faults.rates, scenario.ranks, scenario.seed,
                      [this, &record](const FailureCause& cause, const DrawnFailure& failure) {
                        on_rate_failure(cause, failure, record);
                      }) {
    fan.add(&agreement);
    fan.add(&states);
    if (accumulation != nullptr) fan.add(accumulation.get());
    fan.add(&recorder);
    fan.add(&save_cost);
    if (hooks.observer != nullptr) fan.add(hooks.observer);
    states.watch(&world.kernel());
    recorder.watch(&world);
    if (hooks.log_events) {
      event_log.add(&digest);
      for (EventListener* listener : hooks.listeners) event_log.add(listener);
      world.kernel().set_listener(&event_log);
    }
    world.set_storage([this](Process& process) { return std::make_unique<SimStorage>(process, mounts); });
    for (int rank = 0; rank < scenario.ranks; ++rank) {
      tracers.push_back(std::make_unique<RankTracer>(world.kernel(), event_log, rank));
      world.set_tracer(rank, tracers.back().get());
    }
    if (resume.has_value()) {
      std::map<std::string, FileData> files;
      const StoragePath directory = job.checkpoints.parent.child(step_directory_name(resume->step));
      for (const auto& [name, data] : resume->files) files.emplace(directory.path + "/" + name, data);
      disk.import_files(files);
    }
    supervisor.start();
    for (std::size_t i = 0; i < scenario.faults.crashes.size(); ++i) {
      const CrashFault& crash = scenario.faults.crashes[i];
      // A continued run has a clock of its own.
      if (crash.time.has_value() && !resume.has_value())
        world.kernel().schedule_background(*crash.time, &timed_crash, i);
    }
    if (!resume.has_value()) rate_failures.start();
  }

  FaultInjector::Hooks injector_hooks(TrainingRecord& record) {
    FaultInjector::Hooks injector_hooks;
    injector_hooks.on_fault = [this, &record](const FaultRecord& fault) { on_fault(fault, record); };
    injector_hooks.crash = [this](int rank, CrashKind kind) { supervisor.crash_soon(rank, kind); };
    injector_hooks.is_up = [this](int rank) { return world.is_up(rank); };
    return injector_hooks;
  }

  void on_restart(std::uint32_t generation) {
    agreement.restart();
    event_log.restart(generation);
    recorder.restart(generation);
    save_cost.restart();
    recorder.watch(&supervisor.recoveries().back());
    for (const auto& tracer : tracers) tracer->restart();
    supervisor.recoveries().back().last_step = recorder.last_step();
  }

  // A crash at a time of the simulation.
  class TimedCrash : public EventSink {
   public:
    explicit TimedCrash(Parts* parts) : parts_(parts) {}
    void on_event(std::uint64_t argument) override {
      Kernel& kernel = parts_->world.kernel();
      if (kernel.is_heard()) {
        EventRecord event(EventKind::kFaultDue);
        event.rank = parts_->scenario.faults.crashes[argument].at.rank;
        kernel.record(event);
      }
      parts_->injector.strike_in_time(argument);
    }

   private:
    Parts* parts_;
  };

  // It finds nobody where the rank is down.
  void on_rate_failure(const FailureCause& cause, const DrawnFailure& failure, TrainingRecord& record) {
    if (!world.is_up(failure.rank)) return;
    FaultRecord fault;
    fault.at.rank = failure.rank;
    fault.what = words_of(cause);
    on_fault(fault, record);
    supervisor.crash_soon(failure.rank, crash_kind_of(cause.kind));
  }

  void on_fault(const FaultRecord& fault, TrainingRecord& record) {
    record.faults.push_back(fault);
    record.faults.back().time = world.now();
    if (!world.kernel().is_heard()) return;
    EventRecord event(EventKind::kFault);
    event.rank = fault.at.rank;
    world.kernel().record(event);
  }

  const Scenario& scenario;
  TrainingHooks hooks;
  Mounts mounts;
  ObserverFan fan;
  ReplicaAgreement agreement;
  StateRecorder states;
  std::unique_ptr<TrainObserver> accumulation;
  FaultInjector injector;
  TrainJob job;
  FileSystem& disk;
  Recorder recorder;
  std::vector<std::unique_ptr<RankTracer>> tracers;
  EventDigest digest;
  World world;
  EventLog event_log;
  Supervisor supervisor;
  SaveCost save_cost;
  TimedCrash timed_crash;
  RateFailures rate_failures;
};

double goodput_of(const TrainingRecord& record) {
  Duration useful;
  for (const StepRecord& step : record.steps) useful = useful + step.step_seconds;
  const Duration all = record.simulated.since_start();
  return all.ps() == 0 ? 0 : static_cast<double>(useful.ps()) / static_cast<double>(all.ps());
}

TrainingSession::TrainingSession(const Scenario& scenario, const std::optional<ResumeFrom>& resume,
                                 const TrainingHooks& hooks)
    : record_(std::make_unique<TrainingRecord>()), parts_(std::make_unique<Parts>(scenario, resume, hooks, *record_)) {
  if (resume.has_value()) record_->first_step = resume->step + 1;
}

TrainingSession::~TrainingSession() = default;

void TrainingSession::crash(int rank, CrashKind kind) { parts_->supervisor.crash(rank, kind); }

bool TrainingSession::advance(std::uint64_t max_events) {
  CHECK(end_ == RunEnd::kBudget);
  end_ = parts_->world.run(max_events);
  return end_ == RunEnd::kBudget;
}

std::vector<WaitingRow> TrainingSession::waiting() const { return parts_->world.kernel().waiting(); }

std::uint64_t TrainingSession::events() const { return parts_->world.kernel().events(); }

TrainingRecord TrainingSession::finish() {
  Parts& parts = *parts_;
  TrainingRecord& record = *record_;
  World& world = parts.world;
  conclude(world, end_, end_ == RunEnd::kBudget, record);
  const auto& recoveries = parts.supervisor.recoveries();
  record.faults_not_struck = parts.injector.not_struck();
  record.save_cost = parts.save_cost.mean();
  record.recoveries.assign(recoveries.begin(), recoveries.end());
  if (!parts.supervisor.gave_up().empty()) {
    record.outcome = Outcome::kFailed;
    record.failure = parts.supervisor.gave_up();
  }

  if (record.outcome != Outcome::kDone) record.weights_sha256.clear();
  record.violations = parts.agreement.violations();
  record.memory = memory_of(world);
  std::vector<Bytes> optimizer;
  for (const RankMemory& memory : record.memory) optimizer.push_back(memory.optimizer);
  // An optimizer exists once every rank has come to training.
  if (std::cmp_equal(record.start_optimizer_state.size(), parts.scenario.ranks)) {
    record.optimizer_checked = true;
    if (auto violation = check_optimizer_memory(parts.scenario.train, optimizer)) {
      record.violations.push_back(*violation);
    }
  }
  if (parts.accumulation != nullptr) {
    record.accumulation_difference = largest_difference(parts.scenario.train, *parts.accumulation);
  }
  record.communication = communication_of(world, parts.tracers);
  parts.recorder.list_checkpoints();
  record.events = world.kernel().events();
  record.messages = world.network().messages();
  record.bytes_on_wire = world.network().bytes_on_wire();
  record.simulated = world.now();
  if (parts.hooks.log_events) {
    record.log_records = parts.digest.records();
    record.event_digest = parts.digest.finish();
  }
  return std::move(record);
}

TrainingRecord run_training(const Scenario& scenario, const std::optional<ResumeFrom>& resume,
                            const TrainingHooks& hooks) {
  TrainingSession session(scenario, resume, hooks);
  while (session.advance(kEventsPerSlice)) {
    if (hooks.interrupted && hooks.interrupted()) break;
  }
  return session.finish();
}

}  // namespace rehearse
