#include "tools/rehearse/own_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/checkpoint/names.h"
#include "sim/config/loader.h"
#include "sim/trace/log_reader.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/real_files.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string>;

bool has_keys(const Json& json, std::initializer_list<const char*> keys) {
  return json.is_object() && std::all_of(keys.begin(), keys.end(), [&](const char* key) { return json.contains(key); });
}

// Of a run, of a job, or of a run without numbers.
bool is_summary(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  return has_keys(json, {"scenario", "seed", "outcome", "exit_code", "scenario_sha256", "events", "steps"}) &&
         (has_keys(json, {"losses"}) || has_keys(json, {"lost_steps"}) || has_keys(json, {"mode", "step_seconds"}));
}

// The first line says whose file it is; the last may be cut off where the run was killed.
bool is_metrics(const std::string& text) {
  return has_keys(Json::parse(text.substr(0, text.find('\n')), nullptr, false),
                  {"step", "applied_steps", "step_seconds", "tokens"});
}

bool begins_as_trace(const std::string& text) {
  return text.starts_with(R"({"displayTimeUnit":"ns","otherData":{"program":"rehearse )");
}

bool begins_as_report(const std::string& text) {
  return text.starts_with("<!DOCTYPE html>\n<!-- made by rehearse report -->\n");
}

// "step_000010" of "step_000010" and ".step_000010.tmp".
std::string_view without_temporary(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(".tmp")) return name;
  return name.substr(1, name.size() - 5);
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_checkpoint_file(std::string_view name) {
  if (name == kManifestFile || name == kRunStateFile || name == kModelFile || name == kScenarioFile) return true;
  constexpr std::string_view kBefore = "shard_";
  constexpr std::string_view kAfter = ".safetensors";
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) return false;
  if (name.size() < kBefore.size() + kAfter.size()) return false;
  name.remove_prefix(kBefore.size());
  name.remove_suffix(kAfter.size());
  return name.size() >= 5 && all_digits(name);
}

// "00_story.txt", as input_copy_name makes it.
bool is_checkpoint_input(std::string_view name) {
  const std::size_t digits = name.find('_');
  return digits != std::string_view::npos && digits >= 2 && digits + 1 < name.size() &&
         all_digits(name.substr(0, digits));
}

class Search {
 public:
  explicit Search(const std::string& directory) : top_(directory) {}

  std::vector<std::string> run() {
    for (const fs::directory_entry& entry : fs::directory_iterator(top_)) check_top(entry);
    if (!marked_ && foreign_.empty()) {
      for (const fs::directory_entry& entry : fs::directory_iterator(top_)) {
        refuse(entry, "with no summary.json, metrics.jsonl or events.bin of a run beside it");
      }
    }
    std::sort(foreign_.begin(), foreign_.end());
    return std::move(foreign_);
  }

 private:
  static bool is_file(const fs::directory_entry& entry) {
    return entry.symlink_status().type() == fs::file_type::regular;
  }
  static bool is_directory(const fs::directory_entry& entry) {
    return entry.symlink_status().type() == fs::file_type::directory;
  }
  static std::string name_of(const fs::directory_entry& entry) { return entry.path().filename().string(); }

  void refuse(const fs::directory_entry& entry, const std::string& why = "") {
    const std::string path = entry.path().lexically_relative(top_).string();
    foreign_.push_back(why.empty() ? path : path + " (" + why + ")");
  }

  void check_top(const fs::directory_entry& entry) {
    const std::string name = name_of(entry);
    if (is_directory(entry) && without_temporary(name) == kCheckpointsFolder) return check_checkpoints(entry);
    if (is_directory(entry) && name == kInputsDirectory) return check_inputs(entry);
    // Renamed by a removal that was cut off, which had looked into it before.
    if (is_directory(entry) && name == temporary_path(kInputsDirectory)) return;
    if (is_directory(entry) && without_temporary(name) == kResumedFromFolder) {
      for (const fs::directory_entry& file : fs::directory_iterator(entry.path())) check_in_checkpoint(file);
      return;
    }
    if (!is_file(entry)) return refuse(entry);
    if (name == temporary_path(kSummaryFile) || name == kScenarioFile || name == temporary_path(kScenarioFile)) return;
    if (name == temporary_path(kTraceFile) || name == temporary_path(kReportFile)) return;
    if (name == kTraceFile) return check_beginning(entry, begins_as_trace, "not the trace of a run");
    if (name == kReportFile) return check_beginning(entry, begins_as_report, "not the report of a run");
    if (name == kSummaryFile) return check_marker(entry, is_summary, "not the summary of a run");
    // Without a byte they may be what a run began with, and tell nothing.
    if (name == kEventsFile) return entry.file_size() > 0 ? check_events(entry) : void();
    if (name == kMetricsFile) {
      if (entry.file_size() > 0) check_marker(entry, is_metrics, "not the metrics of a run");
      return;
    }
    refuse(entry);
  }

  // Files that say in their first line what they are, and prove nothing about the rest.
  void check_beginning(const fs::directory_entry& entry, bool (*is_ours)(const std::string&), const char* why) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::string text(128, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!is_ours(text)) refuse(entry, why);
  }

  void check_marker(const fs::directory_entry& entry, bool (*is_ours)(const std::string&), const char* why) {
    bool ours = false;
    try {
      ours = is_ours(read_real_file(entry.path().string(), kInputFileLimit));
    } catch (const InputError& error) {
      return refuse(entry, error.what());
    }
    if (!ours) return refuse(entry, why);
    marked_ = true;
  }

  void check_events(const fs::directory_entry& entry) {
    try {
      const LogReader log(entry.path().string());
      marked_ = true;
    } catch (const InputError& error) {
      refuse(entry, error.what());
    }
  }

  void check_checkpoints(const fs::directory_entry& checkpoints) {
    for (const fs::directory_entry& checkpoint : fs::directory_iterator(checkpoints.path())) {
      const std::string name = name_of(checkpoint);
      const bool known = step_of_directory(without_temporary(name)) || temporary_of(name);
      if (!known || !is_directory(checkpoint)) {
        refuse(checkpoint);
        continue;
      }
      for (const fs::directory_entry& entry : fs::directory_iterator(checkpoint.path())) check_in_checkpoint(entry);
    }
  }

  void check_in_checkpoint(const fs::directory_entry& entry) {
    if (is_directory(entry) && name_of(entry) == kInputsDirectory) {
      for (const fs::directory_entry& input : fs::directory_iterator(entry.path())) {
        if (!is_file(input) || !is_checkpoint_input(name_of(input))) refuse(input);
      }
    } else if (!is_file(entry) || !is_checkpoint_file(name_of(entry))) {
      refuse(entry);
    }
  }

  // A run's inputs/ holds what a copy of its scenario would hold.
  void check_inputs(const fs::directory_entry& inputs) {
    Names files;
    try {
      const Scenario scenario = load_scenario((top_ / kScenarioFile).string());
      for (const CopiedFile& file : make_scenario_copy(scenario).files) {
        files.insert(file.path);
        files.insert(temporary_path(file.path));
      }
    } catch (const Error& error) {
      return refuse(inputs, std::string("which files in it are a run's cannot be told: ") + error.what());
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(inputs.path())) {
      const fs::path in_folder = kInputsDirectory / entry.path().lexically_relative(inputs.path());
      const std::string path = in_folder.string();
      const bool holds_some = std::any_of(files.begin(), files.end(),
                                          [&](const std::string& file) { return file.starts_with(path + "/"); });
      if (is_directory(entry) ? !holds_some : !is_file(entry) || !files.contains(path)) refuse(entry);
    }
  }

  fs::path top_;
  bool marked_ = false;
  std::vector<std::string> foreign_;
};

}  // namespace

std::vector<std::string> foreign_entries(const std::string& directory) { return Search(directory).run(); }

std::vector<std::string> in_order_of_removal(std::vector<std::string> names) {
  const auto turn = [](const std::string& name) {
    if (name == kSummaryFile) return 0;
    return name == kMetricsFile || name == kEventsFile ? 2 : 1;
  };
  std::sort(names.begin(), names.end(),
            [&](const std::string& a, const std::string& b) { return turn(a) != turn(b) ? turn(a) < turn(b) : a < b; });
  return names;
}

}  // namespace rehearse
