#include "tools/rehearse/out_directory.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/checkpoint/names.h"
#include "tools/rehearse/own_files.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

std::string in(const std::string& directory, const std::string& name) { return (fs::path(directory) / name).string(); }

// "a, b and 3 more"
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) out += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMost) out += " and " + std::to_string(names.size() - kMost) + " more";
  return out;
}

// True where `path` is there, and in `directory`, which must be.
bool lies_in(const fs::path& path, const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  const fs::path whole = fs::canonical(path);
  const fs::path top = fs::canonical(directory);
  return std::mismatch(top.begin(), top.end(), whole.begin(), whole.end()).first == top.end();
}

// Throws InputError unless the directory may be taken; returns what has to be deleted before.
std::vector<std::string> entries_to_delete(const std::string& path, bool force,
                                           const std::vector<std::string>& sources) {
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
    names.push_back(name);
  }
  const std::vector<std::string> foreign = names.empty() ? names : foreign_entries(path);
  if (!foreign.empty()) {
    throw InputError("--out " + path + ": --force replaces an earlier run's files and nothing else, but there is " +
                     listed(foreign) + "; take another directory, or empty this one yourself");
  }
  for (const std::string& source : sources) {
    if (names.empty() || !lies_in(source, path)) continue;
    throw InputError("--out " + path + ": --force would delete " + source +
                     ", which the run reads; take another directory");
  }
  return in_order_of_removal(std::move(names));
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

OutDirectory::OutDirectory(const std::string& path, bool force, const std::vector<std::string>& sources, bool records)
    : path_(path) {
  std::vector<std::string> old;
  try {
    old = entries_to_delete(path, force, sources);
  } catch (const fs::filesystem_error& error) {
    throw RealIoError("cannot read directory " + path + ": " + error.code().message());
  }
  for (const std::string& name : old) {
    if (fs::path(name).extension() == ".tmp" || !fs::is_directory(in(path_, name))) {
      remove_tree(in(path_, name));
    } else {
      remove_published(in(path_, name));
    }
  }
  make_directories(path_);
  if (!old.empty()) sync_directory(path_);
  if (!records) return;
  metrics_.emplace(in(path_, kMetricsFile));
  events_.emplace(in(path_, kEventsFile));
}

void OutDirectory::write_scenario(const ScenarioCopy& copy) {
  for (const CopiedFile& file : copy.files) {
    const std::string target = in(path_, file.path);
    make_directories(fs::path(target).parent_path().string());
    write_file_atomically(target, *file.contents);
  }
  write_file_atomically(in(path_, kScenarioFile), copy.text);
}

void OutDirectory::write_start(const ResumeFrom& start) {
  const std::string target = in(path_, kResumedFromFolder);
  const std::string building = temporary_path(target);
  write_new_tree(building, start.files);
  rename_path(building, target);
  sync_directory(path_);
}

void OutDirectory::export_checkpoint(const CheckpointRecord& checkpoint, std::int64_t keep) {
  const std::string parent = in(path_, kCheckpointsFolder);
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
  // A job that rolled back saves a step again. What it saved before goes by way of another name.
  const std::string replaced = in(parent, replaced_directory_name(checkpoint.step));
  remove_tree(replaced);
  std::error_code error;
  if (fs::exists(target, error)) rename_path(target, replaced);
  rename_path(building, target);
  sync_directory(parent);
  remove_tree(replaced);

  std::erase(exported_, checkpoint.directory);
  exported_.push_back(checkpoint.directory);
  while (keep > 0 && std::cmp_greater(exported_.size(), keep)) remove_checkpoint(0);
}

void OutDirectory::remove_checkpoint(std::size_t index) {
  remove_published(in(in(path_, kCheckpointsFolder), exported_[index]));
  exported_.erase(exported_.begin() + static_cast<std::ptrdiff_t>(index));
}

void OutDirectory::finish(const std::vector<CheckpointRecord>& checkpoints, const std::string& summary) {
  for (std::size_t i = exported_.size(); i-- > 0;) {
    const bool kept = std::any_of(checkpoints.begin(), checkpoints.end(), [&](const CheckpointRecord& checkpoint) {
      return checkpoint.directory == exported_[i];
    });
    if (!kept) remove_checkpoint(i);
  }
  if (metrics_.has_value()) metrics_->sync();
  if (events_.has_value()) events_->sync();
  write_file_atomically(in(path_, kSummaryFile), summary);
}

}  // namespace rehearse
