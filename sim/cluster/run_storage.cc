#include "sim/cluster/run_storage.h"

#include <utility>

#include "core/base/check.h"
#include "sim/storage/sim_storage.h"

namespace rehearse {

RunStorage::RunStorage(const Scenario& scenario, bool continues, Disturbance& next, Hooks hooks)
    : plan_(scenario.faults.storage), continues_(continues), next_(next), hooks_(std::move(hooks)) {
  if (scenario.train.checkpoint.tiers.has_value()) {
    local_ = std::make_unique<LocalDisks>(mounts_, scenario.ranks, scenario.local_disk);
  }
  if (plan_.empty()) return;
  StorageFaults::Hooks fault_hooks;
  fault_hooks.now = [this] { return world_->now(); };
  fault_hooks.on_fault = [this](const StorageFaultRecord& record) { tell(record); };
  fault_hooks.on_power_loss = [this] {
    power_lost_ = true;
    hooks_.power_loss();
  };
  fault_hooks.local_disk = [this](int rank) { return rank < world_->ranks() ? local_->mount_of(rank) : std::string(); };
  // A continued run has a clock of its own.
  faults_ = std::make_unique<StorageFaults>(plan_, mounts_, !continues, std::move(fault_hooks));
}

void RunStorage::attach(World& world) {
  CHECK(world_ == nullptr);
  world_ = &world;
  world.set_storage([this](Process& process) {
    const std::string local = local_ != nullptr ? local_->mount_of(process.rank()) : std::string();
    return std::make_unique<SimStorage>(process, mounts_, faults_.get(), local);
  });
  world.set_host_loss_listener([this](int rank) { on_host_lost(rank); });
  if (faults_ == nullptr) return;
  faults_->begin();
  for (std::size_t i = 0; i < plan_.disk.size(); ++i) {
    const DiskFault& fault = plan_.disk[i];
    if (fault.time.has_value() && !continues_) world.kernel().schedule_background(*fault.time, this, i);
  }
}

void RunStorage::on_event(std::uint64_t argument) {
  Kernel& kernel = world_->kernel();
  if (kernel.is_heard()) kernel.record(EventRecord(EventKind::kFaultDue));
  faults_->strike_in_time(argument);
}

void RunStorage::strike(const TrainMoment& moment, const StateMemory& memory) {
  if (faults_ != nullptr && world_->is_up(moment.rank)) faults_->enter(moment.rank, moment.step, moment.phase);
  next_.strike(moment, memory);
}

void RunStorage::on_host_lost(int rank) {
  const auto loss = host_losses_.find(rank);
  mounts_.lose_host(rank, loss == host_losses_.end() ? PowerLoss() : loss->second);
  host_losses_.erase(rank);
  if (local_ != nullptr && !power_lost_) local_->lose(rank);
  if (faults_ != nullptr) faults_->forget_views();
}

void RunStorage::restart(const RecoveryRecord& recovery) {
  power_lost_ = false;
  if (local_ == nullptr) return;
  local_->restart(recovery.on_spares, recovery.gone, recovery.ranks);
  if (faults_ != nullptr) faults_->forget_views();
}

void RunStorage::lose_power(const PowerLoss& loss) {
  power_lost_ = true;
  mounts_.lose_power(loss);
  if (faults_ != nullptr) faults_->forget_views();
}

void RunStorage::tell(const StorageFaultRecord& record) {
  FaultRecord fault;
  fault.at.rank = record.rank;
  fault.at.step = record.step;
  fault.at.phase = record.phase;
  fault.what = record.what;
  hooks_.on_fault(fault);
}

std::vector<std::int64_t> RunStorage::state() const {
  return faults_ == nullptr ? std::vector<std::int64_t>() : faults_->state();
}

void RunStorage::set_state(const std::vector<std::int64_t>& state) {
  if (faults_ != nullptr) faults_->set_state(state);
}

std::vector<std::string> RunStorage::not_struck() const {
  return faults_ == nullptr ? std::vector<std::string>() : faults_->not_struck();
}

}  // namespace rehearse
