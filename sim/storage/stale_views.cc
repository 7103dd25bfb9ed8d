#include "sim/storage/stale_views.h"

namespace rehearse {

void StaleViews::reset() {
  pasts_.assign(faults_.size(), {});
  for (auto& past : pasts_) {
    for (const auto& [name, mount] : mounts_.all()) past.emplace(name, Past(mount.files));
  }
}

void StaleViews::note(TimePoint now, const FileCall& call) {
  for (std::size_t fault = 0; fault < faults_.size(); ++fault) {
    Past& past = pasts_[fault].at(call.path.mount);
    advance(fault, past, now);
    past.later.push_back(Change{now, call});
  }
}

FileSystem StaleViews::view(std::size_t fault, const std::string& mount, TimePoint now) {
  Past& past = pasts_[fault].at(mount);
  advance(fault, past, now);
  FileSystem files = past.files;
  for (const Change& change : past.later) {
    if (change.call.rank == faults_[fault].rank) redo(change.call, files);
  }
  return files;
}

void StaleViews::advance(std::size_t fault, Past& past, TimePoint now) {
  while (!past.later.empty() && past.later.front().time + faults_[fault].delay <= now) {
    redo(past.later.front().call, past.files);
    past.later.pop_front();
  }
}

void StaleViews::redo(const FileCall& call, FileSystem& files) {
  try {
    carry_out(call, files);
  } catch (const StorageError&) {
    // What it was done to is not to be seen yet.
  }
}

}  // namespace rehearse
