#include "tools/rehearse/out_directory.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "core/base/error.h"
#include "core/checkpoint/names.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSummary = "summary.json";
constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kScenario = "scenario.textproto";
constexpr const char* kInputs = "inputs";
constexpr const char* kCheckpoints = "checkpoints";

std::string in(const std::string& directory, const std::string& name) { return (fs::path(directory) / name).string(); }

bool is_own_checkpoint(const std::string& name) {
  // "step_000010" and ".step_000010.tmp"
  std::string_view step = name;
  if (step.starts_with('.') && step.ends_with(".tmp")) {
    step.remove_prefix(1);
    step.remove_suffix(4);
  }
  return step_of_directory(step).has_value();
}

// True for a name that a run writes in its directory, with the type it writes it as.
bool is_own_entry(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const fs::file_type type = entry.symlink_status().type();
  if (name == kInputs) return type == fs::file_type::directory;
  if (name == kCheckpoints) {
    if (type != fs::file_type::directory) return false;
    return std::all_of(fs::directory_iterator(entry.path()), fs::directory_iterator(), [](const auto& checkpoint) {
      return is_own_checkpoint(checkpoint.path().filename().string()) &&
             checkpoint.symlink_status().type() == fs::file_type::directory;
    });
  }
  const std::set<std::string> files = {kSummary, kMetrics, kScenario, ".summary.json.tmp", ".scenario.textproto.tmp"};
  return files.contains(name) && type == fs::file_type::regular;
}

// True where `path` is in `directory`, both existing.
bool lies_in(const fs::path& path, const fs::path& directory) {
  const fs::path whole = fs::canonical(path);
  const fs::path top = fs::canonical(directory);
  return std::mismatch(top.begin(), top.end(), whole.begin(), whole.end()).first == top.end();
}

// Throws InputError unless the directory may be taken; returns what has to be deleted before.
std::vector<std::string> entries_to_delete(const std::string& path, bool force, const std::string& source) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return {};
  if (status.type() != fs::file_type::directory) {
    throw InputError("--out " + path + ": it is no directory" + (error ? ": " + error.message() : ""));
  }
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (!force) {
      throw InputError("--out " + path + ": the directory is not empty (it has " + name +
                       "); take another, or add --force to replace an earlier run's files");
    }
    if (!is_own_entry(entry)) {
      throw InputError("--out " + path + ": --force replaces an earlier run's files and nothing else, but there is " +
                       name + "; take another directory, or empty this one yourself");
    }
    names.push_back(name);
  }
  if (!names.empty() && lies_in(source, path)) {
    throw InputError("--out " + path + ": --force would delete " + source +
                     ", which the run reads; take another "
                     "directory");
  }
  // The summary goes first: a directory that has one is complete.
  std::sort(names.begin(), names.end());
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == kSummary; });
  return names;
}

// A new directory with these files, by path in it; all durable but for the directory's own name.
void write_new_tree(const std::string& directory, const std::map<std::string, FileData>& files) {
  make_new_directory(directory);
  std::set<std::string> directories = {directory};
  for (const auto& [name, data] : files) {
    const std::string file = in(directory, name);
    const std::string parent = fs::path(file).parent_path().string();
    if (directories.insert(parent).second) make_directories(parent);
    write_new_file(file, data.bytes());
  }
  // Those below before those above.
  for (auto one = directories.rbegin(); one != directories.rend(); ++one) sync_directory(*one);
}

}  // namespace

OutDirectory::OutDirectory(const std::string& path, bool force, const std::string& source) : path_(path) {
  std::vector<std::string> old;
  try {
    old = entries_to_delete(path, force, source);
  } catch (const fs::filesystem_error& error) {
    throw RealIoError("cannot read directory " + path + ": " + error.code().message());
  }
  for (const std::string& name : old) remove_tree(in(path_, name));
  make_directories(path_);
  metrics_.emplace(in(path_, kMetrics));
}

void OutDirectory::write_scenario(const ScenarioCopy& copy) {
  for (const CopiedFile& file : copy.files) {
    const std::string target = in(path_, file.path);
    make_directories(fs::path(target).parent_path().string());
    write_file_atomically(target, *file.contents);
  }
  write_file_atomically(in(path_, kScenario), copy.text);
}

void OutDirectory::export_checkpoint(const CheckpointRecord& checkpoint, std::int64_t keep) {
  const std::string parent = in(path_, kCheckpoints);
  const std::string target = in(parent, checkpoint.directory);
  const std::string building = temporary_path(target);
  make_directories(parent);
  remove_tree(building);
  try {
    write_new_tree(building, checkpoint.files);
  } catch (const RealIoError&) {
    // Best effort: half of a checkpoint is of no use, and the disk may be full.
    std::error_code ignored;
    fs::remove_all(building, ignored);
    throw;
  }
  // A job that rolled back saves a step again.
  remove_tree(target);
  rename_path(building, target);
  sync_directory(parent);

  std::erase(exported_, checkpoint.directory);
  exported_.push_back(checkpoint.directory);
  while (keep > 0 && std::cmp_greater(exported_.size(), keep)) remove_checkpoint(0);
}

void OutDirectory::remove_checkpoint(std::size_t index) {
  const std::string target = in(in(path_, kCheckpoints), exported_[index]);
  const std::string deleting = temporary_path(target);
  // Renamed first, so that half of a checkpoint never bears its name.
  remove_tree(deleting);
  rename_path(target, deleting);
  remove_tree(deleting);
  exported_.erase(exported_.begin() + static_cast<std::ptrdiff_t>(index));
}

void OutDirectory::finish(const std::vector<CheckpointRecord>& checkpoints, const std::string& summary) {
  for (std::size_t i = exported_.size(); i-- > 0;) {
    const bool kept = std::any_of(checkpoints.begin(), checkpoints.end(), [&](const CheckpointRecord& checkpoint) {
      return checkpoint.directory == exported_[i];
    });
    if (!kept) remove_checkpoint(i);
  }
  metrics_->sync();
  write_file_atomically(in(path_, kSummary), summary);
}

}  // namespace rehearse
