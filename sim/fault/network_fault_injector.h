#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/train/disturbance.h"
#include "sim/fault/network_faults.h"
#include "sim/kernel/kernel.h"
#include "sim/net/link_conditions.h"

namespace rehearse {

// How far the faults of a network have come, as numbers, to be kept over a restart of the program.
struct NetworkFaultProgress {
  struct Counts {
    std::int64_t seen = 0;    // packets on its links while it was in force
    std::int64_t struck = 0;  // of them
  };
  std::int64_t newest_step = 0;  // that any rank has begun
  std::vector<Counts> faults;    // in the plan's order

  std::vector<std::int64_t> numbers() const;
  // Requires the numbers() of a progress with as many faults.
  static NetworkFaultProgress of(const std::vector<std::int64_t>& numbers);
};

// Says what the links are like, after a plan. What befalls a packet is a pure function of the plan, the seed, the link
// and the packet's number on it, and of how often the fault may strike still. A fault that is in force for a while is
// told when it begins and when it ends; one that strikes a few messages is told at each.
class NetworkFaultInjector : public LinkConditions, public Disturbance, private EventSink {
 public:
  struct Hooks {
    // Hears in words what happens, at now.
    std::function<void(const std::string& what)> on_fault;
    // Asked after this; null for nobody.
    Disturbance* next = nullptr;
  };
  // The plan outlives this. `stream` is the network faults' own.
  NetworkFaultInjector(const NetworkFaultPlan& plan, const RandomStream& stream, Hooks hooks);

  // Once, before the run. A continued run has a clock of its own: windows of time do not open in it.
  void start(Kernel& kernel, bool continued);

  PacketFate fate_of(const LinkPacket& packet, TimePoint now) override;
  // A rank begins a phase of a step.
  void strike(const TrainMoment& moment, const StateMemory& memory) override;
  double loss_factor(const TrainMoment& moment) override {
    return hooks_.next == nullptr ? 1 : hooks_.next->loss_factor(moment);
  }
  double lr_factor(const TrainMoment& moment) override {
    return hooks_.next == nullptr ? 1 : hooks_.next->lr_factor(moment);
  }
  ProgramError program_error(const TrainMoment& moment) override {
    return hooks_.next == nullptr ? ProgramError::kNone : hooks_.next->program_error(moment);
  }

  const NetworkFaultProgress& progress() const { return progress_; }
  void set_progress(const NetworkFaultProgress& progress);

  // What never struck, in words.
  std::vector<std::string> not_struck() const;

 private:
  enum class Told : std::uint8_t { kNothing, kBegin, kEnd };

  bool is_in_force(const NetworkFault& fault, TimePoint now) const;
  // Tells what has begun or ended since it was asked last.
  void tell(TimePoint now);
  // Whether the packet, the fault's seen-th, is struck, not considering how often it may be.
  bool draws(std::size_t index, const LinkPacket& packet, std::uint64_t number) const;
  RandomStream draw_of(std::size_t index, const LinkPacket& packet, std::uint64_t number, const char* what) const;
  void apply(std::size_t index, const LinkPacket& packet, std::uint64_t number, PacketFate& fate) const;
  void on_event(std::uint64_t argument) override;

  const NetworkFaultPlan& plan_;
  Hooks hooks_;
  Kernel* kernel_ = nullptr;
  bool continued_ = false;
  std::vector<RandomStream> streams_;
  std::vector<Told> told_;
  std::map<std::pair<int, int>, std::uint64_t> numbers_;  // packets so far, by link
  NetworkFaultProgress progress_;
};

}  // namespace rehearse
