#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/runtime/communicator.h"
#include "core/runtime/tracer.h"
#include "sim/kernel/event_record.h"

namespace rehearse {

class Network;
struct PendingOp;

// Hears what ranks do, for timelines and traces: what records (event_record.h) leave out, because it follows from the
// rest. It sees and cannot change anything. Where nobody listens it costs a look at a pointer.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  // Before the first event: whose links (sim/net/network.h) are what is heard of. Outlives the run's events.
  virtual void on_network(const Network& /*network*/) {}
  // An operation ends now, that began at `op.since`; what a crash cuts off never ends.
  virtual void on_operation(const PendingOp& /*op*/, TimePoint /*now*/, bool /*failed*/) {}
  // A message is put on its way now; `message` is its record without a kind. Its last byte leaves at `left`, which is
  // kLeavesLater (sim/net/fabric.h) where that is not known yet.
  virtual void on_sent(const EventRecord& /*message*/, TimePoint /*now*/, TimePoint /*left*/) {}
  // Whether the two above are to be told, which makes every message dearer.
  virtual bool hears_operations() const { return true; }
  // From now on the rank works on `phase` of `step`.
  virtual void on_phase(int /*rank*/, std::int64_t /*step*/, Phase /*phase*/, TimePoint /*now*/) {}
  // The rank's device will work, or is to; told beforehand, when the work is begun or queued. Not of what takes no
  // time.
  virtual void on_compute(int /*rank*/, TimePoint /*begin*/, TimePoint /*end*/) {}
  // All ranks start again, on so many: what was open never ends.
  virtual void on_restart(int /*ranks*/, TimePoint /*now*/) {}
  // A collective begins and ends on a rank.
  virtual void on_collective_begin(int /*rank*/, const Call& /*call*/, Bytes /*size*/, TimePoint /*now*/) {}
  virtual void on_collective_end(int /*rank*/, const Call& /*call*/, TimePoint /*now*/) {}
};

}  // namespace rehearse
