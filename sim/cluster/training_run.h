#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/units.h"
#include "core/runtime/communicator.h"
#include "core/train/observer.h"
#include "sim/cluster/stragglers.h"
#include "sim/cluster/supervisor.h"
#include "sim/config/scenario.h"
#include "sim/fault/injector.h"
#include "sim/kernel/kernel.h"
#include "sim/net/network.h"
#include "sim/net/topology.h"
#include "sim/net/transport.h"
#include "sim/storage/file_data.h"
#include "sim/storage/file_system.h"
#include "sim/trace/state_recorder.h"

namespace rehearse {

// Bytes a rank held, the most of each kind.
struct RankMemory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations_peak;
  Bytes communication_buffers;
  // At the end of its last step, without what is whole for a while (zero_stage 2 and 3).
  Bytes parameters_kept;
  Bytes gradients_kept;
};

// The newest attempt at a step.
struct StepRecord {
  std::int64_t attempt = 1;
  std::uint32_t generation = 0;
  std::int64_t recoveries = 0;  // of the job so far
  StepReport report;            // of the last rank to finish it; `began` is the first rank's
  double param_norm = 0;
  Digest128 parameters;   // of all ranks' parameters after the step
  StateDigests states;    // of what the ranks hold besides; zero where events were not logged
  Duration step_seconds;  // from the first rank's begin to the last rank's end
  Duration computed;      // in it, by the rank that computed longest
  RankMemory memory;      // the most that any rank has held so far, kind by kind
};

struct EvalRecord {
  std::int64_t step = 0;
  double loss = 0;
};

// One operation over the whole run and all ranks.
struct CommunicationRow {
  Operation operation = Operation::kPointToPoint;
  std::int64_t calls = 0;     // of one rank
  std::int64_t messages = 0;  // sent, all ranks
  Bytes bytes;
  Duration time;  // of the rank that spent most in it
};

// A checkpoint that was committed: its files by their names in its directory.
struct CheckpointRecord {
  std::int64_t step = 0;
  std::string directory;  // "step_000010"
  std::map<std::string, FileData> files;
};

// A guard's verdict on a step.
struct GuardRecord {
  TimePoint time;
  GuardReport report;
};

// What came of running a scenario a second time beside the first.
struct SecondRun {
  std::uint64_t compared = 0;  // records that were equal
  std::string difference;      // empty: all were
};

// A save that failed, or whose rotation did.
struct CheckpointFailure {
  std::int64_t step = 0;
  std::string problem;
};
inline std::string text_of(const CheckpointFailure& failure) {
  return "step " + std::to_string(failure.step) + ": " + failure.problem;
}

// What a run gave. Arrays have one entry a finished step, from `first_step` on.
struct TrainingRecord {
  Outcome outcome = Outcome::kDone;
  std::string failure;              // in words, where the outcome is not kDone
  std::vector<WaitingRow> waiting;  // the deadlock table
  std::int64_t first_step = 1;      // resume_from + 1 for a continued run
  std::vector<StepRecord> steps;
  std::vector<EvalRecord> evals;
  std::string weights_sha256;                   // of the final parameters as float32, flat order; empty unless kDone
  std::vector<RankMemory> memory;               // by rank
  std::vector<CommunicationRow> communication;  // operations that were used
  Digest128 start_parameters;                   // before first_step
  // By rank, of its chunks of master weights and moments: before first_step, and as saved in resume_checkpoint.
  std::map<int, Digest128> start_optimizer_state;
  std::map<int, Digest128> resume_optimizer_state;
  std::vector<CheckpointRecord> checkpoints;           // committed and still there, oldest first
  std::optional<CheckpointRecord> resume_checkpoint;   // of expect.resume_from, even where rotation took it
  std::vector<CheckpointFailure> checkpoint_failures;  // of the newest attempts at their steps
  std::int64_t failed_saves = 0;                       // of all attempts
  std::int64_t local_saves = 0;                        // that all local disks took, of all attempts
  bool optimizer_checked = false;                      // the optimizer's bytes against the formula
  bool state_checked = false;                          // those of parameters and gradients
  std::vector<std::string> violations;                 // invariants that broke
  std::optional<double> accumulation_difference;       // where the scenario asks for it
  std::vector<FaultRecord> faults;                     // that struck, in order
  std::vector<std::string> faults_not_struck;          // whose time or address did not come, in words
  std::vector<GuardRecord> guards;                     // that did not let a step be applied, in order
  std::vector<RecoveryRecord> recoveries;              // restarts and rollbacks, in order
  std::vector<FencedRecord> fenced;                    // what became of ranks that were fenced out, in order
  std::optional<Duration> save_cost;                   // of a save, on average; nothing where none was measured
  std::optional<SecondRun> second_run;
  std::optional<TransportCounters> transport;  // where there is one
  Stragglers stragglers;
  std::uint64_t events = 0;
  std::uint64_t log_records = 0;
  std::string event_digest;  // empty where events were not logged
  std::int64_t messages = 0;
  Bytes bytes_on_wire;
  TimePoint simulated;
};

// Of the time of all steps, the part in which even the rank that computes longest does not: what communication, and
// waiting for others, adds to a step.
double exposed_of(const TrainingRecord& record);

// The time in which the steps that stand were trained, over the whole simulated time: 1 is a job that did nothing else.
double goodput_of(const TrainingRecord& record);

// Hooks for whoever waits; none of them can change the run.
struct TrainingHooks {
  // After a step's last rank.
  std::function<void(const StepRecord&, std::int64_t total_steps)> on_step;
  // When every rank has come back after a failure.
  std::function<void(const RecoveryRecord&)> on_recovery;
  // When a checkpoint is durable on the simulated disk.
  std::function<void(const CheckpointRecord&)> on_checkpoint;
  // Asked between events; true ends the run as kInterrupted.
  std::function<bool()> interrupted;
  // Hears what the ranks' observers hear, after all others.
  TrainObserver* observer = nullptr;
  // Decides instead of the scenario's own rules; outlives the run.
  const RecoveryPolicy* policy = nullptr;
  // Whether events are recorded and digested: a few percent of the time.
  bool log_events = true;
  // Hear every record, where events are logged.
  std::vector<EventListener*> listeners;
  // Hears what ranks do beside the events; null for nobody.
  ActivityListener* activities = nullptr;
};

// The files of a checkpoint that a run continues from.
struct ResumeFrom {
  std::int64_t step = 0;
  std::map<std::string, FileData> files;
  // The arithmetic hash of the scenario it was taken from, where this run is the same job cut in another way; else
  // empty, and only a checkpoint that is cut as this run is loaded.
  std::string reshard_from = {};
};

// A run that its caller drives, a few events at a time: two can take turns in one process.
class TrainingSession {
 public:
  // As run_training. The scenario outlives the session.
  TrainingSession(const Scenario& scenario, const std::optional<ResumeFrom>& resume, const TrainingHooks& hooks);
  ~TrainingSession();
  TrainingSession(const TrainingSession&) = delete;
  TrainingSession& operator=(const TrainingSession&) = delete;

  // Handles at most so many events more; false when the run has ended.
  bool advance(std::uint64_t max_events);
  std::uint64_t events() const;
  // A rank dies now, beside what the scenario's faults do.
  void crash(int rank, CrashKind kind = CrashKind::kProcess);
  // The power of all hosts and of the disk goes now, beside what the scenario's faults do.
  void lose_power(const PowerLoss& loss);
  // What the checkpoints are on: the storage that all hosts share.
  const FileSystem& disk() const;
  // The local disk of the rank's host; requires tiers.
  const FileSystem& local_disk(int rank) const;
  // What every unfinished rank waits for.
  std::vector<WaitingRow> waiting() const;
  // What each link has carried so far, and the links (world.h).
  std::vector<LinkLoad> link_loads() const;
  std::shared_ptr<const Topology> network_links() const;
  // Messages and bytes of one operation so far, of all ranks.
  TrafficCounters traffic(Operation operation) const;
  // Once, after the last advance(): a run that has not ended is kInterrupted.
  TrainingRecord finish();

 private:
  struct Parts;
  static void check_kept_memory(const Parts& parts, TrainingRecord& record);
  std::unique_ptr<TrainingRecord> record_;
  std::unique_ptr<Parts> parts_;
  RunEnd end_ = RunEnd::kBudget;
};

// Runs a scenario's training job in a world of its own, from the start or from a checkpoint. Throws InputError where
// the checkpoint is not this job's or is damaged, or where virtual time runs out.
TrainingRecord run_training(const Scenario& scenario, const std::optional<ResumeFrom>& resume = std::nullopt,
                            const TrainingHooks& hooks = {});

}  // namespace rehearse
