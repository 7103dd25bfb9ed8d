#pragma once

#include <cstdint>
#include <vector>

#include "sim/kernel/event_record.h"
#include "tools/rehearse/recording.h"

namespace rehearse {

// What of a run is to be looked at: the state that a record of its log has the digest of, or, with kNone, nothing but
// the rank's own gradient.
struct CaptureRequest {
  std::int64_t step = 0;
  int rank = 0;
  StateComponent component = StateComponent::kNone;
  int tensor = -1;
  std::int64_t offset = 0;
  // Of the state: a step may be trained more than once, and the attempt that has it is the one that is meant.
  Digest128 digest;
};

struct Captured {
  std::vector<std::byte>
      state;  // the elements, of the last attempt where none has the digest; empty where there is none
  // By tensor, of the rank in that step, before it was reduced; empty where the run did not get there.
  std::vector<std::vector<std::byte>> own_gradients;
};

// Runs the recording again until the state is there.
Captured capture_state(const Recording& recording, const CaptureRequest& request);

}  // namespace rehearse
