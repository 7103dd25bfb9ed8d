#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/storage.h"
#include "sim/fault/storage_faults.h"
#include "sim/storage/file_data.h"

namespace rehearse {

// One mount: a tree in memory with the durability of a POSIX file system (core/runtime/storage.h). Everything written
// is seen at once; a loss of power reverts to what was made durable:
//   - a file's contents, by fsync of the file. A name that is durable while its file never was synced is an empty file;
//   - a directory's names, by fsync of the directory. A rename is atomic and, in one directory, also durable as one;
//     between two, each directory's half is durable with that directory's fsync.
// Pure: knows no time and no ranks. Copies are snapshots (contents are shared). Paths are relative to the mount, "" is
// its root; empty names, "." and ".." are our mistakes (CHECK). What the caller's files can cause throws StorageError.
class FileSystem {
 public:
  explicit FileSystem(std::string mount);

  const std::string& mount() const { return mount_; }

  // Who does an operation: a rank, whose host may be lost with what it did not sync; or nobody.
  static constexpr int kNobody = -1;

  // Storage's operations.
  void write(const std::string& path, FileData data, int by = kNobody);
  FileData read(const std::string& path) const;
  void fsync(const std::string& path);
  void fsync_directory(const std::string& path);
  void rename(const std::string& from, const std::string& to, int by = kNobody);
  void remove(const std::string& path, int by = kNobody);
  void make_directory(const std::string& path, int by = kNobody);
  std::vector<std::string> list(const std::string& path) const;

  // A write that would exceed `capacity` leaves an empty file and fails with kNoSpace. Without one, disks never fill.
  void set_capacity(std::optional<Bytes> capacity) { capacity_ = capacity; }
  // Bytes in files as seen now.
  Bytes used() const;

  // Operations that a loss of power could undo, oldest first.
  std::size_t unsynced_operations() const { return unsynced_.size(); }
  // Of these, the size of a file's new contents; nothing where it is a change of names.
  std::optional<Bytes> unsynced_write(std::size_t operation) const;
  // Power goes and comes back: what survives is durable and is all there is.
  void lose_power(const PowerLoss& loss = {});
  // The host of a rank goes, with what it had not handed over: of its unsynced operations (which `loss` counts) those
  // that do not survive are undone, the others are as unsynced as before.
  void lose_host(int rank, const PowerLoss& loss = {});

  // What happens at rest, to what is seen and to what is durable. Require a file at `path`.
  // Inverts a bit of the file; false where it has no such byte.
  bool rot(const std::string& path, Bytes offset, int bit);
  // The file is gone as if it had never been.
  void vanish(const std::string& path);

  // Path -> contents of every file as seen now, and as a loss of power (kNone) would leave it.
  std::map<std::string, FileData> files() const;
  std::map<std::string, FileData> durable_files() const;
  // Adds files, with their directories, that are durable from the start. Requires that none exists.
  void import_files(const std::map<std::string, FileData>& files);

 private:
  using NodeId = std::int64_t;
  using Names = std::map<std::string, NodeId>;
  // What one of the two views, seen and durable, knows of a node.
  struct View {
    Names names;    // of a directory
    FileData data;  // of a file
  };
  struct Node {
    bool is_directory = false;
    View seen;
    View durable;
  };
  struct NameChange {
    std::string name;
    std::optional<NodeId> target;  // nothing: the name goes away
  };
  // New contents of a file, or changes of one directory's names that happen together.
  struct Operation {
    NodeId node = 0;
    int by = kNobody;
    FileData data;
    std::vector<NameChange> changes;
  };

  std::optional<NodeId> find(const std::string& path) const;
  NodeId find_or_throw(const char* operation, const std::string& path) const;
  NodeId directory_or_throw(const char* operation, const std::string& path) const;
  NodeId file_or_throw(const char* operation, const std::string& path) const;
  Node& node(NodeId id) { return nodes_.at(id); }
  const Node& node(NodeId id) const { return nodes_.at(id); }
  NodeId add_node(bool is_directory);
  void change_names(NodeId directory, std::vector<NameChange> changes, int by);
  void change_contents(NodeId file, FileData data, int by);
  static void apply(const Operation& operation, View& view);
  void make_durable(NodeId id);
  // Whether the operation, which is the index-th that is at risk, survives the loss; torn, where it then is.
  static bool survives(const PowerLoss& loss, std::size_t index, Operation& operation);
  void drop_unreachable_nodes();
  void collect(View Node::*view, NodeId directory, const std::string& prefix,
               std::map<std::string, FileData>& out) const;
  [[noreturn]] void fail(StorageError::Kind kind, const char* operation, const std::string& path) const;

  static constexpr NodeId kRoot = 0;
  std::string mount_;
  std::map<NodeId, Node> nodes_;
  NodeId next_node_ = kRoot;
  std::vector<Operation> unsynced_;
  std::optional<Bytes> capacity_;
};

}  // namespace rehearse
