#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/storage.h"
#include "sim/fault/storage_faults.h"
#include "sim/storage/file_call.h"
#include "sim/storage/mounts.h"
#include "sim/storage/stale_views.h"

namespace rehearse {

// A storage fault that struck.
struct StorageFaultRecord {
  int rank = -1;          // whose operation it was; -1: the disk itself
  std::int64_t step = 0;  // that the rank is in; 0 where that is not known
  Phase phase = Phase::kStart;
  std::string what;  // in words
};

// Carries a plan of storage faults out: a rank's storage does its operations through it. Outside the ranks, without
// messages, events or virtual time of its own; a fault strikes once unless it says otherwise.
class StorageFaults {
 public:
  struct Hooks {
    std::function<TimePoint()> now;
    std::function<void(const StorageFaultRecord&)> on_fault;
    // All hosts lose their power, now; the mounts have lost it.
    std::function<void()> on_power_loss;
    // The mount of the rank's local disk, empty where there is none; not called where no fault names one.
    std::function<std::string(int rank)> local_disk;
  };
  // With `has_clock` false, as in a run that continues another one, simulated times do not count: no window and no
  // moment that is given by one comes.
  StorageFaults(const StorageFaultPlan& plan, Mounts& mounts, bool has_clock, Hooks hooks);

  // The mounts hold what the run starts with.
  void begin() { stale_views_.reset(); }
  // A rank begins a phase of a step.
  void enter(int rank, std::int64_t step, Phase phase);
  // The plan's n-th disk fault, which has a time, is due.
  void strike_in_time(std::size_t fault);
  // The disks changed by something else: a lost host, a loss of power.
  void forget_views() { stale_views_.reset(); }

  // How long an operation on a mount takes that would take `plain`.
  Duration time_of(int rank, const std::string& mount, Duration plain);
  // Carries out the call, or what becomes of it. Throw StorageError.
  void change(FileCall call);
  FileData read(const FileCall& call);
  std::vector<std::string> list(const FileCall& call);

  // What has happened so far, as plain numbers: to be carried over to a run that continues this one.
  std::vector<std::int64_t> state() const;
  // Requires a state() of the same plan.
  void set_state(const std::vector<std::int64_t>& state);
  // What never struck, in words.
  std::vector<std::string> not_struck() const;

 private:
  // How often a fault's operation was seen, and how often the fault struck.
  struct Count {
    std::int64_t seen = 0;
    std::int64_t struck = 0;
  };
  struct Position {
    std::int64_t step = 0;
    Phase phase = Phase::kStart;
  };

  std::vector<Count*> counts();
  bool is_open(const DiskWindow& window) const;
  // The effect that the call meets; null where it meets none.
  const OperationFault* meet(const FileCall& call);
  [[noreturn]] void fail(const OperationFault& fault, const FileCall& call);
  // The call is over: what strikes after it.
  void finish(const FileCall& call);
  void strike(std::size_t fault);
  void strike_mount(const DiskFault& fault, const std::string& name, FileSystem& files, Count& count);
  void tell(int rank, std::string what);
  // Does `look` in what the rank sees, and tells the first time that this is not what there is.
  template <class Result, class Look>
  Result look_at(const FileCall& call, Look look);

  const StorageFaultPlan& plan_;
  Mounts& mounts_;
  bool has_clock_;
  Hooks hooks_;
  StaleViews stale_views_;
  std::int64_t highest_step_ = 0;  // that any rank has begun
  std::vector<Position> positions_;
  std::vector<Count> operations_;
  std::vector<Count> slow_;
  std::vector<Count> stale_;
  std::vector<Count> disk_;
};

}  // namespace rehearse
