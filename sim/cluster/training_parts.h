#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/train/rank_main.h"
#include "sim/check/batch_ledger.h"
#include "sim/check/replica_agreement.h"
#include "sim/check/step_agreement.h"
#include "sim/cluster/interval_report.h"
#include "sim/cluster/rate_failures.h"
#include "sim/cluster/recorder.h"
#include "sim/cluster/run_storage.h"
#include "sim/cluster/running_job.h"
#include "sim/cluster/stragglers.h"
#include "sim/cluster/supervisor.h"
#include "sim/cluster/training_run.h"
#include "sim/cluster/world.h"
#include "sim/fault/injector.h"
#include "sim/fault/network_fault_injector.h"
#include "sim/trace/event_digest.h"
#include "sim/trace/event_log.h"
#include "sim/trace/state_recorder.h"

namespace rehearse {

// Everything of a run but its record. The world's coroutines see what stands before it until they are destroyed; what
// stands behind it, their end does not touch.
struct TrainingSession::Parts {
  Parts(const Scenario& run_scenario, const std::optional<ResumeFrom>& resume, const TrainingHooks& run_hooks,
        TrainingRecord& record);

  // How far each fault of the plan has come.
  std::vector<std::int64_t> fault_progress() const;
  void set_fault_progress(const std::vector<std::int64_t>& numbers);
  // Whether hosts that stand by are part of the run's state.
  bool counts_spares() const;
  bool has_message_faults() const;

  FaultInjector::Hooks injector_hooks(TrainingRecord& record);
  RunStorage::Hooks storage_hooks(TrainingRecord& record);
  NetworkFaultInjector::Hooks network_fault_hooks(TrainingRecord& record);

  void on_restart(const RecoveryRecord& recovery);
  // The job goes on with fewer ranks: what it saves from now on is what the scenario saves that is resharded to them,
  // and what it has saved so far it takes as theirs.
  void cut_anew(int ranks);
  // Of a collective that somebody waited for in vain: the ranks that never called it, and what they are at instead.
  std::string who_is_missing(const CommError& error) const;
  // It finds nobody where the rank is down.
  void on_rate_failure(const FailureCause& cause, const DrawnFailure& failure, TrainingRecord& record);
  void on_fault(const FaultRecord& fault, TrainingRecord& record);

  // A fault at a time of the simulation.
  class TimedFault : public EventSink {
   public:
    explicit TimedFault(Parts* parts) : parts_(parts) {}
    void on_event(std::uint64_t argument) override;

   private:
    Parts* parts_;
  };

  const Scenario& scenario;
  TrainingHooks hooks;
  ObserverFan fan;
  ReplicaAgreement agreement;
  StepAgreement step_agreement;
  BatchLedger ledger;
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

}  // namespace rehearse
