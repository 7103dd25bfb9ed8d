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
  bool trusted = false;  // it is in the list of trusted checkpoints
};

// Which checkpoints to try, in which order; of those present, ascending by step. Pure.
struct CheckpointChoice {
  bool reads_trust = false;  // whether `trusted` is looked up; else no checkpoint has it
  std::function<std::vector<std::int64_t>(const std::vector<StoredCheckpoint>&)> order;
  // Told, with reads_trust, what the list names: maybe checkpoints that are gone.
  std::function<void(const std::vector<std::int64_t>& named)> on_trust;
  // Told, with reads_trust, that the list of trusted checkpoints is damaged, so that none is trusted.
  std::function<void(const std::string& problem)> on_damaged_trust;
};

// The steps of the checkpoints in `parent` that are trusted, ascending: a file beside them, because a checkpoint earns
// trust after it was published and its bytes stay as they are. None where there is no such file. Throws InputError
// where it is damaged, and StorageError where it cannot be read: to distrust everything because of that would give up
// all that is done.
Task<std::vector<std::int64_t>> read_trusted(Storage& storage, StoragePath parent);

// Replaces the list, durably and at once. Throws StorageError; then the old list is there, or the new one.
Task<> write_trusted(Storage& storage, StoragePath parent, std::vector<std::int64_t> steps);

}  // namespace rehearse
