#include "sim/cluster/training_parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/checkpoint/names.h"
#include "core/checkpoint/trust.h"
#include "core/train/batch_share.h"
#include "core/train/job_parts.h"
#include "sim/check/accumulation_difference.h"
#include "sim/cluster/make_job.h"
#include "sim/config/reshard.h"

namespace rehearse {
namespace {

std::unique_ptr<TrainObserver> make_accumulation_difference(const TrainConfig& config, int ranks) {
  const std::int64_t sequences = share_of_batch(config, ranks).sequences;
  if (config.dtype == DType::kFloat64) {
    return std::make_unique<AccumulationDifference<double>>(config.model, sequences);
  }
  return std::make_unique<AccumulationDifference<float>>(config.model, sequences);
}

WorldConfig world_config(const Scenario& scenario, LinkConditions& links) {
  WorldConfig config;
  config.ranks = scenario.ranks;
  config.most_ranks = scenario.known_ranks();
  config.seed = scenario.seed;
  config.network = scenario.network;
  config.transport = scenario.transport;
  if (!scenario.faults.network.empty()) config.links = &links;
  if (scenario.cost_only) config.storing = Storing::kShapeOnly;
  config.device = scenario.device;
  return config;
}

}  // namespace

TrainingSession::Parts::Parts(const Scenario& run_scenario, const std::optional<ResumeFrom>& resume,
                              const TrainingHooks& run_hooks, TrainingRecord& record)
    : scenario(run_scenario),
      hooks(run_hooks),
      agreement(scenario.ranks),
      step_agreement(scenario.ranks),
      states(scenario.ranks, agreement.latest()),
      accumulation(scenario.expect.max_accumulation_difference.has_value() && !scenario.cost_only
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
  // Without numbers there is nothing to compare.
  if (!scenario.cost_only) {
    fan.add(&agreement);
    fan.add(&states);
  }
  fan.add(&step_agreement);
  fan.add(&ledger);
  if (accumulation != nullptr) fan.add(accumulation.get());
  fan.add(&recorder);
  fan.add(&compute_times);
  compute_times.watch(&world);
  // What a save beside training takes, training does not wait for.
  if (!scenario.train.checkpoint.asynchronous) fan.add(&save_cost);
  if (hooks.observer != nullptr && !scenario.cost_only) fan.add(hooks.observer);
  states.watch(&world.kernel());
  recorder.watch(&world);
  if (hooks.log_events) {
    event_log.add(&digest);
    for (EventListener* listener : hooks.listeners) event_log.add(listener);
    world.kernel().set_listener(&event_log);
  }
  world.kernel().set_activities(hooks.activities);
  if (hooks.activities != nullptr) hooks.activities->on_network(world.network());
  for (int rank = 0; rank < scenario.known_ranks(); ++rank) {
    tracers.push_back(std::make_unique<RankTracer>(world.kernel(), event_log, rank));
    world.set_tracer(rank, tracers.back().get());
  }
  if (resume.has_value()) {
    std::map<std::string, FileData> files;
    const StoragePath directory = job.checkpoints.parent.child(step_directory_name(resume->step));
    for (const auto& [name, data] : resume->files) files.emplace(directory.path + "/" + name, data);
    // Whoever resumes from a checkpoint trusts it, before the ranks have come to say so, too: they may fail while they
    // load it.
    if (!policy.trusts_at_once()) {
      TrustedSteps trusted;
      trusted.remote.push_back(resume->step);
      files.emplace(trusted_file(job.checkpoints.parent).path, FileData::copy_of(text_of(trusted)));
    }
    disk.import_files(files);
  }
  storage.attach(world);
  if (!scenario.faults.network.empty()) network_faults.start(world.kernel(), resume.has_value());
  recorder.set_rollback_listener([this] {
    event_log.set_attempt(recorder.attempt());
    save_cost.restart();
  });
  recorder.set_eviction_listener([this](int rank) {
    // With all that is in the host.
    const RankRange ranks = scenario.hosts.ranks_of_host(scenario.hosts.host_of(rank), world.ranks());
    for (int other = ranks.first; other < ranks.end(); ++other) {
      injector.replace_machine(other);
      storage.replace_machine(other);
    }
  });
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

std::vector<std::int64_t> TrainingSession::Parts::fault_progress() const {
  std::vector<std::int64_t> numbers = injector.progress();
  if (!scenario.faults.network.empty()) {
    for (const std::int64_t number : network_faults.progress().numbers()) numbers.push_back(number);
  }
  for (const std::int64_t number : storage.state()) numbers.push_back(number);
  if (counts_spares()) numbers.push_back(supervisor.spares());
  for (const std::int64_t number : supervisor.links().gone()) numbers.push_back(number);
  return numbers;
}

bool TrainingSession::Parts::counts_spares() const {
  return scenario.recovery.spares > 0 || scenario.recovery.mode == RecoveryMode::kElastic;
}

void TrainingSession::Parts::set_fault_progress(const std::vector<std::int64_t>& numbers) {
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

bool TrainingSession::Parts::has_message_faults() const {
  const auto& faults = scenario.faults.faults;
  return std::any_of(faults.begin(), faults.end(), [](const Fault& fault) { return fault.when.message > 0; });
}

FaultInjector::Hooks TrainingSession::Parts::injector_hooks(TrainingRecord& record) {
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

RunStorage::Hooks TrainingSession::Parts::storage_hooks(TrainingRecord& record) {
  RunStorage::Hooks hooks_of_storage;
  hooks_of_storage.on_fault = [this, &record](const FaultRecord& fault) { on_fault(fault, record); };
  hooks_of_storage.power_loss = [this] { supervisor.lose_power_soon(); };
  return hooks_of_storage;
}

NetworkFaultInjector::Hooks TrainingSession::Parts::network_fault_hooks(TrainingRecord& record) {
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

void TrainingSession::Parts::on_restart(const RecoveryRecord& recovery) {
  agreement.restart();
  step_agreement.restart();
  storage.restart(recovery);
  if (!recovery.gone.empty()) cut_anew(recovery.ranks);
  recorder.restart(recovery);
  save_cost.restart();
  event_log.set_attempt(recorder.attempt());
  job.avoided = recorder.avoided();
  running.back().gate.close();
  running.emplace_back(job, fan);
  storage.mounts().fence(recovery.generation);
  for (const auto& tracer : tracers) tracer->restart();
  if (hooks.activities != nullptr) hooks.activities->on_restart(job_ranks, world.now());
}

void TrainingSession::Parts::cut_anew(int ranks) {
  earlier_ranks.push_back(job_ranks);
  job_ranks = ranks;
  job.checkpoints.reshard_from.push_back(job.checkpoints.arithmetic_sha256);
  std::vector<std::string> changes = {"cluster.ranks=" + std::to_string(ranks)};
  // One rank has no other to ask.
  if (ranks == 1 && scenario.train.guards.recompute_every > 0) changes.emplace_back("train.guards.recompute_every=0");
  describe_scenario(reshard_scenario(scenario, changes), job.checkpoints);
  make_shared_parts(job, ranks);
  agreement.set_ranks(ranks);
  step_agreement.set_ranks(ranks);
  states.set_ranks(ranks);
  save_cost.set_ranks(ranks);
  compute_times.forget();
}

std::string TrainingSession::Parts::who_is_missing(const CommError& error) const {
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

void TrainingSession::Parts::TimedFault::on_event(std::uint64_t argument) {
  Kernel& kernel = parts_->world.kernel();
  if (kernel.is_heard()) {
    EventRecord event(EventKind::kFaultDue);
    event.rank = parts_->scenario.faults.faults[argument].when.at.rank;
    kernel.record(event);
  }
  parts_->injector.strike_in_time(argument);
}

void TrainingSession::Parts::on_rate_failure(const FailureCause& cause, const DrawnFailure& failure,
                                             TrainingRecord& record) {
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

void TrainingSession::Parts::on_fault(const FaultRecord& fault, TrainingRecord& record) {
  record.faults.push_back(fault);
  record.faults.back().time = world.now();
  if (!world.kernel().is_heard()) return;
  EventRecord event(EventKind::kFault);
  event.rank = fault.at.rank;
  world.kernel().record(event);
}

}  // namespace rehearse
