#pragma once

#include <cstdint>
#include <string>

#include "core/base/random.h"
#include "sim/fault/config.h"

namespace rehearse {

// Where a rank is, as a place that a fault may have.
struct FaultPlace {
  FaultAddress at;
  std::int64_t message = 0;  // how many messages it has sent in this phase; 0 as the phase begins
};

// How far a fault has come; survives restarts, and `resume` with the checkpoint's run state.
struct FaultProgress {
  std::int64_t count = 0;      // how often it has struck
  std::int64_t last_step = 0;  // the last place that it struck
  std::int64_t last_message = 0;
  bool operator==(const FaultProgress&) const = default;
};

// Whether a fault without a time strikes here. The draw of a fault with a probability is a function of the stream and
// of the place alone: the order in which ranks come to their places changes nothing.
bool strikes(const FaultWhen& when, const FaultPlace& place, const FaultProgress& progress, const RandomStream& stream);

// Notes that it has struck there.
void note_strike(const FaultPlace& place, FaultProgress& progress);

// "rank 2, step 13, BACKWARD, message 3".
std::string text_of(const FaultWhen& when);
// "bit flip".
const char* name_of(const Fault& fault);

}  // namespace rehearse
