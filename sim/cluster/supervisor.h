#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/train/recovery_policy.h"
#include "sim/cluster/world.h"
#include "sim/fault/recovery_config.h"

namespace rehearse {

// A failure of the job, or a guard's verdict on a step, and the way back.
struct RecoveryRecord {
  enum class Kind : std::uint8_t { kRestart, kRollback };
  Kind kind = Kind::kRestart;
  std::string cause;                  // in words: "rank 2 crashed"
  std::uint32_t generation = 0;       // that the restart began, or that the rollback was in
  TimePoint failed;                   // when it happened
  TimePoint detected;                 // when the supervisor heard of it
  TimePoint restarted;                // when the ranks were started again
  TimePoint resumed;                  // when the last of them had loaded; zero where it never came to that
  std::int64_t last_step = 0;         // the last that was finished before
  std::int64_t resumed_step = 0;      // training went on after this one
  std::int64_t skipped_batches = 0;   // that are left out from then on
  bool from_checkpoint = false;       // false: afresh
  Bytes read;                         // by all ranks, of the checkpoint
  std::vector<std::string> rejected;  // checkpoints that were refused on the way
};

inline std::int64_t restarts_of(const std::vector<RecoveryRecord>& recoveries) {
  std::int64_t restarts = 0;
  for (const RecoveryRecord& one : recoveries) restarts += one.kind == RecoveryRecord::Kind::kRestart ? 1 : 0;
  return restarts;
}

// Steps that were finished and, after a restart, done again.
inline std::int64_t lost_steps_of(const std::vector<RecoveryRecord>& recoveries) {
  std::int64_t lost = 0;
  for (const RecoveryRecord& one : recoveries) {
    const bool resumed = one.kind == RecoveryRecord::Kind::kRestart && one.resumed > one.failed;
    if (resumed) lost += one.last_step - one.resumed_step;
  }
  return lost;
}

// A checkpoint that leads to the same failure twice is to blame: the one that the job had gone back to in the recovery
// before this one.
std::optional<std::int64_t> blamed_checkpoint(const RecoveryRecord& before, const RecoveryRecord& now);

// Restarts the job when a rank fails: what an elastic launcher does, from outside the ranks. The agent of a node hears
// at once that its process ended and tells the supervisor, one latency later; a host that is gone says nothing, and is
// missed when its heartbeats have not come for `heartbeat_timeout`. The supervisor then has every rank stopped (a
// latency later), waits `restart_delay`, and starts all of them in a new generation; what they continue from they agree
// on themselves. Its messages take a latency and no bandwidth.
//
// Ranks that failed for what the user gave them (an Error), or for want of memory, are not restarted.
class Supervisor : private EventSink {
 public:
  // `on_restart` is called when the ranks of a new generation are about to start. The policy outlives this.
  Supervisor(World& world, const RecoveryConfig& config, const RecoveryPolicy& policy, Duration latency,
             RankProgram program, std::function<void(const RecoveryRecord&)> on_restart);

  // Starts the ranks in generation 0.
  void start();
  // A rank's process or its whole host is gone, now; not from a coroutine of that rank.
  void crash(int rank, CrashKind kind);
  // The same by an event at now, from wherever.
  void crash_soon(int rank, CrashKind kind);
  // Every host loses its power, now; not from a coroutine.
  void lose_power();
  // The same by an event at now, from wherever.
  void lose_power_soon();
  // A rank's process stops without dying, by an event at now.
  void hang_soon(int rank);

  // Words for why a rank waited in vain: who never came to its collective. Without it there are none.
  void set_diagnosis(std::function<std::string(const CommError&)> diagnosis) { diagnosis_ = std::move(diagnosis); }

  std::uint32_t generation() const { return generation_; }
  // Why the job was given up; empty where it was not.
  const std::string& gave_up() const { return gave_up_; }

 private:
  enum class State { kRunning, kFailing, kStopping, kWaiting, kGivenUp };

  void on_rank_end(int rank, std::exception_ptr error);
  // What the failure was; empty where a restart would not help.
  std::string cause_of(int rank, const std::exception_ptr& error) const;
  void fail(const std::string& cause, Duration until_heard);
  void on_event(std::uint64_t argument) override;
  void on_heard();
  void on_stop();
  void on_start();
  void hold();
  void release();

  World& world_;
  RecoveryConfig config_;
  const RecoveryPolicy& policy_;
  Duration latency_;
  RankProgram program_;
  std::function<void(const RecoveryRecord&)> on_restart_;
  State state_ = State::kRunning;
  bool hopeless_ = false;          // a rank failed of what a restart does not mend
  std::optional<TimePoint> hung_;  // since when a rank of this generation hangs
  TimePoint heard_at_;             // when the supervisor will hear of the failure
  bool held_ = false;              // the simulation goes on although no rank may be left
  std::uint32_t generation_ = 0;
  RecoveryRecord open_;
  std::int64_t restarts_ = 0;
  std::string gave_up_;
  std::function<std::string(const CommError&)> diagnosis_;
};

}  // namespace rehearse
