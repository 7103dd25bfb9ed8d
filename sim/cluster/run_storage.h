#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/train/disturbance.h"
#include "sim/cluster/recovery_record.h"
#include "sim/cluster/world.h"
#include "sim/config/scenario.h"
#include "sim/fault/injector.h"
#include "sim/storage/local_disks.h"
#include "sim/storage/mounts.h"
#include "sim/storage/storage_faults.h"

namespace rehearse {

// The disks of a run, with what the scenario has go wrong with them: mounts, the storage that each rank's process sees,
// and the moments of its storage faults. Ranks reach it as their disturbance; it passes on to the injector.
class RunStorage : public Disturbance, private EventSink {
 public:
  struct Hooks {
    std::function<void(const FaultRecord&)> on_fault;  // without its time
    std::function<void()> power_loss;                  // has all ranks die, not before this call is over
  };
  // `continues`: the run goes on from another one's checkpoint.
  RunStorage(const Scenario& scenario, bool continues, Disturbance& next, Hooks hooks);

  Mounts& mounts() { return mounts_; }
  // Of the rank; requires that there are.
  const FileSystem& local_disk(int rank) const { return mounts_.at(local_->mount_of(rank)).files; }
  // A rank's machine, its local disk included, is replaced when the job starts again.
  void replace_machine(int rank) {
    if (local_ != nullptr) local_->replace_at_restart(rank);
  }
  // The job starts again: before its ranks do.
  void restart(const RecoveryRecord& recovery);
  // Before the world's ranks start, once the mounts hold what the run starts with.
  void attach(World& world);

  void strike(const TrainMoment& moment, const StateMemory& memory) override;
  double loss_factor(const TrainMoment& moment) override { return next_.loss_factor(moment); }
  double lr_factor(const TrainMoment& moment) override { return next_.lr_factor(moment); }
  ProgramError program_error(const TrainMoment& moment) override { return next_.program_error(moment); }
  // What the rank's host will leave of its unsynced operations when it is lost next; nothing unless this is said.
  void set_host_loss(int rank, const PowerLoss& loss) { host_losses_[rank] = loss; }
  // The power of the disks goes, beside what the scenario's faults do.
  void lose_power(const PowerLoss& loss);

  // As StorageFaults; empty where the scenario has no storage faults.
  std::vector<std::int64_t> state() const;
  void set_state(const std::vector<std::int64_t>& state);
  std::vector<std::string> not_struck() const;

 private:
  void on_event(std::uint64_t argument) override;
  void on_host_lost(int rank);
  void tell(const StorageFaultRecord& record);

  const StorageFaultPlan& plan_;
  bool continues_;
  Disturbance& next_;
  Hooks hooks_;
  Mounts mounts_;
  std::unique_ptr<LocalDisks> local_;      // null: the hosts have none that counts
  std::unique_ptr<StorageFaults> faults_;  // null: none
  std::map<int, PowerLoss> host_losses_;
  bool power_lost_ = false;  // hosts that go until the next start keep their disks
  World* world_ = nullptr;
};

}  // namespace rehearse
