#include "core/checkpoint/directory.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/checkpoint/names.h"

namespace rehearse {
namespace {

using Kind = StorageError::Kind;

// Whether the error was of this kind; any other goes on.
void expect_kind(const StorageError& error, Kind kind) {
  if (error.kind() != kind) throw error;
}

// Names in a directory, none where it does not exist.
Task<std::vector<std::string>> list_if_there(Storage& storage, StoragePath directory) {
  std::vector<std::string> names;
  try {
    names = co_await storage.list(directory);
  } catch (const StorageError& error) {
    expect_kind(error, Kind::kNotFound);
  }
  co_return names;
}

Task<> read_into(Storage& storage, StoragePath directory, std::string prefix, std::map<std::string, Payload>& files) {
  const std::vector<std::string> names = co_await storage.list(directory);
  for (const std::string& name : names) {
    const StoragePath path = directory.child(name);
    bool is_directory = false;
    try {
      Payload data = co_await storage.read(path);
      files.emplace(prefix + name, std::move(data));
    } catch (const StorageError& error) {
      expect_kind(error, Kind::kIsADirectory);
      is_directory = true;
    }
    if (is_directory) co_await read_into(storage, path, prefix + name + "/", files);
  }
}

// What is left of saves and deletions that were cut short; `names` are those in `parent`.
Task<> clear_leftovers(Storage& storage, StoragePath parent, const std::vector<std::string>& names) {
  bool synced = false;
  for (const std::string& name : names) {
    const auto temporary = temporary_of(name);
    if (!temporary) continue;
    const std::string published = step_directory_name(temporary->step);
    const bool successor = std::binary_search(names.begin(), names.end(), published);
    const StoragePath from = parent.child(name);
    const StoragePath to = parent.child(published);
    if (temporary->kind == TemporaryKind::kReplaced && !successor) {
      co_await storage.rename(from, to);
      continue;
    }
    // Its temporary name may not be durable yet: with the old one back, it must be whole.
    if (temporary->kind != TemporaryKind::kBuilding && !synced) {
      co_await storage.fsync_directory(parent);
      synced = true;
    }
    co_await remove_directory(storage, from);
  }
  co_await storage.fsync_directory(parent);
}

}  // namespace

Payload host_payload(std::span<const std::byte> bytes) {
  return Payload::own(std::vector<std::byte>(bytes.begin(), bytes.end()));
}
Payload host_payload(std::string_view text) { return host_payload(std::as_bytes(std::span(text))); }

Task<> write_durable(Storage& storage, StoragePath file, Payload data) {
  co_await storage.write(file, std::move(data));
  co_await storage.fsync(file);
}

Task<> make_durable_directory(Storage& storage, StoragePath directory) {
  co_await storage.make_directory(directory);
  StoragePath above = directory;
  while (!above.path.empty()) {
    const std::size_t slash = above.path.rfind('/');
    above.path.resize(slash == std::string::npos ? 0 : slash);
    co_await storage.fsync_directory(above);
  }
}

Task<std::map<std::string, Payload>> read_directory(Storage& storage, StoragePath directory) {
  std::map<std::string, Payload> files;
  co_await read_into(storage, directory, "", files);
  co_return files;
}

Task<> remove_directory(Storage& storage, StoragePath directory) {
  const std::vector<std::string> names = co_await list_if_there(storage, directory);
  for (const std::string& name : names) {
    const StoragePath path = directory.child(name);
    bool is_full_directory = false;
    try {
      co_await storage.remove(path);
    } catch (const StorageError& error) {
      // Gone already: a listing may be older than what it lists.
      if (error.kind() != Kind::kNotFound) expect_kind(error, Kind::kNotEmpty);
      is_full_directory = error.kind() == Kind::kNotEmpty;
    }
    if (is_full_directory) co_await remove_directory(storage, path);
  }
  try {
    co_await storage.remove(directory);
  } catch (const StorageError& error) {
    expect_kind(error, Kind::kNotFound);
  }
}

Task<> remove_directory_quietly(Storage& storage, StoragePath directory) {
  try {
    co_await remove_directory(storage, directory);
  } catch (const StorageError&) {
    // prepare_checkpoints clears it at the next start.
  }
}

Task<std::vector<std::int64_t>> list_checkpoints(Storage& storage, StoragePath parent) {
  const std::vector<std::string> names = co_await list_if_there(storage, parent);
  std::vector<std::int64_t> steps;
  for (const std::string& name : names) {
    if (const auto step = step_of_directory(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());  // by number: 9999 before 10000
  co_return steps;
}

Task<std::vector<std::int64_t>> prepare_checkpoints(Storage& storage, StoragePath parent) {
  co_await make_durable_directory(storage, parent);
  const std::vector<std::string> names = co_await storage.list(parent);
  try {
    co_await clear_leftovers(storage, parent, names);
  } catch (const StorageError&) {
    // They have temporary names and do not count; the next start tries again.
  }
  const std::vector<std::int64_t> steps = co_await list_checkpoints(storage, parent);
  co_return steps;
}

Task<> delete_checkpoints(Storage& storage, StoragePath parent, std::vector<std::int64_t> steps) {
  std::vector<StoragePath> deleted;
  for (const std::int64_t step : steps) {
    const StoragePath from = parent.child(step_directory_name(step));
    const StoragePath to = parent.child(deleting_directory_name(step));
    co_await remove_directory(storage, to);  // of a deletion that was cut short
    try {
      co_await storage.rename(from, to);
      deleted.push_back(to);
    } catch (const StorageError& error) {
      expect_kind(error, Kind::kNotFound);
    }
  }
  if (deleted.empty()) co_return;
  co_await storage.fsync_directory(parent);
  for (const StoragePath& directory : deleted) co_await remove_directory(storage, directory);
  co_await storage.fsync_directory(parent);
}

std::vector<std::int64_t> rotated_out(const std::vector<std::int64_t>& steps, std::int64_t keep,
                                      const std::vector<std::int64_t>& keep_also) {
  CHECK_GE(keep, 0);
  CHECK(std::is_sorted(steps.begin(), steps.end()));
  std::vector<std::int64_t> out;
  const auto count = static_cast<std::int64_t>(steps.size());
  for (std::int64_t i = 0; keep > 0 && i < count - keep; ++i) {
    const std::int64_t step = steps[static_cast<std::size_t>(i)];
    if (std::find(keep_also.begin(), keep_also.end(), step) == keep_also.end()) out.push_back(step);
  }
  return out;
}

}  // namespace rehearse
