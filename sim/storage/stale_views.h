#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "sim/fault/storage_faults.h"
#include "sim/storage/file_call.h"
#include "sim/storage/mounts.h"

namespace rehearse {

// What ranks with a stale view see: for each of the faults, every mount as it was the fault's delay ago. A network file
// system's client shows that of what others changed; what the rank changed itself it sees at once.
class StaleViews {
 public:
  StaleViews(const std::vector<StaleViewFault>& faults, Mounts& mounts) : faults_(faults), mounts_(mounts) {}

  // All see what there is, as after a loss of power; and before the first note().
  void reset();
  // A call was carried out.
  void note(TimePoint now, const FileCall& call);
  // The mount as fault number `fault` shows it to its rank now.
  FileSystem view(std::size_t fault, const std::string& mount, TimePoint now);

 private:
  struct Change {
    TimePoint time;
    FileCall call;
  };
  // A mount as it was; what changed since, oldest first.
  struct Past {
    explicit Past(const FileSystem& now) : files(now) {}
    FileSystem files;
    std::deque<Change> later;
  };
  static void redo(const FileCall& call, FileSystem& files);
  void advance(std::size_t fault, Past& past, TimePoint now);

  const std::vector<StaleViewFault>& faults_;
  Mounts& mounts_;
  std::vector<std::map<std::string, Past>> pasts_;  // by fault, by mount
};

}  // namespace rehearse
