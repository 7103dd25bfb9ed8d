#include "sim/storage/sim_storage.h"

#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

Duration time_of(const Mount& mount, Bytes bytes) {
  return mount.config.latency + transfer_time(bytes, mount.config.bandwidth);
}

// The kernel knows operations that give a payload; the names of a directory travel as text.
std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + "/";
  return text;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = text.find('/');
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return names;
}

}  // namespace

FileSystem& Mounts::add(const std::string& name, const StorageConfig& config) {
  const auto [mount, added] = mounts_.emplace(name, Mount(name, config));
  CHECK(added);
  return mount->second.files;
}

Mount& Mounts::at(const std::string& name) {
  const auto found = mounts_.find(name);
  CHECK(found != mounts_.end());
  return found->second;
}

const Mount& Mounts::at(const std::string& name) const { return const_cast<Mounts*>(this)->at(name); }

void Mounts::lose_power(const PowerLoss& loss) {
  for (auto& [name, mount] : mounts_) mount.files.lose_power(loss);
}

void SimStorage::start_write(const StoragePath& path, Payload data, Completion<> done) {
  Mount& mount = mounts_.at(path.mount);
  Kernel& kernel = process_.kernel();
  PendingOp& op = process_.begin(WaitInfo(EventKind::kWrite), std::move(done));
  const TimePoint end = kernel.now() + time_of(mount, data.size());
  // Held as the result, so that the event's record has its size.
  op.result = std::move(data);
  op.effect = [&mount, path = path.path, written = &op.result] { mount.files.write(path, FileData::of(*written)); };
  kernel.complete_at(end, op);
}

void SimStorage::start_read(const StoragePath& path, Completion<Payload> done) {
  Mount& mount = mounts_.at(path.mount);
  Bytes size;
  try {
    size = mount.files.read(path.path).size();
  } catch (const StorageError&) {
    // The same error, or none, when the operation is done.
  }
  process_.start_timed(
      WaitInfo(EventKind::kRead), time_of(mount, size),
      [&mount, path = path.path] { return mount.files.read(path).payload(); }, std::move(done));
}

void SimStorage::start_fsync(const StoragePath& file, Completion<> done) {
  Mount& mount = mounts_.at(file.mount);
  process_.start_timed(
      WaitInfo(EventKind::kFsync), time_of(mount, Bytes()), [&mount, path = file.path] { mount.files.fsync(path); },
      std::move(done));
}

void SimStorage::start_fsync_directory(const StoragePath& directory, Completion<> done) {
  Mount& mount = mounts_.at(directory.mount);
  process_.start_timed(
      WaitInfo(EventKind::kFsyncDirectory), time_of(mount, Bytes()),
      [&mount, path = directory.path] { mount.files.fsync_directory(path); }, std::move(done));
}

void SimStorage::start_rename(const StoragePath& from, const StoragePath& to, Completion<> done) {
  CHECK(from.mount == to.mount);
  Mount& mount = mounts_.at(from.mount);
  process_.start_timed(
      WaitInfo(EventKind::kRename), time_of(mount, Bytes()),
      [&mount, from = from.path, to = to.path] { mount.files.rename(from, to); }, std::move(done));
}

void SimStorage::start_remove(const StoragePath& path, Completion<> done) {
  Mount& mount = mounts_.at(path.mount);
  process_.start_timed(
      WaitInfo(EventKind::kRemove), time_of(mount, Bytes()), [&mount, path = path.path] { mount.files.remove(path); },
      std::move(done));
}

void SimStorage::start_make_directory(const StoragePath& path, Completion<> done) {
  Mount& mount = mounts_.at(path.mount);
  process_.start_timed(
      WaitInfo(EventKind::kMakeDirectory), time_of(mount, Bytes()),
      [&mount, path = path.path] { mount.files.make_directory(path); }, std::move(done));
}

void SimStorage::start_list(const StoragePath& directory, Completion<std::vector<std::string>> done) {
  Mount& mount = mounts_.at(directory.mount);
  Completion<Payload> done_with_text([done = std::move(done)](std::exception_ptr error, Payload text) mutable {
    done(std::move(error), split(text.text()));
  });
  process_.start_timed(
      WaitInfo(EventKind::kList), time_of(mount, Bytes()),
      [&mount, path = directory.path] { return FileData::copy_of(joined(mount.files.list(path))).payload(); },
      std::move(done_with_text));
}

}  // namespace rehearse
