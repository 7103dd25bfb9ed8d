#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/runtime/storage.h"
#include "core/runtime/task.h"

namespace rehearse {

// A checkpoint that is there, for whoever chooses among them.
struct StoredCheckpoint {
  std::int64_t step = 0;
  bool remote = true;          // it is in the storage that all hosts share
  bool trusted = false;        // there
  bool local = false;          // the local disks have all of it
  bool trusted_local = false;  // on them
  bool is_trusted() const { return trusted || trusted_local; }
};

// The checkpoints that are trusted, ascending by step.
struct TrustedSteps {
  std::vector<std::int64_t> remote;  // in the storage that all hosts share
  std::vector<std::int64_t> local;   // on the local disks
  bool operator==(const TrustedSteps&) const = default;
};

// Which checkpoints to try, in which order; of those present, ascending by step. Pure.
struct CheckpointChoice {
  bool reads_trust = false;  // whether `trusted` is looked up; else no checkpoint has it
  std::function<std::vector<std::int64_t>(const std::vector<StoredCheckpoint>&)> order;
  // Told, with reads_trust, what the list names: maybe checkpoints that are gone.
  std::function<void(const TrustedSteps& named)> on_trust;
  // Told, with reads_trust, that the list of trusted checkpoints is damaged, so that none is trusted.
  std::function<void(const std::string& problem)> on_damaged_trust;
};

// The list's file in a job's directory of checkpoints, and what is written there.
StoragePath trusted_file(const StoragePath& parent);
std::string text_of(const TrustedSteps& steps);

// The checkpoints that are trusted: a file in `parent`, beside those of the shared storage, because a checkpoint earns
// trust after it was published and its bytes stay as they are. None where there is no such file. Throws InputError
// where it is damaged, and StorageError where it cannot be read: to distrust everything because of that would give up
// all that is done.
Task<TrustedSteps> read_trusted(Storage& storage, StoragePath parent);

// Replaces the list, durably and at once. Throws StorageError; then the old list is there, or the new one.
Task<> write_trusted(Storage& storage, StoragePath parent, TrustedSteps steps);

}  // namespace rehearse
