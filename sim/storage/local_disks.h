#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/storage/config.h"
#include "sim/storage/mounts.h"

namespace rehearse {

// What a rank's program calls the disk of the host it runs on.
inline constexpr const char* kLocalMount = "local";
// Whether a mount of the cluster is the local disk of a host.
inline bool is_local_disk(const std::string& mount) { return mount.starts_with(kLocalMount); }

// The local disks of a cluster's hosts: each rank has one of its own in its host, and each is a mount of its own. A
// disk goes with its host: whoever takes a lost host's place, the same machine repaired included, comes with an empty
// one.
class LocalDisks {
 public:
  // Adds the mounts "local0", "local1", ... of so many ranks.
  LocalDisks(Mounts& mounts, int ranks, const StorageConfig& config);

  // The mount of the disk that the rank has.
  const std::string& mount_of(int rank) const;
  // The rank's host is lost: what was on the disk is gone.
  void lose(int rank);
  // The rank's machine is replaced when the job starts again: until then it still works.
  void replace_at_restart(int rank) { replaced_.insert(rank); }
  // The job starts again with so many ranks. Those `elsewhere` are on hosts that stood by, with disks of their own: the
  // old host may live on with its one. Ranks that are left are numbered anew, without those in `gone`; those beyond are
  // nobody's. Both ascending, as the ranks were numbered before.
  void restart(const std::vector<int>& elsewhere, const std::vector<int>& gone, int ranks);

 private:
  std::string add_disk();

  Mounts& mounts_;
  StorageConfig config_;
  int disks_added_ = 0;
  std::vector<std::string> disks_;  // by rank
  std::set<int> replaced_;
};

}  // namespace rehearse
