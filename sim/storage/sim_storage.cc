#include "sim/storage/sim_storage.h"

#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

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

Duration SimStorage::time_of(const Mount& mount, Bytes bytes) const {
  const Duration plain = mount.config.latency + transfer_time(bytes, mount.config.bandwidth);
  return faults() == nullptr ? plain : faults()->time_of(process_.rank(), plain);
}

void SimStorage::change(FileCall call) {
  if (process_.is_doomed()) return;
  if (mounts_.is_fenced(process_.generation())) {
    const char* operation = name_of(call.operation);
    mounts_.tell_refused(process_.rank(), process_.generation(), std::string(operation) + " " + call.path.text());
    throw StorageError(StorageError::Kind::kFenced, operation, call.path);
  }
  if (faults_ != nullptr) {
    faults_->change(std::move(call));
  } else {
    carry_out(call, mounts_.at(call.path.mount).files);
  }
}

void SimStorage::start_change(EventKind kind, FileCall call, Completion<> done) {
  const Duration time = time_of(mounts_.at(call.path.mount), Bytes());
  process_.start_timed(
      WaitInfo(kind), time, [this, call = std::move(call)] { change(call); }, std::move(done));
}

void SimStorage::start_write(const StoragePath& path, Payload data, Completion<> done) {
  const Mount& mount = mounts_.at(path.mount);
  Kernel& kernel = process_.kernel();
  PendingOp& op = process_.begin(WaitInfo(EventKind::kWrite), std::move(done));
  const TimePoint end = kernel.now() + time_of(mount, data.size());
  // Held as the result, so that the event's record has its size.
  op.result = std::move(data);
  op.effect = [this, path, written = &op.result] {
    FileCall write = call(FileOperation::kWrite, path);
    write.data = FileData::of(*written);
    change(std::move(write));
  };
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
  const auto read = [this, &mount, path] {
    if (faults() == nullptr) return mount.files.read(path.path).payload();
    return faults()->read(call(FileOperation::kRead, path)).payload();
  };
  process_.start_timed(WaitInfo(EventKind::kRead), time_of(mount, size), read, std::move(done));
}

void SimStorage::start_fsync(const StoragePath& file, Completion<> done) {
  start_change(EventKind::kFsync, call(FileOperation::kFsync, file), std::move(done));
}

void SimStorage::start_fsync_directory(const StoragePath& directory, Completion<> done) {
  start_change(EventKind::kFsyncDirectory, call(FileOperation::kFsyncDirectory, directory), std::move(done));
}

void SimStorage::start_rename(const StoragePath& from, const StoragePath& to, Completion<> done) {
  CHECK(from.mount == to.mount);
  FileCall rename = call(FileOperation::kRename, from);
  rename.to = to.path;
  start_change(EventKind::kRename, std::move(rename), std::move(done));
}

void SimStorage::start_remove(const StoragePath& path, Completion<> done) {
  start_change(EventKind::kRemove, call(FileOperation::kRemove, path), std::move(done));
}

void SimStorage::start_make_directory(const StoragePath& path, Completion<> done) {
  start_change(EventKind::kMakeDirectory, call(FileOperation::kMakeDirectory, path), std::move(done));
}

void SimStorage::start_list(const StoragePath& directory, Completion<std::vector<std::string>> done) {
  const Mount& mount = mounts_.at(directory.mount);
  Completion<Payload> done_with_text([done = std::move(done)](std::exception_ptr error, Payload text) mutable {
    done(std::move(error), split(text.text()));
  });
  const auto list = [this, &mount, directory] {
    const std::vector<std::string> names =
        faults() == nullptr ? mount.files.list(directory.path) : faults()->list(call(FileOperation::kList, directory));
    return FileData::copy_of(joined(names)).payload();
  };
  process_.start_timed(WaitInfo(EventKind::kList), time_of(mount, Bytes()), list, std::move(done_with_text));
}

}  // namespace rehearse
