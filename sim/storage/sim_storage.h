#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/runtime/storage.h"
#include "sim/kernel/process.h"
#include "sim/storage/file_call.h"
#include "sim/storage/local_disks.h"
#include "sim/storage/mounts.h"
#include "sim/storage/storage_faults.h"

namespace rehearse {

// The Storage that one incarnation of a rank sees. An operation takes the mount's latency, and reads and writes
// t(bytes) on top; it takes effect when it is done, in one moment, so a process that dies before has done nothing. Each
// operation has the mount for itself: no contention. What a process does that is about to be killed changes nothing,
// and what one of an older generation than the mounts take does fails (StorageError kFenced). Where there are faults,
// they say how long it takes and what becomes of it. Paths on kLocalMount are on `local`, the mount of the disk of the
// process's host, where it has one. A path on a mount that does not exist is our mistake (CHECK).
class SimStorage : public Storage {
 public:
  SimStorage(Process& process, Mounts& mounts, StorageFaults* faults = nullptr, std::string local = "")
      : process_(process), mounts_(mounts), faults_(faults), local_(std::move(local)) {}

 protected:
  void start_write(const StoragePath& path, Payload data, Completion<> done) override;
  void start_read(const StoragePath& path, Completion<Payload> done) override;
  void start_fsync(const StoragePath& file, Completion<> done) override;
  void start_fsync_directory(const StoragePath& directory, Completion<> done) override;
  void start_rename(const StoragePath& from, const StoragePath& to, Completion<> done) override;
  void start_remove(const StoragePath& path, Completion<> done) override;
  void start_make_directory(const StoragePath& path, Completion<> done) override;
  void start_list(const StoragePath& directory, Completion<std::vector<std::string>> done) override;

 private:
  // Faults name ranks: not one whose place another has taken.
  StorageFaults* faults() const { return mounts_.is_fenced(process_.generation()) ? nullptr : faults_; }
  // Of an operation at a place in the cluster.
  Duration time_of(const StoragePath& place, Bytes bytes) const;
  // The place in the cluster.
  StoragePath place_of(const StoragePath& path) const {
    return path.mount == kLocalMount ? StoragePath(local_, path.path) : path;
  }
  FileCall call(FileOperation operation, const StoragePath& path) const {
    return FileCall(process_.rank(), operation, path);
  }
  // An operation that changes something and takes the latency.
  void start_change(EventKind kind, FileCall call, Completion<> done);
  void change(FileCall call);

  Process& process_;
  Mounts& mounts_;
  StorageFaults* faults_;  // null: none
  std::string local_;      // empty: none
};

}  // namespace rehearse
