#include "sim/storage/file_system.h"

#include <algorithm>
#include <set>

#include "core/base/check.h"

namespace rehearse {
namespace {

using Kind = StorageError::Kind;

// {directory, name in it}. Requires a path that is not the root.
std::pair<std::string, std::string> split(const std::string& path) {
  CHECK(!path.empty());
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < path.size() || (begin == path.size() && begin > 0);) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    names.push_back(path.substr(begin, end - begin));
    CHECK(!names.back().empty() && names.back() != "." && names.back() != "..");
    begin = end + 1;
  }
  return names;
}

}  // namespace

FileSystem::FileSystem(std::string mount) : mount_(std::move(mount)) { add_node(true); }

void FileSystem::fail(Kind kind, const char* operation, const std::string& path) const {
  throw StorageError(kind, operation, StoragePath(mount_, path));
}

FileSystem::NodeId FileSystem::add_node(bool is_directory) {
  nodes_[next_node_].is_directory = is_directory;
  return next_node_++;
}

std::optional<FileSystem::NodeId> FileSystem::find(const std::string& path) const {
  NodeId at = kRoot;
  for (const std::string& name : names_of(path)) {
    const Names& names = node(at).seen.names;  // empty for a file
    const auto found = names.find(name);
    if (found == names.end()) return std::nullopt;
    at = found->second;
  }
  return at;
}

FileSystem::NodeId FileSystem::find_or_throw(const char* operation, const std::string& path) const {
  const auto found = find(path);
  if (!found) fail(Kind::kNotFound, operation, path);
  return *found;
}

FileSystem::NodeId FileSystem::directory_or_throw(const char* operation, const std::string& path) const {
  const NodeId id = find_or_throw(operation, path);
  if (!node(id).is_directory) fail(Kind::kNotADirectory, operation, path);
  return id;
}

FileSystem::NodeId FileSystem::file_or_throw(const char* operation, const std::string& path) const {
  const NodeId id = find_or_throw(operation, path);
  if (node(id).is_directory) fail(Kind::kIsADirectory, operation, path);
  return id;
}

void FileSystem::apply(const Operation& operation, View& view) {
  if (operation.changes.empty()) view.data = operation.data;
  for (const NameChange& change : operation.changes) {
    if (change.target) {
      view.names[change.name] = *change.target;
    } else {
      view.names.erase(change.name);
    }
  }
}

void FileSystem::change_names(NodeId directory, std::vector<NameChange> changes, int by) {
  CHECK(!changes.empty());
  unsynced_.push_back(Operation{directory, by, FileData(), std::move(changes)});
  apply(unsynced_.back(), node(directory).seen);
}

void FileSystem::change_contents(NodeId file, FileData data, int by) {
  unsynced_.push_back(Operation{file, by, std::move(data), {}});
  apply(unsynced_.back(), node(file).seen);
}

void FileSystem::write(const std::string& path, FileData data, int by) {
  const auto [parent_path, name] = split(path);
  const NodeId parent = directory_or_throw("write", parent_path);
  const auto existing = find(path);
  if (existing && node(*existing).is_directory) fail(Kind::kIsADirectory, "write", path);
  const NodeId file = existing ? *existing : add_node(false);
  if (!existing) change_names(parent, {NameChange{name, file}}, by);
  change_contents(file, FileData(), by);
  if (capacity_ && used() + data.size() > *capacity_) fail(Kind::kNoSpace, "write", path);
  unsynced_.pop_back();  // truncating and filling is one write
  change_contents(file, std::move(data), by);
}

FileData FileSystem::read(const std::string& path) const { return node(file_or_throw("read", path)).seen.data; }

void FileSystem::make_durable(NodeId id) {
  for (const Operation& operation : unsynced_) {
    if (operation.node == id) apply(operation, node(id).durable);
  }
  std::erase_if(unsynced_, [id](const Operation& operation) { return operation.node == id; });
}

void FileSystem::fsync(const std::string& path) { make_durable(file_or_throw("fsync", path)); }

void FileSystem::fsync_directory(const std::string& path) {
  make_durable(directory_or_throw("fsync_directory", path));
  drop_unreachable_nodes();
}

void FileSystem::rename(const std::string& from, const std::string& to, int by) {
  const NodeId moved = find_or_throw("rename", from);
  if (from == to) return;
  const auto [from_parent, from_name] = split(from);
  const auto [to_parent, to_name] = split(to);
  const NodeId source = directory_or_throw("rename", from_parent);
  const NodeId target = directory_or_throw("rename", to_parent);
  const bool moves_directory = node(moved).is_directory;
  if (moves_directory && to.starts_with(from + "/")) fail(Kind::kIo, "rename", to);
  if (const auto existing = find(to)) {
    if (moves_directory) fail(Kind::kExists, "rename", to);
    if (node(*existing).is_directory) fail(Kind::kIsADirectory, "rename", to);
  }
  if (source == target) {
    change_names(source, {NameChange{from_name, std::nullopt}, NameChange{to_name, moved}}, by);
  } else {
    change_names(target, {NameChange{to_name, moved}}, by);
    change_names(source, {NameChange{from_name, std::nullopt}}, by);
  }
}

void FileSystem::remove(const std::string& path, int by) {
  const NodeId removed = find_or_throw("remove", path);
  if (!node(removed).seen.names.empty()) fail(Kind::kNotEmpty, "remove", path);
  const auto [parent, name] = split(path);
  change_names(directory_or_throw("remove", parent), {NameChange{name, std::nullopt}}, by);
}

void FileSystem::make_directory(const std::string& path, int by) {
  NodeId at = kRoot;
  for (const std::string& name : names_of(path)) {
    const Names& names = node(at).seen.names;
    const auto found = names.find(name);
    NodeId next = found == names.end() ? -1 : found->second;
    if (next < 0) {
      next = add_node(true);
      change_names(at, {NameChange{name, next}}, by);
    } else if (!node(next).is_directory) {
      fail(Kind::kNotADirectory, "make_directory", path);
    }
    at = next;
  }
}

std::vector<std::string> FileSystem::list(const std::string& path) const {
  std::vector<std::string> names;
  for (const auto& [name, id] : node(directory_or_throw("list", path)).seen.names) names.push_back(name);
  return names;
}

Bytes FileSystem::used() const {
  Bytes total;
  for (const auto& [path, data] : files()) total += data.size();
  return total;
}

std::optional<Bytes> FileSystem::unsynced_write(std::size_t operation) const {
  const Operation& one = unsynced_.at(operation);
  if (!one.changes.empty()) return std::nullopt;
  return one.data.size();
}

bool FileSystem::survives(const PowerLoss& loss, std::size_t index, Operation& operation) {
  using Survivors = PowerLoss::Survivors;
  const bool named = index == loss.operation;
  if (loss.survivors == Survivors::kNone || (loss.survivors == Survivors::kOnly && !named) ||
      (loss.survivors == Survivors::kAllBut && named)) {
    return false;
  }
  const bool torn = loss.torn_after.has_value() && (loss.survivors != Survivors::kAllTornOne || named);
  if (torn) operation.data = operation.data.prefix(*loss.torn_after);
  return true;
}

void FileSystem::lose_power(const PowerLoss& loss) {
  for (std::size_t i = 0; i < unsynced_.size(); ++i) {
    if (survives(loss, i, unsynced_[i])) apply(unsynced_[i], node(unsynced_[i].node).durable);
  }
  unsynced_.clear();
  for (auto& [id, node] : nodes_) node.seen = node.durable;
  drop_unreachable_nodes();
}

void FileSystem::lose_host(int rank, const PowerLoss& loss) {
  CHECK(rank != kNobody);
  std::size_t at_risk = 0;
  std::erase_if(unsynced_,
                [&](Operation& operation) { return operation.by == rank && !survives(loss, at_risk++, operation); });
  if (at_risk == 0) return;
  for (auto& [id, node] : nodes_) node.seen = node.durable;
  for (const Operation& operation : unsynced_) apply(operation, node(operation.node).seen);
  drop_unreachable_nodes();
}

bool FileSystem::rot(const std::string& path, Bytes offset, int bit) {
  CHECK(bit >= 0 && bit < 8);
  const NodeId file = file_or_throw("rot", path);
  const auto at = static_cast<std::size_t>(offset.count());
  const auto invert = [&](FileData& data) {
    if (data.size() <= offset || !data.has_bytes()) return false;
    std::vector<std::byte> bytes(data.bytes().begin(), data.bytes().end());
    bytes[at] ^= static_cast<std::byte>(1U << bit);
    data = FileData::copy_of(bytes);
    return true;
  };
  const bool seen = invert(node(file).seen.data);
  invert(node(file).durable.data);
  for (Operation& operation : unsynced_) {
    if (operation.node == file) invert(operation.data);
  }
  return seen;
}

void FileSystem::vanish(const std::string& path) {
  const NodeId file = file_or_throw("vanish", path);
  const auto forget = [file](Names& names) {
    std::erase_if(names, [&](const auto& one) { return one.second == file; });
  };
  for (auto& [id, node] : nodes_) {
    forget(node.seen.names);
    forget(node.durable.names);
  }
  for (Operation& operation : unsynced_) {
    std::erase_if(operation.changes, [file](const NameChange& change) { return change.target == file; });
  }
  std::erase_if(unsynced_, [&](const Operation& operation) {
    return node(operation.node).is_directory ? operation.changes.empty() : operation.node == file;
  });
  drop_unreachable_nodes();
}

void FileSystem::drop_unreachable_nodes() {
  std::set<NodeId> reached;
  std::vector<NodeId> open = {kRoot};
  // A loss of power that keeps one operation alone can bring its target back even where a later one took it away.
  for (const Operation& operation : unsynced_) {
    for (const NameChange& change : operation.changes) open.push_back(change.target.value_or(kRoot));
  }
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!reached.insert(id).second) continue;
    for (const auto& [name, child] : node(id).seen.names) open.push_back(child);
    for (const auto& [name, child] : node(id).durable.names) open.push_back(child);
  }
  std::erase_if(nodes_, [&reached](const auto& entry) { return !reached.contains(entry.first); });
  std::erase_if(unsynced_, [&reached](const Operation& operation) { return !reached.contains(operation.node); });
}

void FileSystem::collect(View Node::*view, NodeId directory, const std::string& prefix,
                         std::map<std::string, FileData>& out) const {
  for (const auto& [name, id] : (node(directory).*view).names) {
    if (node(id).is_directory) {
      collect(view, id, prefix + name + "/", out);
    } else {
      out.emplace(prefix + name, (node(id).*view).data);
    }
  }
}

std::map<std::string, FileData> FileSystem::files() const {
  std::map<std::string, FileData> out;
  collect(&Node::seen, kRoot, "", out);
  return out;
}

std::map<std::string, FileData> FileSystem::durable_files() const {
  std::map<std::string, FileData> out;
  collect(&Node::durable, kRoot, "", out);
  return out;
}

void FileSystem::import_files(const std::map<std::string, FileData>& files) {
  const std::optional<Bytes> capacity = std::exchange(capacity_, std::nullopt);  // they are there, full or not
  for (const auto& [path, data] : files) {
    CHECK(!find(path).has_value());
    const auto [parent, name] = split(path);
    make_directory(parent);
    write(path, data);
    fsync(path);
    // From the file's directory up to the root, so that the path to it is durable, too.
    for (std::string directory = parent;; directory = split(directory).first) {
      fsync_directory(directory);
      if (directory.empty()) break;
    }
  }
  capacity_ = capacity;
}

}  // namespace rehearse
