#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/runtime/communicator.h"
#include "core/runtime/tracer.h"

namespace rehearse {

// Hears from outside what the ranks of a run do and when: what timelines and costs are made of. It can change nothing.
// Calls come in the order of virtual time, but for on_compute, which says beforehand when a device will work.
class RunListener {
 public:
  virtual ~RunListener() = default;
  // From now on the rank works on `phase` of `step`.
  virtual void on_phase(int /*rank*/, TimePoint /*now*/, std::int64_t /*step*/, Phase /*phase*/) {}
  // `size` as in Tracer::collective_begin.
  virtual void on_collective_begin(int /*rank*/, TimePoint /*now*/, const Call& /*call*/, Bytes /*size*/) {}
  virtual void on_collective_end(int /*rank*/, TimePoint /*now*/, const Call& /*call*/) {}
  virtual void on_compute(int /*rank*/, TimePoint /*begin*/, TimePoint /*end*/) {}
  // All ranks start again, on so many: whatever was open never ends.
  virtual void on_restart(TimePoint /*now*/, int /*ranks*/) {}
};

}  // namespace rehearse
