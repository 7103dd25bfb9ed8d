#pragma once

#include <cstdint>
#include <vector>

#include "sim/kernel/event_record.h"
#include "sim/kernel/kernel.h"

namespace rehearse {

// Listens to a kernel, adds to each record what its rank was doing, and passes it on. The step and the phase of ranks
// come from their tracers by enter().
class EventLog : public EventListener {
 public:
  EventLog(Kernel& kernel, int ranks) : kernel_(kernel), doing_(static_cast<std::size_t>(ranks)) {}

  // Consumers hear every record in the order they were added; they outlive the runs.
  void add(EventListener* consumer) { consumers_.push_back(consumer); }
  void on_record(const EventRecord& record) override;
  // The job goes back: what is seen of ranks is of this attempt from now on. Attempts count restarts and rollbacks.
  void set_attempt(std::uint32_t attempt) { attempt_ = attempt; }
  // Rank `rank` goes on to a phase of a step.
  void enter(int rank, std::int64_t step, Phase phase);

  struct Doing {
    std::int64_t step = 0;
    Phase phase = Phase::kStart;
  };
  const Doing& doing(int rank) const { return doing_[static_cast<std::size_t>(rank)]; }

 private:
  Kernel& kernel_;
  std::uint32_t attempt_ = 0;
  std::vector<Doing> doing_;
  std::vector<EventListener*> consumers_;
};

}  // namespace rehearse
