#pragma once

#include <cstdint>

#include "core/runtime/communicator.h"

namespace rehearse {

// Where in a step a rank is; the address of faults and the rows of timelines.
enum class Phase : std::uint8_t {
  kStart,
  kData,
  kForward,
  kBackward,
  kReduce,
  kOptimizer,
  kGather,
  kCheckpoint,
  kLoad,
  kEnd
};
const char* name_of(Phase phase);

// Sees what a rank does, from outside: it costs no message and no time, and the rank never learns of it.
class Tracer {
 public:
  virtual ~Tracer() = default;
  // The rank now works on `phase` of `step` (from 1; 0 before the first).
  virtual void phase(std::int64_t step, Phase phase) = 0;
  // A collective begins and ends on this rank. `size` is what the algorithm's formula is about: see each header in
  // core/comm.
  virtual void collective_begin(const Call& call, Bytes size) = 0;
  virtual void collective_end(const Call& call) = 0;
};

}  // namespace rehearse
