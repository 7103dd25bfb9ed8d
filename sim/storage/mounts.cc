#include "sim/storage/mounts.h"

#include "core/base/check.h"

namespace rehearse {

FileSystem& Mounts::add(const std::string& name, const StorageConfig& config) {
  const auto [mount, added] = mounts_.emplace(name, Mount(name, config));
  CHECK(added);
  return mount->second.files;
}

void Mounts::replace(const std::string& name) {
  Mount& mount = at(name);
  mount = Mount(name, mount.config);
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

void Mounts::lose_host(int rank, const PowerLoss& loss) {
  for (auto& [name, mount] : mounts_) mount.files.lose_host(rank, loss);
}

}  // namespace rehearse
