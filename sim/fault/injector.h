#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/train/disturbance.h"
#include "sim/fault/config.h"
#include "sim/fault/fault_when.h"

namespace rehearse {

// A fault that struck.
struct FaultRecord {
  TimePoint time;
  FaultAddress at;
  std::string what;  // in words
  // Where a rank, or all ranks of a host or a rack, died or hung by it: which.
  std::optional<RankRange> failed;
};

// Carries a fault plan out, from outside the ranks.
class FaultInjector : public Disturbance {
 public:
  struct Hooks {
    // Hears of each fault when it has struck, without its time.
    std::function<void(const FaultRecord&)> on_fault;
    // Has the rank's process die, not before this call is over; nothing more that it does counts.
    std::function<void(int rank)> crash;
    // The same of whole hosts, of which `unsynced` stays.
    std::function<void(const DomainLoss& loss, const PowerLoss& unsynced)> lose;
    // Has the rank stop in the same way, without dying.
    std::function<void(int rank)> hang;
    // The rank's device takes so many times as long from now on.
    std::function<void(int rank, std::int64_t numerator, std::int64_t denominator)> slow_down;
    // False for a rank that is down, or about to be: no fault strikes it.
    std::function<bool(int rank)> is_up;
    // How many ranks the job has now; where this is not set, as many as it ever may.
    std::function<int()> ranks;
  };
  // `ranks`: the most there ever are; `stream`: of the plan's draws. The plan outlives the injector.
  FaultInjector(const FaultPlan& plan, int ranks, const RandomStream& stream, Hooks hooks, HostLayout hosts = {});

  void strike(const TrainMoment& moment, const StateMemory& memory) override;
  double loss_factor(const TrainMoment& moment) override;
  double lr_factor(const TrainMoment& moment) override;
  ProgramError program_error(const TrainMoment& moment) override;

  // The rank has handed a message to the network.
  void on_message(int rank);
  // The plan's n-th fault, which has a time, is due. It finds nobody where the rank is down.
  void strike_in_time(std::size_t fault);

  // The rank runs on another machine from now on: what the plan has for the memory and the speed of the old one is
  // gone.
  void replace_machine(int rank);

  bool has_struck(std::size_t fault) const { return progress_[fault].count > 0; }
  // What never struck, in words.
  std::vector<std::string> not_struck() const;
  // How far each fault of the plan has come, and back: four numbers a fault.
  std::vector<std::int64_t> progress() const;
  void set_progress(const std::vector<std::int64_t>& numbers);

 private:
  struct RankPlace {
    FaultPlace place;
    std::uint64_t load_attempt = ~std::uint64_t{0};  // the latest that began with a load
    std::int64_t numerator = 1;                      // the device's slowdown
    std::int64_t denominator = 1;
  };
  FaultAddress address_of(const TrainMoment& moment);
  bool due(std::size_t fault, const FaultPlace& place) const;
  // The rank dies or hangs, where one of the plan's faults says so here.
  void strike_down(const FaultPlace& place);
  void stop_rank(std::size_t fault, const FaultPlace& place);
  void set_speed(int rank, std::int64_t step);
  void report(const FaultPlace& place, std::string what, std::optional<RankRange> failed = std::nullopt);

  const FaultPlan& plan_;
  std::vector<RandomStream> streams_;    // by fault
  std::vector<FaultProgress> progress_;  // by fault
  // Of a fault that strikes all ranks: the attempt and step that it strikes in.
  std::vector<std::pair<std::uint64_t, std::int64_t>> shared_;
  std::vector<RankPlace> ranks_;
  std::uint64_t load_attempt_ = ~std::uint64_t{0};
  std::int64_t loads_ = 0;
  Hooks hooks_;
  HostLayout hosts_;
};

}  // namespace rehearse
