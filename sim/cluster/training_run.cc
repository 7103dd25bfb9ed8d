#include "sim/cluster/training_run.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "core/base/check.h"
#include "core/checkpoint/names.h"
#include "core/train/batch_share.h"
#include "core/train/rank_main.h"
#include "sim/check/accumulation_difference.h"
#include "sim/check/optimizer_memory.h"
#include "sim/check/replica_agreement.h"
#include "sim/cluster/interval_report.h"
#include "sim/cluster/make_job.h"
#include "sim/cluster/rate_failures.h"
#include "sim/cluster/recorder.h"
#include "sim/cluster/run_outcome.h"
#include "sim/cluster/run_storage.h"
#include "sim/cluster/running_job.h"
#include "sim/cluster/world.h"
#include "sim/config/loader.h"
#include "sim/config/reshard.h"
#include "sim/fault/injector.h"
#include "sim/fault/network_fault_injector.h"
#include "sim/storage/file_system.h"
#include "sim/trace/event_digest.h"
#include "sim/trace/event_log.h"
#include "sim/trace/state_recorder.h"

namespace rehearse {
namespace {

// Events between two looks at the hooks: few, because the arithmetic of one may take seconds.
constexpr std::uint64_t kEventsPerSlice = 8;

std::unique_ptr<TrainObserver> make_accumulation_difference(const TrainConfig& config, int ranks) {
  const std::int64_t sequences = share_of_batch(config, ranks).sequences;
  if (config.dtype == DType::kFloat64) {
    return std::make_unique<AccumulationDifference<double>>(config.model, sequences);
  }
  return std::make_unique<AccumulationDifference<float>>(config.model, sequences);
}

double largest_difference(const TrainConfig& config, const TrainObserver& observer) {
  if (config.dtype == DType::kFloat64) return static_cast<const AccumulationDifference<double>&>(observer).largest();
  return static_cast<const AccumulationDifference<float>&>(observer).largest();
}

WorldConfig world_config(const Scenario& scenario, LinkConditions& links) {
  WorldConfig config;
  config.ranks = scenario.ranks;
  config.most_ranks = scenario.known_ranks();
  config.seed = scenario.seed;
  config.network = scenario.network;
  config.transport = scenario.transport;
  if (!scenario.faults.network.empty()) config.links = &links;
  config.device = scenario.device;
  return config;
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
                         ? make_accumulation_difference(scenario.train, scenario.ranks)
                         : nullptr),
        standard_policy(scenario.train.guards, scenario.recovery.max_restarts, scenario.recovery.restart_delay),
        policy(run_hooks.policy != nullptr ? *run_hooks.policy : standard_policy),
        injector(scenario.faults, scenario.known_ranks(), RandomStream(scenario.seed).fork("faults"),
                 injector_hooks(record), scenario.hosts),
        network_faults(scenario.faults.network, RandomStream(scenario.seed).fork("network faults"),
                       network_fault_hooks(record)),
        storage(scenario, resume.has_value(), network_faults, storage_hooks(record)),
        job(make_job(scenario, resume, &fan, scenario.faults.empty() ? nullptr : &storage, &policy)),
        disk(storage.mounts().add(job.checkpoints.parent.mount, scenario.storage)),
        compute_times(scenario.known_ranks()),
        recorder(scenario, agreement, states, disk, job.checkpoints.parent, hooks, record),
        world(world_config(scenario, network_faults)),
        event_log(world.kernel(), scenario.known_ranks()),
        supervisor(
            world, scenario.recovery, policy, scenario.network.latency, scenario.faults.supervisor_links,
            [this](RankContext& context) { return rank_program(context, running.back()); },
            [this](const RecoveryRecord& recovery) { on_restart(recovery); }),
        save_cost(world.kernel(), scenario.ranks),
        timed_fault(this),
        rate_failures(world.kernel(), scenario.faults.rates, scenario.known_ranks(), scenario.seed,
                      [this, &record](const FailureCause& cause, const DrawnFailure& failure) {
                        on_rate_failure(cause, failure, record);
                      }) {
    fan.add(&agreement);
    fan.add(&states);
    if (accumulation != nullptr) fan.add(accumulation.get());
    fan.add(&recorder);
    fan.add(&compute_times);
    compute_times.watch(&world);
    // What a save beside training takes, training does not wait for.
    if (!scenario.train.checkpoint.asynchronous) fan.add(&save_cost);
    if (hooks.observer != nullptr) fan.add(hooks.observer);
    states.watch(&world.kernel());
    recorder.watch(&world);
    if (hooks.log_events) {
      event_log.add(&digest);
      for (EventListener* listener : hooks.listeners) event_log.add(listener);
      world.kernel().set_listener(&event_log);
    }
    for (int rank = 0; rank < scenario.known_ranks(); ++rank) {
      tracers.push_back(std::make_unique<RankTracer>(world.kernel(), event_log, rank));
      world.set_tracer(rank, tracers.back().get());
    }
    if (resume.has_value()) {
      std::map<std::string, FileData> files;
      const StoragePath directory = job.checkpoints.parent.child(step_directory_name(resume->step));
      for (const auto& [name, data] : resume->files) files.emplace(directory.path + "/" + name, data);
      disk.import_files(files);
    }
    storage.attach(world);
    if (!scenario.faults.network.empty()) network_faults.start(world.kernel(), resume.has_value());
    recorder.set_rollback_listener([this] {
      event_log.set_attempt(recorder.attempt());
      save_cost.restart();
    });
    recorder.set_eviction_listener([this](int rank) { injector.replace_machine(rank); });
    supervisor.set_hosts(scenario.hosts);
    supervisor.set_fit([this](int ranks) { return divides_batch(scenario.train, ranks); });
    supervisor.set_diagnosis([this](const CommError& error) { return who_is_missing(error); });
    if (!scenario.faults.empty()) {
      job.checkpoints.outside = [this] { return fault_progress(); };
      if (has_message_faults()) {
        world.network().set_send_listener([this](int rank) { injector.on_message(rank); });
      }
    }
    TimePoint began;  // on the clock of the run that wrote the checkpoint
    if (resume.has_value()) {
      const RunState state = run_state_of(*resume);
      began = state.simulated_time;
      job.checkpoints.began = began;
      if (!state.outside.empty()) {
        if (state.outside.size() != fault_progress().size()) {
          throw InputError("the checkpoint of step " + std::to_string(resume->step) +
                           " was saved under another fault plan: its run state tells of " +
                           std::to_string(state.outside.size()) + " numbers, the scenario has " +
                           std::to_string(fault_progress().size()));
        }
        set_fault_progress(state.outside);
      }
    }
    supervisor.set_began(began);
    storage.mounts().set_fence_listener([this](int rank, std::uint32_t generation, const std::string& what) {
      supervisor.on_refused(rank, generation, what);
    });
    running.emplace_back(job, fan);
    supervisor.start();
    for (std::size_t i = 0; i < scenario.faults.faults.size(); ++i) {
      const FaultWhen& when = scenario.faults.faults[i].when;
      if (!when.time.has_value() || *when.time < began || injector.has_struck(i)) continue;
      world.kernel().schedule_background(TimePoint::at(*when.time - began), &timed_fault, i);
    }
    rate_failures.start(began);
  }

  // How far each fault of the plan has come.
  std::vector<std::int64_t> fault_progress() const {
    std::vector<std::int64_t> numbers = injector.progress();
    if (!scenario.faults.network.empty()) {
      for (const std::int64_t number : network_faults.progress().numbers()) numbers.push_back(number);
    }
    for (const std::int64_t number : storage.state()) numbers.push_back(number);
    if (counts_spares()) numbers.push_back(supervisor.spares());
    for (const std::int64_t number : supervisor.links().gone()) numbers.push_back(number);
    return numbers;
  }

  // Whether hosts that stand by are part of the run's state.
  bool counts_spares() const {
    return scenario.recovery.spares > 0 || scenario.recovery.mode == RecoveryMode::kElastic;
  }

  void set_fault_progress(const std::vector<std::int64_t>& numbers) {
    auto next = numbers.begin();
    const auto take = [&next](std::size_t count) {
      const auto begin = next;
      next += static_cast<std::ptrdiff_t>(count);
      return std::vector<std::int64_t>(begin, next);
    };
    injector.set_progress(take(injector.progress().size()));
    if (!scenario.faults.network.empty()) {
      network_faults.set_progress(NetworkFaultProgress::of(take(network_faults.progress().numbers().size())));
    }
    storage.set_state(take(storage.state().size()));
    if (counts_spares()) supervisor.set_spares(static_cast<int>(take(1).front()));
    supervisor.set_links_gone(take(scenario.faults.supervisor_links.size()));
  }

  bool has_message_faults() const {
    const auto& faults = scenario.faults.faults;
    return std::any_of(faults.begin(), faults.end(), [](const Fault& fault) { return fault.when.message > 0; });
  }

  FaultInjector::Hooks injector_hooks(TrainingRecord& record) {
    FaultInjector::Hooks injector_hooks;
    injector_hooks.on_fault = [this, &record](const FaultRecord& fault) { on_fault(fault, record); };
    injector_hooks.crash = [this](int rank) { supervisor.crash_soon(rank); };
    injector_hooks.lose = [this](const DomainLoss& loss, const PowerLoss& unsynced) {
      for (int rank = loss.ranks.first; rank < loss.ranks.end(); ++rank) storage.set_host_loss(rank, unsynced);
      supervisor.lose_soon(loss);
    };
    injector_hooks.ranks = [this] { return world.ranks(); };
    injector_hooks.hang = [this](int rank) { supervisor.hang_soon(rank); };
    injector_hooks.slow_down = [this](int rank, std::int64_t numerator, std::int64_t denominator) {
      world.slow_down(rank, numerator, denominator);
    };
    injector_hooks.is_up = [this](int rank) { return world.is_up(rank); };
    return injector_hooks;
  }

  RunStorage::Hooks storage_hooks(TrainingRecord& record) {
    RunStorage::Hooks hooks_of_storage;
    hooks_of_storage.on_fault = [this, &record](const FaultRecord& fault) { on_fault(fault, record); };
    hooks_of_storage.power_loss = [this] { supervisor.lose_power_soon(); };
    return hooks_of_storage;
  }

  NetworkFaultInjector::Hooks network_fault_hooks(TrainingRecord& record) {
    NetworkFaultInjector::Hooks network_hooks;
    network_hooks.on_fault = [this, &record](const std::string& what) {
      FaultRecord fault;
      fault.at.rank = -1;
      fault.what = what;
      on_fault(fault, record);
    };
    network_hooks.next = &injector;
    return network_hooks;
  }

  void on_restart(const RecoveryRecord& recovery) {
    agreement.restart();
    if (!recovery.gone.empty()) cut_anew(recovery.ranks);
    recorder.restart(recovery);
    save_cost.restart();
    event_log.set_attempt(recorder.attempt());
    job.avoided = recorder.avoided();
    running.back().gate.close();
    running.emplace_back(job, fan);
    storage.mounts().fence(recovery.generation);
    for (const auto& tracer : tracers) tracer->restart();
  }

  // The job goes on with fewer ranks: what it saves from now on is what the scenario saves that is resharded to them,
  // and what it has saved so far it takes as theirs.
  void cut_anew(int ranks) {
    earlier_ranks.push_back(job_ranks);
    job_ranks = ranks;
    job.checkpoints.reshard_from.push_back(job.checkpoints.arithmetic_sha256);
    std::vector<std::string> changes = {"cluster.ranks=" + std::to_string(ranks)};
    // One rank has no other to ask.
    if (ranks == 1 && scenario.train.guards.recompute_every > 0) changes.emplace_back("train.guards.recompute_every=0");
    describe_scenario(reshard_scenario(scenario, changes), job.checkpoints);
    agreement.set_ranks(ranks);
    states.set_ranks(ranks);
    save_cost.set_ranks(ranks);
    compute_times.forget();
  }

  // Of a collective that somebody waited for in vain: the ranks that never called it, and what they are at instead.
  std::string who_is_missing(const CommError& error) const {
    if (error.kind() != CommError::Kind::kTimeout) return "";
    std::string text;
    for (int rank = 0; rank < world.ranks(); ++rank) {
      const RankTracer& tracer = *tracers[static_cast<std::size_t>(rank)];
      if (tracer.has_called(error.group_id(), error.sequence())) continue;
      const EventLog::Doing& doing = event_log.doing(rank);
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank) + " never called it: it is in " +
              name_of(doing.phase) + " of step " + std::to_string(doing.step);
    }
    return text;
  }

  // A fault at a time of the simulation.
  class TimedFault : public EventSink {
   public:
    explicit TimedFault(Parts* parts) : parts_(parts) {}
    void on_event(std::uint64_t argument) override {
      Kernel& kernel = parts_->world.kernel();
      if (kernel.is_heard()) {
        EventRecord event(EventKind::kFaultDue);
        event.rank = parts_->scenario.faults.faults[argument].when.at.rank;
        kernel.record(event);
      }
      parts_->injector.strike_in_time(argument);
    }

   private:
    Parts* parts_;
  };

  // It finds nobody where the rank is down.
  void on_rate_failure(const FailureCause& cause, const DrawnFailure& failure, TrainingRecord& record) {
    const bool host = cause.kind == FailureKind::kHost;
    DomainLoss loss = loss_of_rank(failure.rank);
    if (host) loss = loss_of(FailureDomain(), failure.rank, scenario.hosts, world.ranks());
    if (!world.is_any_up(loss.ranks)) return;
    FaultRecord fault;
    fault.at.rank = failure.rank;
    fault.what = words_of(cause, loss);
    fault.failed = loss.ranks;
    on_fault(fault, record);
    if (host) return supervisor.lose_soon(loss);
    if (cause.kind == FailureKind::kHang) return supervisor.hang_soon(failure.rank);
    supervisor.crash_soon(failure.rank);
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
  ObserverFan fan;
  ReplicaAgreement agreement;
  StateRecorder states;
  std::unique_ptr<TrainObserver> accumulation;
  StandardPolicy standard_policy;
  const RecoveryPolicy& policy;
  std::deque<RunningJob> running;  // by generation
  int job_ranks = scenario.ranks;
  std::vector<int> earlier_ranks;  // that the job had
  FaultInjector injector;
  NetworkFaultInjector network_faults;
  RunStorage storage;
  TrainJob job;
  FileSystem& disk;
  ComputeTimes compute_times;
  Recorder recorder;
  std::vector<std::unique_ptr<RankTracer>> tracers;
  EventDigest digest;
  World world;
  EventLog event_log;
  Supervisor supervisor;
  SaveCost save_cost;
  TimedFault timed_fault;
  RateFailures rate_failures;
};

TrainingSession::TrainingSession(const Scenario& scenario, const std::optional<ResumeFrom>& resume,
                                 const TrainingHooks& hooks)
    : record_(std::make_unique<TrainingRecord>()), parts_(std::make_unique<Parts>(scenario, resume, hooks, *record_)) {
  if (resume.has_value()) record_->first_step = resume->step + 1;
}

TrainingSession::~TrainingSession() = default;

void TrainingSession::crash(int rank, CrashKind kind) { parts_->supervisor.crash(rank, kind); }

void TrainingSession::lose_power(const PowerLoss& loss) {
  parts_->storage.lose_power(loss);
  parts_->supervisor.lose_power();
}

const FileSystem& TrainingSession::disk() const { return parts_->disk; }

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
  record.faults_not_struck = parts.injector.not_struck();
  for (std::string& fault : parts.storage.not_struck()) record.faults_not_struck.push_back(std::move(fault));
  for (const std::string& fault : parts.network_faults.not_struck()) record.faults_not_struck.push_back(fault);
  tell_supervisor_links(parts.supervisor.links(), world.now(), record);
  if (world.transport() != nullptr) record.transport = world.transport()->counters();
  record.stragglers.ranks = parts.compute_times.slow_ranks();
  record.stragglers.links = slow_links(world);
  const std::string& stopped = parts.running.back().stopped;
  if (record.outcome == Outcome::kDone && !stopped.empty()) {
    record.outcome = Outcome::kStopped;
    record.failure = stopped;
  }
  record.fenced = parts.supervisor.fenced();
  record.save_cost = parts.save_cost.mean();
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
  if (std::cmp_greater_equal(record.start_optimizer_state.size(), world.ranks())) {
    record.optimizer_checked = true;
    if (auto violation = check_optimizer_memory(parts.scenario.train, optimizer, parts.earlier_ranks)) {
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
