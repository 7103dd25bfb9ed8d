#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/train/recovery_policy.h"
#include "sim/cluster/recovery_record.h"
#include "sim/cluster/world.h"
#include "sim/fault/failure_domains.h"
#include "sim/fault/recovery_config.h"
#include "sim/fault/supervisor_links.h"

namespace rehearse {

// Restarts the job when a rank fails: what an elastic launcher does, from outside the ranks. The agent of a host hears
// at once that its process ended and tells the supervisor; a host that is gone says nothing, and is missed when its
// heartbeats have not come for `heartbeat_timeout`: so is one that lives, but whose link to the supervisor is bad
// (sim/fault/supervisor_links.h). A rank that hangs is noticed by those that wait for it; where none is left that
// could, its agent gives it as long (`collective_timeout`). The supervisor then has every rank stopped, and the agents
// meet: each says that its rank has stopped. When all have, and `restart_delay` is over, it starts all ranks in a new
// generation; what they continue from they agree on themselves. A host that has not come by `rendezvous_timeout` later
// counts as lost; its rank may live, and is fenced out of the job (World::abandon, Mounts::fence) until it ends or
// hears that it shall stop.
//
// A host that is lost takes all ranks on it along, a rack all its hosts: one failure, and one recovery. A lost host is
// replaced by a spare, at once, while there are any; then the mode of the configuration counts (placement.h), and the
// job may start again with fewer ranks, numbered anew.
//
// Ranks that failed for what the user gave them (an Error), or for want of memory, are not restarted.
class Supervisor : private EventSink {
 public:
  // `on_restart` is called when the ranks of a new generation are about to start. The policy outlives this.
  Supervisor(World& world, const RecoveryConfig& config, const RecoveryPolicy& policy, Duration latency,
             std::vector<SupervisorLinkFault> link_faults, RankProgram program,
             std::function<void(const RecoveryRecord&)> on_restart);

  // The run continues another one's, at this moment of its clock. Before start().
  void set_began(TimePoint began) { links_.set_began(began); }
  // As ControlLinks; part of what a run that continues takes over.
  const ControlLinks& links() const { return links_; }
  void set_links_gone(const std::vector<std::int64_t>& gone) { links_.set_gone(gone); }

  // Starts the ranks in generation 0.
  void start();
  // A rank's process or its whole host is gone, now; not from a coroutine of a rank that it takes along.
  void crash(int rank, CrashKind kind);
  // A rank's process is gone by an event at now, from wherever.
  void crash_soon(int rank);
  // The hosts of these ranks are, all in one event.
  void lose_soon(const DomainLoss& loss);
  // Every host loses its power, now; not from a coroutine.
  void lose_power();
  // The same by an event at now, from wherever.
  void lose_power_soon();
  // A rank's process stops without dying, by an event at now.
  void hang_soon(int rank);

  // Words for why a rank waited in vain: who never came to its collective. Without it there are none.
  void set_diagnosis(std::function<std::string(const CommError&)> diagnosis) { diagnosis_ = std::move(diagnosis); }

  // Where the ranks live; without it, each on a host of its own.
  void set_hosts(const HostLayout& hosts);
  // Whether a job of so many ranks can go on; without it any can.
  void set_fit(std::function<bool(int ranks)> fits) { fits_ = std::move(fits); }
  // Hosts that stand by; part of what a run that continues takes over.
  int spares() const { return spares_; }
  void set_spares(int spares) { spares_ = spares; }

  std::uint32_t generation() const { return generation_; }
  // What became of ranks that were fenced out, in order.
  const std::vector<FencedRecord>& fenced() const { return fenced_; }
  // A change to the storage by one of them was refused.
  void on_refused(int rank, std::uint32_t generation, const std::string& what);
  // Why the job was given up; empty where it was not.
  const std::string& gave_up() const { return gave_up_; }

 private:
  enum class State { kRunning, kFailing, kStopping, kWaiting, kGivenUp };

  void on_rank_end(int rank, std::exception_ptr error);
  // What the failure was; empty where a restart would not help.
  std::string cause_of(int rank, const std::exception_ptr& error) const;
  void fail(const std::string& cause, TimePoint heard);
  // When the supervisor hears what the rank's agent says now, or misses it.
  TimePoint time_heard(int rank) const;
  // When it misses the first of these hosts, which say nothing from now on.
  TimePoint time_missed(const RankRange& ranks) const;
  void lose(const DomainLoss& loss);
  void on_event(std::uint64_t argument) override;
  // Since when a rank of this generation hangs; the first.
  std::optional<TimePoint> time_hung() const;
  // Where all ranks that still run hang, and nobody waits whose watchdog could bark, an agent has to notice.
  void watch_progress();
  // No heartbeat of the rank has come for too long.
  void on_missed(int rank, std::uint32_t generation);
  void on_heard();
  void on_stop();
  // The order to stop comes late to a rank.
  void on_order(int rank, std::uint32_t generation);
  // Decides who goes on, and when: as soon as they all have come, or else at the end of the rendezvous.
  void meet();
  void on_late(std::uint32_t generation);
  void on_start();
  void watch_heartbeats();
  void abandon_the_replaced();
  // Ranks that were fenced out end with the job.
  void end_fenced_soon();
  void note(int rank, std::uint32_t generation, const std::string& what);
  void give_up(const std::string& why);
  void hold();
  void release();

  World& world_;
  RecoveryConfig config_;
  const RecoveryPolicy& policy_;
  Duration latency_;
  ControlLinks links_;
  RankProgram program_;
  std::function<void(const RecoveryRecord&)> on_restart_;
  State state_ = State::kRunning;
  bool hopeless_ = false;             // a rank failed of what a restart does not mend
  std::map<int, TimePoint> hanging_;  // ranks of this generation, since when
  TimePoint heard_at_;                // when the supervisor will hear of the failure
  bool held_ = false;                 // the simulation goes on although no rank may be left
  std::uint32_t generation_ = 0;
  RecoveryRecord open_;
  HostLayout hosts_;
  // That events name by their index, each with the generation that it is of.
  std::vector<std::pair<DomainLoss, std::uint32_t>> losses_;
  TimePoint started_;                            // the ranks of this generation
  std::set<int> lost_;                           // hosts of this generation that are gone, or taken to be
  std::set<int> lost_when_met_;                  // when the rendezvous was planned
  std::set<int> unreached_;                      // ranks to whom the order to stop comes late, or never
  std::vector<std::optional<TimePoint>> joins_;  // by rank: when the agent is at the rendezvous, or never
  std::vector<int> late_;                        // ranks whose agents will not be there in time
  std::vector<FencedRecord> fenced_;
  int spares_;
  std::function<bool(int)> fits_ = [](int) { return true; };
  std::int64_t restarts_ = 0;
  std::string gave_up_;
  std::function<std::string(const CommError&)> diagnosis_;
};

}  // namespace rehearse
