#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/checkpoint/config.h"

namespace rehearse {

// A failure of the job, or a guard's verdict on a step, and the way back.
struct RecoveryRecord {
  enum class Kind : std::uint8_t { kRestart, kRollback };
  Kind kind = Kind::kRestart;
  std::string cause;                        // in words: "rank 2 crashed"
  std::uint32_t generation = 0;             // that the restart began, or that the rollback was in
  TimePoint failed;                         // when it happened
  TimePoint detected;                       // when the supervisor heard of it
  TimePoint restarted;                      // when the ranks were started again
  TimePoint resumed;                        // when the last of them had loaded; zero where it never came to that
  std::int64_t last_step = 0;               // the last that was finished before
  std::int64_t resumed_step = 0;            // training went on after this one
  std::int64_t skipped_batches = 0;         // that are left out from then on
  bool from_checkpoint = false;             // false: afresh
  Bytes read;                               // by all ranks, of the checkpoint
  bool has_tiers = false;                   // the job has local disks, too
  TierReads reads;                          // what was read, by tier
  std::vector<std::string> refused_copies;  // on local disks
  std::vector<std::string> rejected;        // checkpoints that were refused on the way
  int ranks = 0;                            // of a restart: how many were started
  std::vector<int> on_spares;               // ranks that a spare host was taken for
  std::vector<int> gone;                    // ranks whose host never comes back, as they were numbered before
  int hosts_on_spares = 0;                  // hosts of these
  int hosts_gone = 0;
  std::vector<int> suspected;  // ranks that were taken for lost, and lived
  std::vector<int> late;       // ranks whose host did not come to the rendezvous in time
  int spares_left = 0;         // hosts that stand by after it
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

// A rank that goes on on its own, in a generation that is over: its host was taken for lost, and is not. What becomes
// of it, in words.
struct FencedRecord {
  TimePoint time;
  int rank = 0;
  std::uint32_t generation = 0;  // that it is of
  std::string what;
};

}  // namespace rehearse
