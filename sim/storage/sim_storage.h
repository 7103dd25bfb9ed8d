#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/runtime/storage.h"
#include "sim/kernel/process.h"
#include "sim/storage/config.h"
#include "sim/storage/file_system.h"

namespace rehearse {

// A file system and how fast it is.
struct Mount {
  Mount(std::string name, const StorageConfig& mount_config) : files(std::move(name)), config(mount_config) {}
  FileSystem files;
  StorageConfig config;
};

// The mounts of a simulated cluster, by name. They outlive every rank's process: what a crash leaves on a disk is there
// for the next incarnation.
class Mounts {
 public:
  FileSystem& add(const std::string& name, const StorageConfig& config);
  bool has(const std::string& name) const { return mounts_.contains(name); }
  Mount& at(const std::string& name);
  const Mount& at(const std::string& name) const;
  // The power of every mount goes (FileSystem::lose_power).
  void lose_power(const PowerLoss& loss = {});

 private:
  std::map<std::string, Mount> mounts_;
};

// The Storage that one incarnation of a rank sees. An operation takes the mount's latency, and reads and writes
// t(bytes) on top; it takes effect when it is done, in one moment, so a process that dies before has done nothing. Each
// operation has the mount for itself: no contention. A path on a mount that does not exist is our mistake (CHECK).
class SimStorage : public Storage {
 public:
  SimStorage(Process& process, Mounts& mounts) : process_(process), mounts_(mounts) {}

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
  Process& process_;
  Mounts& mounts_;
};

}  // namespace rehearse
