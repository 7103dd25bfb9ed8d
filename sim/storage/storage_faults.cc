#include "sim/storage/storage_faults.h"

#include <utility>

#include "core/base/check.h"
#include "core/base/numbers.h"
#include "sim/storage/local_disks.h"

namespace rehearse {
namespace {

using Effect = OperationFault::Effect;

bool is_fsync(FileOperation operation) {
  return operation == FileOperation::kFsync || operation == FileOperation::kFsyncDirectory;
}

// Whether a fault that names this local disk, or none, means the mount that the rank works on.
bool is_on(const std::optional<int>& local_disk, int rank, const std::string& mount) {
  return local_disk ? is_local_disk(mount) && rank == *local_disk : !is_local_disk(mount);
}

bool names(const OperationFilter& on, const FileCall& call) {
  if (!is_on(on.local_disk, call.rank, call.path.mount)) return false;
  if (on.operation && *on.operation != call.operation) return false;
  if (on.rank && *on.rank != call.rank) return false;
  return names_path(on.path, call.path.path) || (!call.to.empty() && names_path(on.path, call.to));
}

bool can_strike(Effect effect, FileOperation operation) {
  if (effect == Effect::kTorn) return operation == FileOperation::kWrite;
  if (effect == Effect::kLost) return is_fsync(operation);
  return true;
}

// Whether the pattern names the path or a directory above it.
bool covers(const std::string& pattern, const std::string& path) {
  if (names_path(pattern, path)) return true;
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (names_path(pattern, path.substr(0, slash))) return true;
  }
  return false;
}

std::string text_of(const FileCall& call) { return std::string(name_of(call.operation)) + " " + call.path.text(); }

bool same(const FileData& a, const FileData& b) {
  return a.size() == b.size() && (!a.has_bytes() || a.text() == b.text());
}
bool same(const std::vector<std::string>& a, const std::vector<std::string>& b) { return a == b; }

}  // namespace

StorageFaults::StorageFaults(const StorageFaultPlan& plan, Mounts& mounts, bool has_clock, Hooks hooks)
    : plan_(plan),
      mounts_(mounts),
      has_clock_(has_clock),
      hooks_(std::move(hooks)),
      stale_views_(plan.stale, mounts),
      operations_(plan.operations.size()),
      slow_(plan.slow.size()),
      stale_(plan.stale.size()),
      disk_(plan.disk.size()) {}

bool StorageFaults::is_open(const DiskWindow& window) const {
  const bool timed = window.from || window.until;
  if (timed && !has_clock_) return false;
  if (window.from && hooks_.now() < *window.from) return false;
  if (window.until && hooks_.now() >= *window.until) return false;
  return highest_step_ >= window.from_step && (window.until_step == 0 || highest_step_ < window.until_step);
}

void StorageFaults::enter(int rank, std::int64_t step, Phase phase) {
  if (std::cmp_greater_equal(rank, positions_.size())) positions_.resize(static_cast<std::size_t>(rank) + 1);
  Position& position = positions_[static_cast<std::size_t>(rank)];
  position.step = step;
  position.phase = phase;
  if (phase == Phase::kData && step > highest_step_) highest_step_ = step;
  for (std::size_t i = 0; i < plan_.disk.size(); ++i) {
    const DiskFault& fault = plan_.disk[i];
    if (disk_[i].struck > 0 || fault.step == 0) continue;
    if (fault.rank == rank && fault.step == step && fault.phase == phase) strike(i);
  }
}

void StorageFaults::strike_in_time(std::size_t fault) {
  CHECK(plan_.disk.at(fault).time.has_value());
  if (disk_[fault].struck == 0) strike(fault);
}

Duration StorageFaults::time_of(int rank, const std::string& mount, Duration plain) {
  Duration time = plain;
  for (std::size_t i = 0; i < plan_.slow.size(); ++i) {
    const SlowDiskFault& fault = plan_.slow[i];
    if (!is_on(fault.local_disk, rank, mount)) continue;
    if ((fault.rank && *fault.rank != rank) || !is_open(fault.window)) continue;
    const __int128 scaled = static_cast<__int128>(time.ps()) * fault.numerator;
    const __int128 ps = (scaled + fault.denominator - 1) / fault.denominator;
    if (ps > INT64_MAX) virtual_time_overflow();
    time = Duration::picoseconds(static_cast<std::int64_t>(ps));
    if (slow_[i].struck++ > 0) continue;
    const double factor = static_cast<double>(fault.numerator) / static_cast<double>(fault.denominator);
    tell(fault.rank || fault.local_disk ? rank : -1, std::string(fault.local_disk ? "its local disk" : "the disk") +
                                                         " takes " + shortest_text(factor) + " times as long");
  }
  return time;
}

const OperationFault* StorageFaults::meet(const FileCall& call) {
  const OperationFault* met = nullptr;
  for (std::size_t i = 0; i < plan_.operations.size(); ++i) {
    const OperationFault& fault = plan_.operations[i];
    Count& count = operations_[i];
    if (!can_strike(fault.effect, call.operation) || !names(fault.on, call) || !is_open(fault.window)) continue;
    ++count.seen;
    const bool strikes = count.seen >= fault.nth && (fault.count == 0 || count.struck < fault.count);
    if (!strikes || met != nullptr) continue;
    ++count.struck;
    met = &fault;
  }
  return met;
}

void StorageFaults::fail(const OperationFault& fault, const FileCall& call) {
  const auto kind = fault.effect == Effect::kNoSpace ? StorageError::Kind::kNoSpace : StorageError::Kind::kIo;
  tell(call.rank, text_of(call) + " fails: " + name_of(kind));
  if (call.operation == FileOperation::kWrite) {
    FileCall emptied = call;
    emptied.data = FileData();
    carry_out(emptied, mounts_.at(call.path.mount).files);
    stale_views_.note(hooks_.now(), emptied);
  }
  throw StorageError(kind, name_of(call.operation), call.path);
}

void StorageFaults::change(FileCall call) {
  const OperationFault* fault = meet(call);
  if (fault != nullptr && (fault->effect == Effect::kIoError || fault->effect == Effect::kNoSpace)) fail(*fault, call);
  if (fault != nullptr && fault->effect == Effect::kTorn) {
    tell(call.rank, text_of(call) + " keeps " + std::to_string(fault->keep.count()) + " of its " +
                        std::to_string(call.data.size().count()) + " bytes");
    call.data = call.data.prefix(fault->keep);
  }
  if (fault != nullptr && fault->effect == Effect::kLost) {
    tell(call.rank, text_of(call) + " makes nothing durable, and says that it did");
  } else {
    carry_out(call, mounts_.at(call.path.mount).files);
    stale_views_.note(hooks_.now(), call);
  }
  finish(call);
}

template <class Result, class Look>
Result StorageFaults::look_at(const FileCall& call, Look look) {
  const FileSystem& files = mounts_.at(call.path.mount).files;
  for (std::size_t i = 0; i < plan_.stale.size(); ++i) {
    const StaleViewFault& fault = plan_.stale[i];
    if (fault.rank != call.rank || is_local_disk(call.path.mount)) continue;
    if (!is_open(fault.window) || !covers(fault.path, call.path.path)) continue;
    const auto attempt = [&look](const FileSystem& in) {
      std::optional<Result> result;
      try {
        result = look(in);
      } catch (const StorageError&) {
        // Differs from any result, and is thrown below.
      }
      return result;
    };
    const FileSystem stale = stale_views_.view(i, call.path.mount, hooks_.now());
    const std::optional<Result> seen = attempt(stale);
    const std::optional<Result> there = attempt(files);
    const bool differs = seen.has_value() != there.has_value() || (seen && !same(*seen, *there));
    if (differs && stale_[i].struck++ == 0) {
      tell(call.rank, text_of(call) + " gives what was there " + to_string(fault.delay) + " before");
    }
    return look(stale);
  }
  return look(files);
}

FileData StorageFaults::read(const FileCall& call) {
  const OperationFault* fault = meet(call);
  if (fault != nullptr) fail(*fault, call);
  const auto look = [&call](const FileSystem& files) { return files.read(call.path.path); };
  FileData data = look_at<FileData>(call, look);
  finish(call);
  return data;
}

std::vector<std::string> StorageFaults::list(const FileCall& call) {
  const OperationFault* fault = meet(call);
  if (fault != nullptr) fail(*fault, call);
  const auto look = [&call](const FileSystem& files) { return files.list(call.path.path); };
  std::vector<std::string> listed = look_at<std::vector<std::string>>(call, look);
  finish(call);
  return listed;
}

void StorageFaults::finish(const FileCall& call) {
  for (std::size_t i = 0; i < plan_.disk.size(); ++i) {
    const DiskFault& fault = plan_.disk[i];
    if (!fault.after || disk_[i].struck > 0 || !names(*fault.after, call)) continue;
    if (++disk_[i].seen == fault.nth) strike(i);
  }
}

void StorageFaults::strike(std::size_t index) {
  const DiskFault& fault = plan_.disk[index];
  if (fault.kind == DiskFault::Kind::kPower) {
    ++disk_[index].struck;
    std::size_t unsynced = 0;
    for (const auto& [name, mount] : mounts_.all()) unsynced += mount.files.unsynced_operations();
    tell(-1, "the power of all hosts and disks goes, with " + std::to_string(unsynced) +
                 (unsynced == 1 ? " operation" : " operations") + " not yet synced");
    mounts_.lose_power(fault.loss);
    stale_views_.reset();
    hooks_.on_power_loss();
    return;
  }
  const std::string disk = fault.local_disk ? hooks_.local_disk(*fault.local_disk) : std::string();
  for (auto& [name, mount] : mounts_.all()) {
    if (fault.local_disk ? name == disk : !is_local_disk(name)) strike_mount(fault, name, mount.files, disk_[index]);
  }
  stale_views_.reset();
}

void StorageFaults::strike_mount(const DiskFault& fault, const std::string& name, FileSystem& files, Count& count) {
  for (const auto& [path, data] : files.files()) {
    if (!names_path(fault.path, path)) continue;
    const std::string file = StoragePath(name, path).text();
    if (fault.kind == DiskFault::Kind::kMissing) {
      files.vanish(path);
      tell(-1, file + " vanishes");
    } else if (files.rot(path, Bytes(fault.offset), fault.bit)) {
      tell(-1, "bit " + std::to_string(fault.bit) + " of byte " + std::to_string(fault.offset) + " of " + file +
                   " is inverted at rest");
    } else {
      continue;
    }
    ++count.struck;
  }
}

void StorageFaults::tell(int rank, std::string what) {
  StorageFaultRecord record;
  record.rank = rank;
  record.what = std::move(what);
  if (rank >= 0 && std::cmp_less(rank, positions_.size())) {
    record.step = positions_[static_cast<std::size_t>(rank)].step;
    record.phase = positions_[static_cast<std::size_t>(rank)].phase;
  }
  hooks_.on_fault(record);
}

std::vector<StorageFaults::Count*> StorageFaults::counts() {
  std::vector<Count*> all;
  for (std::vector<Count>* list : {&operations_, &slow_, &stale_, &disk_}) {
    for (Count& count : *list) all.push_back(&count);
  }
  return all;
}

std::vector<std::int64_t> StorageFaults::state() const {
  std::vector<std::int64_t> state = {highest_step_};
  for (const Count* count : const_cast<StorageFaults*>(this)->counts()) {
    state.push_back(count->seen);
    state.push_back(count->struck);
  }
  return state;
}

void StorageFaults::set_state(const std::vector<std::int64_t>& state) {
  const std::vector<Count*> all = counts();
  CHECK_EQ(state.size(), 1 + 2 * all.size());
  highest_step_ = state[0];
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]->seen = state[1 + 2 * i];
    all[i]->struck = state[2 + 2 * i];
  }
}

std::vector<std::string> StorageFaults::not_struck() const {
  std::vector<std::string> texts;
  const auto add = [&texts](const auto& faults, const std::vector<Count>& counts) {
    for (std::size_t i = 0; i < faults.size(); ++i) {
      if (counts[i].struck == 0) texts.push_back(text_of(faults[i]));
    }
  };
  add(plan_.operations, operations_);
  add(plan_.slow, slow_);
  add(plan_.stale, stale_);
  add(plan_.disk, disk_);
  return texts;
}

}  // namespace rehearse
