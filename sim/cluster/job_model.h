#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/train/recovery_policy.h"
#include "sim/cluster/supervisor.h"
#include "sim/config/scenario.h"
#include "sim/fault/failure_rates.h"

namespace rehearse {

// A failure that found somebody up.
struct RankFailure {
  TimePoint time;
  RankRange ranks;  // several where they were lost with their host or rack
  FailureKind kind = FailureKind::kProcess;
  std::string cause;  // of the rate that drew it; empty for one that the scenario names
};

// What became of a job.
struct JobRecord {
  Outcome outcome = Outcome::kDone;
  std::string failure;                // in words, where the outcome is not kDone
  std::int64_t steps = 0;             // that stand at the end
  std::int64_t trained = 0;           // finished in all attempts together
  std::int64_t saves = 0;             // checkpoints that came to count
  std::int64_t lost_steps = 0;        // finished and then done again
  std::vector<RankFailure> failures;  // in order
  std::vector<RecoveryRecord> recoveries;
  // Where the time went: training of steps that stand, saves, and from failures until training went on. What remains
  // is the start, and training that was lost.
  Duration useful;
  Duration saving;
  Duration down;
  TimePoint simulated;
  std::uint64_t events = 0;
  std::string event_digest;  // SHA-256 over the job's events, in order
};

// Training that stands over all time, as in the full simulation.
double goodput_of(const JobRecord& record);

// Of the restarts that came to training again, from the failure on: nothing where there is none.
std::optional<double> mean_restart_seconds(const std::vector<RecoveryRecord>& recoveries);

// Runs a scenario's job { }: failures, detection, restarts, loads and saves are events, steps are counted between them.
// No ranks, no messages, no arithmetic; the fault plan and the rules of recovery are those of the full simulation
// (supervisor.h). `policy` decides instead of the scenario's rules; there are no guards, so all checkpoints are trusted
// and no step is judged. Throws Error where virtual time runs out.
//
// Exact beside the full simulation as long as that one's steps, saves and loads all take the given times, and no
// failure falls between the first rank's and the last rank's end of a step, a save or a load, which here is one moment.
// Not exact are the watchdog that finds a rank which hangs, and starts here when the rank stops, there when its peers
// wait for it; and a save over an earlier checkpoint of its step, which was left alone and takes its own time.
//
// `interrupted` is asked now and then; true ends the run as kInterrupted.
JobRecord run_job(const Scenario& scenario, const RecoveryPolicy* policy = nullptr,
                  const std::function<bool()>& interrupted = nullptr);

}  // namespace rehearse
