#pragma once

#include <cstdint>

#include "core/base/units.h"

namespace rehearse {

// What becomes of a job that has lost a host which no spare replaces.
enum class RecoveryMode : std::uint8_t {
  kRestart,  // the host comes back, and all ranks start again
  kElastic,  // it does not: the job goes on with the ranks that are left
};

// How a job comes back from the failure of a rank.
struct RecoveryConfig {
  int max_restarts = 8;
  Duration restart_delay = Duration::microseconds(10'000'000);       // from the stop of the ranks to their start
  Duration heartbeat_timeout = Duration::microseconds(30'000'000);   // after which a silent host counts as lost
  Duration heartbeat_interval = Duration::microseconds(10'000'000);  // between two of a host
  Duration rendezvous_timeout = Duration::seconds(600);  // after which a host that does not come counts as lost
  Duration collective_timeout = Duration::seconds(600);  // of a message of a collective; zero: waits for ever
  RecoveryMode mode = RecoveryMode::kRestart;
  int min_ranks = 1;  // with kElastic: with fewer the job is given up
  int spares = 0;     // hosts that stand by
};

}  // namespace rehearse
