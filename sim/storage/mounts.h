#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "sim/fault/storage_faults.h"
#include "sim/storage/config.h"
#include "sim/storage/file_system.h"

namespace rehearse {

// A file system and how fast it is.
struct Mount {
  Mount(std::string name, const StorageConfig& mount_config) : files(std::move(name)), config(mount_config) {
    files.set_capacity(config.capacity);
  }
  FileSystem files;
  StorageConfig config;
};

// The mounts of a simulated cluster, by name. They outlive every rank's process: what a crash leaves on a disk is there
// for the next incarnation.
class Mounts {
 public:
  FileSystem& add(const std::string& name, const StorageConfig& config);
  // All that is on a mount is gone, as with another disk in its place.
  void replace(const std::string& name);
  bool has(const std::string& name) const { return mounts_.contains(name); }
  Mount& at(const std::string& name);
  const Mount& at(const std::string& name) const;
  std::map<std::string, Mount>& all() { return mounts_; }
  // The power of every mount goes (FileSystem::lose_power).
  void lose_power(const PowerLoss& loss = {});
  // A rank's host goes (FileSystem::lose_host).
  void lose_host(int rank, const PowerLoss& loss = {});

  // From now on processes of an older generation of the job change nothing. Who was taken for dead, and lives, would
  // else publish or delete checkpoints beside the ranks that have taken over.
  void fence(std::uint32_t generation) { oldest_generation_ = generation; }
  bool is_fenced(std::uint32_t generation) const { return generation < oldest_generation_; }
  // Hears in words of each change that is refused for that.
  void set_fence_listener(std::function<void(int rank, std::uint32_t generation, const std::string& what)> listener) {
    fence_listener_ = std::move(listener);
  }
  void tell_refused(int rank, std::uint32_t generation, const std::string& what) const {
    if (fence_listener_) fence_listener_(rank, generation, what);
  }

 private:
  std::map<std::string, Mount> mounts_;
  std::uint32_t oldest_generation_ = 0;
  std::function<void(int, std::uint32_t, const std::string&)> fence_listener_;
};

}  // namespace rehearse
