#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/train/observer.h"
#include "sim/cluster/world.h"
#include "sim/fault/recovery_config.h"

namespace rehearse {

// A failure of the job and the way back.
struct RecoveryRecord {
  std::string cause;                  // in words: "rank 2 crashed"
  std::uint32_t generation = 0;       // that the restart began
  TimePoint failed;                   // when it happened
  TimePoint detected;                 // when the supervisor heard of it
  TimePoint restarted;                // when the ranks were started again
  TimePoint resumed;                  // when the last of them had loaded; zero where it never came to that
  std::int64_t last_step = 0;         // the last that was finished before
  std::int64_t resumed_step = 0;      // training went on after this one
  bool from_checkpoint = false;       // false: afresh
  Bytes read;                         // by all ranks, of the checkpoint
  std::vector<std::string> rejected;  // checkpoints that were refused on the way
};

// Steps that were finished and done again.
inline std::int64_t lost_steps_of(const auto& recoveries) {
  std::int64_t lost = 0;
  for (const RecoveryRecord& one : recoveries) lost += one.resumed > one.failed ? one.last_step - one.resumed_step : 0;
  return lost;
}

// Restarts the job when a rank fails: what an elastic launcher does, from outside the ranks. The agent of a node hears
// at once that its process ended and tells the supervisor, one latency later; a host that is gone says nothing, and is
// missed when its heartbeats have not come for `heartbeat_timeout`. The supervisor then has every rank stopped (a
// latency later), waits `restart_delay`, and starts all of them in a new generation; what they continue from they agree
// on themselves. Its messages take a latency and no bandwidth.
//
// Ranks that failed for what the user gave them (an Error), or for want of memory, are not restarted.
class Supervisor : private EventSink {
 public:
  // `on_restart` is called when the ranks of a new generation are about to start.
  Supervisor(World& world, const RecoveryConfig& config, Duration latency, RankProgram program,
             std::function<void(std::uint32_t generation)> on_restart);

  // Starts the ranks in generation 0.
  void start();
  // A rank's process or its whole host is gone, now; not from a coroutine of that rank.
  void crash(int rank, CrashKind kind);
  // The same by an event at now, from wherever.
  void crash_soon(int rank, CrashKind kind);

  std::uint32_t generation() const { return generation_; }
  std::deque<RecoveryRecord>& recoveries() { return recoveries_; }
  // Why the job was given up; empty where it was not.
  const std::string& gave_up() const { return gave_up_; }

 private:
  enum class State { kRunning, kFailing, kStopping, kWaiting, kGivenUp };

  void on_rank_end(int rank, std::exception_ptr error);
  void fail(const std::string& cause, Duration until_heard);
  void on_event(std::uint64_t argument) override;
  void on_heard();
  void on_stop();
  void on_start();
  void hold();
  void release();

  World& world_;
  RecoveryConfig config_;
  Duration latency_;
  RankProgram program_;
  std::function<void(std::uint32_t)> on_restart_;
  State state_ = State::kRunning;
  bool hopeless_ = false;  // a rank failed of what a restart does not mend
  TimePoint heard_at_;     // when the supervisor will hear of the failure
  bool held_ = false;      // the simulation goes on although no rank may be left
  std::uint32_t generation_ = 0;
  RecoveryRecord open_;
  std::deque<RecoveryRecord> recoveries_;  // records stay where they are
  std::string gave_up_;
};

}  // namespace rehearse
