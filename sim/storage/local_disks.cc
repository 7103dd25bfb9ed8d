#include "sim/storage/local_disks.h"

#include <cstddef>

#include "core/base/check.h"

namespace rehearse {

LocalDisks::LocalDisks(Mounts& mounts, int ranks, const StorageConfig& config) : mounts_(mounts), config_(config) {
  for (int rank = 0; rank < ranks; ++rank) disks_.push_back(add_disk());
}

std::string LocalDisks::add_disk() {
  std::string name = kLocalMount + std::to_string(disks_added_++);
  mounts_.add(name, config_);
  return name;
}

const std::string& LocalDisks::mount_of(int rank) const {
  CHECK(rank >= 0 && rank < std::ssize(disks_));
  return disks_[static_cast<std::size_t>(rank)];
}

void LocalDisks::lose(int rank) { mounts_.replace(mount_of(rank)); }

void LocalDisks::restart(const std::vector<int>& elsewhere, const std::vector<int>& gone, int ranks) {
  replaced_.insert(elsewhere.begin(), elsewhere.end());
  for (const int rank : replaced_) disks_.at(static_cast<std::size_t>(rank)) = add_disk();
  replaced_.clear();
  for (auto rank = gone.rbegin(); rank != gone.rend(); ++rank) {
    CHECK(*rank < std::ssize(disks_));
    disks_.erase(disks_.begin() + *rank);
  }
  CHECK_GE(std::ssize(disks_), ranks);
  disks_.resize(static_cast<std::size_t>(ranks));
}

}  // namespace rehearse
