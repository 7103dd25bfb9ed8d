#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/runtime/completion.h"
#include "core/runtime/payload.h"

namespace rehearse {

// A place in a storage: which mount (a shared file system, a node's own disk) and the path in it, relative, with '/'
// between names; never empty names, "." or "..".
struct StoragePath {
  StoragePath(std::string path_mount, std::string path_in_mount)
      : mount(std::move(path_mount)), path(std::move(path_in_mount)) {}
  StoragePath child(const std::string& name) const {
    return StoragePath(mount, path.empty() ? name : path + "/" + name);
  }
  std::string text() const { return mount + ":" + path; }

  std::string mount;
  std::string path;
};

class StorageError : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    kNotFound,
    kExists,
    kNotADirectory,
    kIsADirectory,
    kNotEmpty,
    kNoSpace,
    kIo,
    kFenced
  };
  StorageError(Kind kind, const std::string& operation, const StoragePath& path);
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};
const char* name_of(StorageError::Kind kind);

// Files as a rank sees them, with the durability of a POSIX file system: what is written is seen at once, but survives
// a loss of power only after fsync of the file, and a new, renamed or removed name only after fsync of its directory.
// Every operation fails with StorageError.
class Storage {
 public:
  virtual ~Storage() = default;

  // Creates the file or replaces all of it.
  auto write(const StoragePath& path, Payload data) {
    return make_operation<>([this, path, data = std::move(data)](Completion<> done) mutable {
      start_write(path, std::move(data), std::move(done));
    });
  }
  auto read(const StoragePath& path) {
    return make_operation<Payload>([this, path](Completion<Payload> done) { start_read(path, std::move(done)); });
  }
  auto fsync(const StoragePath& file) {
    return make_operation<>([this, file](Completion<> done) { start_fsync(file, std::move(done)); });
  }
  auto fsync_directory(const StoragePath& directory) {
    return make_operation<>(
        [this, directory](Completion<> done) { start_fsync_directory(directory, std::move(done)); });
  }
  // Replaces an existing file; a directory must not exist at `to`.
  auto rename(const StoragePath& from, const StoragePath& to) {
    return make_operation<>([this, from, to](Completion<> done) { start_rename(from, to, std::move(done)); });
  }
  // A file or an empty directory.
  auto remove(const StoragePath& path) {
    return make_operation<>([this, path](Completion<> done) { start_remove(path, std::move(done)); });
  }
  // Makes the directory and its parents; one that exists is fine.
  auto make_directory(const StoragePath& path) {
    return make_operation<>([this, path](Completion<> done) { start_make_directory(path, std::move(done)); });
  }
  // Names in a directory, sorted by byte.
  auto list(const StoragePath& directory) {
    return make_operation<std::vector<std::string>>(
        [this, directory](Completion<std::vector<std::string>> done) { start_list(directory, std::move(done)); });
  }

 protected:
  virtual void start_write(const StoragePath& path, Payload data, Completion<> done) = 0;
  virtual void start_read(const StoragePath& path, Completion<Payload> done) = 0;
  virtual void start_fsync(const StoragePath& file, Completion<> done) = 0;
  virtual void start_fsync_directory(const StoragePath& directory, Completion<> done) = 0;
  virtual void start_rename(const StoragePath& from, const StoragePath& to, Completion<> done) = 0;
  virtual void start_remove(const StoragePath& path, Completion<> done) = 0;
  virtual void start_make_directory(const StoragePath& path, Completion<> done) = 0;
  virtual void start_list(const StoragePath& directory, Completion<std::vector<std::string>> done) = 0;
};

}  // namespace rehearse
