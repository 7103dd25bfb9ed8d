#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "sim/fault/network_faults.h"

namespace rehearse {

// The link between the agent of a rank's host and the supervisor is out of order for a while.
struct SupervisorLinkFault {
  int rank = kAnyRank;
  bool to_supervisor = true;
  bool from_supervisor = true;
  TimePoint from;                  // of the simulation
  std::optional<TimePoint> until;  // nothing: for good
  std::optional<Duration> delay;   // nothing: whatever is said is lost
};

// "the supervisor's link with rank 2".
std::string text_of(const SupervisorLinkFault& fault);

// Which way something is said.
enum class ControlWay : std::uint8_t { kToSupervisor, kFromSupervisor };

// What the agents of the hosts and the supervisor say to each other takes a latency and no bandwidth, on links of their
// own. An agent says that it lives as its rank is started and every `interval` from then on; the supervisor misses it
// when it has not heard so for `timeout`. Anything else that is said is said again with each of these until it comes
// through.
//
// All of it follows from when things are said and from the plan, so there are no events for what nobody acts upon: when
// something arrives, and when somebody is missed, is computed here.
class ControlLinks {
 public:
  // Requires an interval that is not longer than the timeout.
  ControlLinks(std::vector<SupervisorLinkFault> faults, Duration latency, Duration interval, Duration timeout);

  // A fault is of the link of the host that its rank is on.
  void set_ranks_per_host(int ranks) { ranks_per_host_ = ranks; }
  bool empty() const { return faults_.empty(); }
  // Another host has the rank from now on: faults of this rank's link were the old one's.
  void replace_host_of(int rank);
  // One number for each fault: 1 where it is gone with its host.
  std::vector<std::int64_t> gone() const;
  void set_gone(const std::vector<std::int64_t>& gone);
  // Those that may strike in this run, on its clock: not what was over or gone before it began.
  std::vector<SupervisorLinkFault> faults_of_run() const;
  // The run continues another one's, at this moment of its clock.
  void set_began(TimePoint began) { began_ = began; }

  // When it arrives what is said now, or first said now; nothing: never.
  std::optional<TimePoint> arrival(int rank, ControlWay way, TimePoint said) const;

  // When the supervisor misses a rank that was started at `started` and whose agent says nothing after `silent`;
  // nothing: never. An interval of zero stands for an agent that says so all the time.
  std::optional<TimePoint> missed(int rank, TimePoint started, std::optional<TimePoint> silent) const;

 private:
  // From a moment on: what becomes of what is said.
  struct Stretch {
    TimePoint from;
    bool lost = false;
    Duration delay;
  };
  bool is_of(std::size_t fault, int rank) const;
  // On the clock of this run; what was before it is at its start.
  TimePoint shifted(TimePoint time) const;
  // In order of time, the first at or before `start`; without end the last.
  std::vector<Stretch> stretches(int rank, ControlWay way, TimePoint start) const;

  std::vector<SupervisorLinkFault> faults_;
  std::vector<bool> gone_;         // by fault
  std::vector<bool> gone_before_;  // the run began
  Duration latency_;
  Duration interval_;
  Duration timeout_;
  int ranks_per_host_ = 1;
  TimePoint began_;
};

}  // namespace rehearse
