#pragma once

#include <cstdint>

#include "core/base/units.h"

namespace rehearse {

// How a job comes back from the failure of a rank.
struct RecoveryConfig {
  int max_restarts = 8;
  Duration restart_delay = Duration::microseconds(10'000'000);      // from the stop of the ranks to their start
  Duration heartbeat_timeout = Duration::microseconds(30'000'000);  // after which a silent host counts as lost
  Duration collective_timeout = Duration::seconds(600);  // of a message of a collective; zero: waits for ever
};

}  // namespace rehearse
