#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "core/checkpoint/names.h"
#include "sim/trace/log_writer.h"
#include "tests/tools/rehearse/disk_journal.h"
#include "tests/tools/rehearse/run_in_process.h"
#include "tools/rehearse/out_directory.h"
#include "tools/rehearse/own_files.h"

// What --out leaves where the process or the power ends in the middle.

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSummaryText =
    R"({"scenario": "a", "seed": 1, "outcome": "DONE", "exit_code": 0, "scenario_sha256": "", "events": 1, "steps": 1,
        "losses": []})";
constexpr const char* kMetricsLine =
    R"({"step": 1, "applied_steps": 1, "loss": 1, "grad_norm": 1, "lr": 1, "step_seconds": 1, "tokens": 1})";

CheckpointRecord checkpoint_of(std::int64_t step) {
  CheckpointRecord checkpoint;
  checkpoint.step = step;
  checkpoint.directory = step_directory_name(step);
  for (const char* file : {"manifest.json", "run_state.json", "shard_00000.safetensors", "inputs/00_story.txt"}) {
    checkpoint.files.emplace(file, FileData::copy_of(std::string(file) + " of " + checkpoint.directory));
  }
  return checkpoint;
}

// Everything that a run does in its directory, a step saved again and rotation included.
void write_all(const std::string& path) {
  OutDirectory out(path, true, {});
  ScenarioCopy copy;
  copy.text = "a scenario\n";
  out.write_scenario(copy);
  ResumeFrom start;
  start.files = checkpoint_of(1).files;
  out.write_start(start);
  LogHeader header;
  header.ranks = 1;
  LogWriter events(header, [&out](std::string_view bytes) { out.append_events(bytes); });
  for (const std::int64_t step : {2, 4, 4, 6}) {
    out.append_metrics(kMetricsLine);
    out.export_checkpoint(checkpoint_of(step), 2);
  }
  events.finish("DONE");
  out.finish({checkpoint_of(6)}, kSummaryText);
}

// The files below a directory by their paths in it.
std::map<std::string, std::string> files_below(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) {
      files.emplace(fs::relative(entry.path(), directory).string(), read_file(entry.path().string()));
    }
  }
  return files;
}

void expect_whole_checkpoints(const std::string& out, const std::string& when) {
  const fs::path checkpoints = fs::path(out) / "checkpoints";
  if (!fs::exists(checkpoints)) return;
  for (const auto& entry : fs::directory_iterator(checkpoints)) {
    const auto step = step_of_directory(entry.path().filename().string());
    if (!step) continue;
    std::map<std::string, std::string> expected;
    for (const auto& [file, data] : checkpoint_of(*step).files) expected.emplace(file, data.text());
    EXPECT_EQ(files_below(entry.path()), expected) << entry.path() << " " << when;
  }
}

TEST(Durability, WhereverTheProcessEndsACheckpointUnderItsNameIsWhole) {
  TemporaryDirectory folder;
  const std::string out = folder / "deep/out";
  int stops = 0;
  for (bool through = false; !through; ++stops) {
    // An earlier run's directory, so that taking it is among what is cut off.
    fs::remove_all(folder / "deep");
    write_all(out);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskJournal::end_process_before(stops);
      write_all(out);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_THAT(WEXITSTATUS(status), ::testing::AnyOf(0, DiskJournal::kEnded));
    through = WEXITSTATUS(status) == 0;
    const std::string when = "after " + std::to_string(stops) + " operations";
    expect_whole_checkpoints(out, when);
    if (fs::exists(out + "/summary.json")) {
      EXPECT_EQ(read_file(out + "/summary.json"), kSummaryText) << when;
      EXPECT_TRUE(fs::exists(out + "/checkpoints/step_000006")) << when;
    }
    // What is left is a run's, and --force takes it, as long as anything tells so.
    for (const std::string& entry : fs::exists(out) ? foreign_entries(out) : std::vector<std::string>()) {
      EXPECT_THAT(entry, ::testing::HasSubstr("no summary.json, metrics.jsonl or events.bin")) << when;
    }
  }
  EXPECT_GT(stops, 40);
  std::printf("%d places to end at\n", stops);
}

// The operations of a run that takes an earlier run's directory, and of one that makes its directory.
class Durable : public ::testing::Test {
 protected:
  using Kind = DiskOperation::Kind;

  static std::string parent_of(const std::string& path) { return fs::path(path).parent_path().string(); }
  static std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

  std::vector<std::vector<DiskOperation>> runs() {
    std::vector<std::vector<DiskOperation>> runs;
    for (const bool taken : {true, false}) {
      fs::remove_all(folder_ / "deep");
      if (taken) write_all(out_);
      DiskJournal journal;
      write_all(out_);
      runs.push_back(journal.operations());
      EXPECT_GT(runs.back().size(), 30u);
    }
    return runs;
  }
  // Whether `directory` is synced after operation `after` and before `end`.
  static bool is_synced(const std::vector<DiskOperation>& run, const std::string& directory, std::size_t after,
                        std::size_t end) {
    return std::any_of(run.begin() + static_cast<std::ptrdiff_t>(after), run.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const DiskOperation& one) { return one.kind == Kind::kSync && one.path == directory; });
  }

  TemporaryDirectory folder_;
  std::string out_ = folder_ / "deep/out";
};

TEST_F(Durable, EveryNewNameIsSynced) {
  int names = 0;
  for (const std::vector<DiskOperation>& run : runs()) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (run[i].kind != Kind::kMakeDirectory && run[i].kind != Kind::kRename) continue;
      const std::string& path = run[i].kind == Kind::kRename ? run[i].to : run[i].path;
      EXPECT_TRUE(is_synced(run, parent_of(path), i, run.size())) << path;
      ++names;
    }
  }
  std::printf("%d names\n", names);
}

TEST_F(Durable, NothingIsRemovedBeforeItsOtherNameIsSynced) {
  int removed = 0;
  for (const std::vector<DiskOperation>& run : runs()) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (run[i].kind != Kind::kRemove) continue;
      ++removed;
      // A checkpoint's name never stands over what is being removed, unless all of them are under a temporary name.
      bool temporary = false;
      for (const fs::path& part : fs::path(run[i].path)) {
        temporary = temporary || part.string().starts_with('.');
        EXPECT_TRUE(temporary || !step_of_directory(part.string())) << run[i].path;
      }
      for (std::size_t before = 0; before < i; ++before) {
        if (run[before].kind != Kind::kRename || !run[i].path.starts_with(run[before].to)) continue;
        EXPECT_TRUE(is_synced(run, parent_of(run[before].to), before, i)) << run[i].path;
      }
    }
  }
  EXPECT_GT(removed, 10);
  std::printf("%d removals\n", removed);
}

}  // namespace
}  // namespace rehearse::testing_command
