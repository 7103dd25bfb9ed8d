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

Duration SimStorage::time_of(const StoragePath& place, Bytes bytes) const {
  const StorageConfig& config = mounts_.at(place.mount).config;
  const Duration plain = config.latency + transfer_time(bytes, config.bandwidth);
  return faults() == nullptr ? plain : faults()->time_of(process_.rank(), place.mount, plain);
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
  const Duration time = time_of(call.path, Bytes());
  process_.start_timed(
      WaitInfo(kind), time, [this, call = std::move(call)] { change(call); }, std::move(done));
}

void SimStorage::start_write(const StoragePath& path, Payload data, Completion<> done) {
  const StoragePath place = place_of(path);
  Kernel& kernel = process_.kernel();
  PendingOp& op = process_.begin(WaitInfo(EventKind::kWrite), std::move(done));
  const TimePoint end = kernel.now() + time_of(place, data.size());
  // Held as the result, so that the event's record has its size.
  op.result = std::move(data);
  op.effect = [this, place, written = &op.result] {
    FileCall write = call(FileOperation::kWrite, place);
    write.data = FileData::of(*written);
    change(std::move(write));
  };
  kernel.complete_at(end, op);
}

void SimStorage::start_read(const StoragePath& path, Completion<Payload> done) {
  const StoragePath place = place_of(path);
  const FileSystem& files = mounts_.at(place.mount).files;
  Bytes size;
  try {
    size = files.read(place.path).size();
  } catch (const StorageError&) {
    // The same error, or none, when the operation is done.
  }
  const auto read = [this, &files, place] {
    if (faults() == nullptr) return files.read(place.path).payload();
    return faults()->read(call(FileOperation::kRead, place)).payload();
  };
  process_.start_timed(WaitInfo(EventKind::kRead), time_of(place, size), read, std::move(done));
}

void SimStorage::start_fsync(const StoragePath& file, Completion<> done) {
  start_change(EventKind::kFsync, call(FileOperation::kFsync, place_of(file)), std::move(done));
}

void SimStorage::start_fsync_directory(const StoragePath& directory, Completion<> done) {
  start_change(EventKind::kFsyncDirectory, call(FileOperation::kFsyncDirectory, place_of(directory)), std::move(done));
}

void SimStorage::start_rename(const StoragePath& from, const StoragePath& to, Completion<> done) {
  CHECK(from.mount == to.mount);
  FileCall rename = call(FileOperation::kRename, place_of(from));
  rename.to = to.path;
  start_change(EventKind::kRename, std::move(rename), std::move(done));
}

void SimStorage::start_remove(const StoragePath& path, Completion<> done) {
  start_change(EventKind::kRemove, call(FileOperation::kRemove, place_of(path)), std::move(done));
}

void SimStorage::start_make_directory(const StoragePath& path, Completion<> done) {
  start_change(EventKind::kMakeDirectory, call(FileOperation::kMakeDirectory, place_of(path)), std::move(done));
}

void SimStorage::start_list(const StoragePath& directory, Completion<std::vector<std::string>> done) {
  const StoragePath place = place_of(directory);
  const FileSystem& files = mounts_.at(place.mount).files;
  Completion<Payload> done_with_text([done = std::move(done)](std::exception_ptr error, Payload text) mutable {
    done(std::move(error), split(text.text()));
  });
  const auto list = [this, &files, place] {
    const std::vector<std::string> names =
        faults() == nullptr ? files.list(place.path) : faults()->list(call(FileOperation::kList, place));
    return FileData::copy_of(joined(names)).payload();
  };
  process_.start_timed(WaitInfo(EventKind::kList), time_of(place, Bytes()), list, std::move(done_with_text));
}

}  // namespace rehearse
