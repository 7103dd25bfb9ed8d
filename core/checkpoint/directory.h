#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/runtime/payload.h"
#include "core/runtime/storage.h"
#include "core/runtime/task.h"

namespace rehearse {

// The directory that holds a job's checkpoints, and what one rank, the first, does with it. Everything here fails with
// StorageError unless it says otherwise. A checkpoint goes away by a rename to a temporary name that is made durable
// before its first file is removed, so that half of one is never loadable.

// A payload of host memory: counted in no rank's communication buffers.
Payload host_payload(std::span<const std::byte> bytes);
Payload host_payload(std::string_view text);

// Writes a file and makes its contents durable; its name is durable once its directory is synced.
Task<> write_durable(Storage& storage, StoragePath file, Payload data);

// Makes a directory whose name, and those of the directories above it, are durable.
Task<> make_durable_directory(Storage& storage, StoragePath directory);

// Every file below a directory: path in it -> contents.
Task<std::map<std::string, Payload>> read_directory(Storage& storage, StoragePath directory);

// Removes a directory and all in it; nothing happens where it does not exist.
Task<> remove_directory(Storage& storage, StoragePath directory);

// The same after something failed: a StorageError is dropped, what it leaves is for prepare_checkpoints.
Task<> remove_directory_quietly(Storage& storage, StoragePath directory);

// Steps of the checkpoints in `parent`, in order of number; temporary and foreign names do not count. None where
// `parent` does not exist.
Task<std::vector<std::int64_t>> list_checkpoints(Storage& storage, StoragePath parent);

// Makes `parent`, and clears what saves and deletions that were cut short have left: building and deleting directories
// go, a replaced checkpoint goes where its successor is in place and comes back where not; what cannot be cleared stays
// for the next start. Returns the steps that are there. To be called before the first save or load of a generation.
Task<std::vector<std::int64_t>> prepare_checkpoints(Storage& storage, StoragePath parent);

// Deletes the checkpoints of these steps, all that exist.
Task<> delete_checkpoints(Storage& storage, StoragePath parent, std::vector<std::int64_t> steps);

// Which of `steps` (ascending) rotation deletes: all but the newest `keep` and those in `keep_also`; none where keep is
// 0.
std::vector<std::int64_t> rotated_out(const std::vector<std::int64_t>& steps, std::int64_t keep,
                                      const std::vector<std::int64_t>& keep_also);

}  // namespace rehearse
