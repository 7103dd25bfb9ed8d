#include "tools/rehearse/out_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Out : public ::testing::Test {
 protected:
  void SetUp() override { write_file(scenario_, small_scenario("resume_from: 4")); }

  Ran run(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run", scenario_, "--out", out_};
    words.insert(words.end(), more.begin(), more.end());
    return rehearse(words);
  }
  // Paths of all files below, temporary ones included.
  std::set<std::string> files() const {
    std::set<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(out_)) {
      if (entry.is_regular_file()) paths.insert(fs::relative(entry.path(), out_).string());
    }
    return paths;
  }

  TemporaryDirectory folder_;
  std::string scenario_ = folder_ / "small.textproto";
  std::string out_ = folder_ / "deep/out";
};

TEST_F(Out, HoldsSummaryMetricsScenarioAndCheckpoints) {
  const Ran ran = run();
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  std::set<std::string> expected = {"summary.json", "metrics.jsonl", "scenario.textproto"};
  for (const char* step : {"step_000002", "step_000004", "step_000006"}) {
    for (const char* file : {"manifest.json", "run_state.json", "model.safetensors", "scenario.textproto",
                             "shard_00000.safetensors", "shard_00001.safetensors"}) {
      expected.insert(std::string("checkpoints/") + step + "/" + file);
    }
  }
  EXPECT_EQ(files(), expected);

  const auto summary = nlohmann::json::parse(read_file(out_ + "/summary.json"));
  EXPECT_EQ(summary["checkpoints"].size(), 3u);
  std::istringstream metrics(read_file(out_ + "/metrics.jsonl"));
  std::size_t lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines) {
    const auto step = nlohmann::json::parse(line);
    EXPECT_EQ(step["step"], lines + 1);
    EXPECT_EQ(step["attempt"], 1);
    EXPECT_EQ(step["loss"], summary["losses"][lines]);
    EXPECT_EQ(step["tokens"], 2 * 2 * 8);
  }
  EXPECT_EQ(lines, 6u);
}

TEST_F(Out, ItsScenarioRunsToTheSameSummary) {
  ASSERT_EQ(run({"--seed", "11", "--set", "train.steps=8"}).code, 0);
  const Ran again = rehearse({"run", out_ + "/scenario.textproto", "--format", "json"});
  ASSERT_EQ(again.code, 0) << again.err;
  auto first = nlohmann::json::parse(read_file(out_ + "/summary.json"));
  auto second = nlohmann::json::parse(again.out);
  first.erase("wall_seconds");
  second.erase("wall_seconds");
  EXPECT_EQ(first, second);
}

TEST_F(Out, RotationReachesTheRealDisk) {
  ASSERT_EQ(run({"--set", "checkpoint.keep=1", "--set", "expect.resume_from=6"}).code, 0);
  EXPECT_FALSE(fs::exists(out_ + "/checkpoints/step_000002"));
  EXPECT_FALSE(fs::exists(out_ + "/checkpoints/step_000004"));
  EXPECT_TRUE(fs::exists(out_ + "/checkpoints/step_000006/manifest.json"));
}

TEST_F(Out, AnEmptyDirectoryIsTaken) {
  fs::create_directories(out_);
  EXPECT_EQ(run().code, 0);
}

TEST_F(Out, ADirectoryThatIsNotEmptyIsRefusedWithoutForce) {
  ASSERT_EQ(run().code, 0);
  const std::set<std::string> before = files();
  const std::string summary = read_file(out_ + "/summary.json");
  const Ran again = run();
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("not empty"));
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(read_file(out_ + "/summary.json"), summary);
}

TEST_F(Out, ForceReplacesAnEarlierRun) {
  ASSERT_EQ(run().code, 0);
  ASSERT_EQ(run({"--force", "--set", "checkpoint.every_steps=4"}).code, 0);
  EXPECT_FALSE(fs::exists(out_ + "/checkpoints/step_000002"));
  EXPECT_TRUE(fs::exists(out_ + "/checkpoints/step_000004"));
}

TEST_F(Out, ForceRefusesWhatRehearseDidNotWrite) {
  ASSERT_EQ(run().code, 0);
  for (const char* foreign : {"thesis.tex", "checkpoints/mine", ".hidden"}) {
    write_file(out_ + "/" + foreign, "x");
    const std::set<std::string> before = files();
    const Ran ran = run({"--force"});
    EXPECT_EQ(ran.code, 2) << foreign;
    EXPECT_THAT(ran.err, HasSubstr("nothing else")) << foreign;
    EXPECT_EQ(files(), before);
    fs::remove(out_ + "/" + foreign);
  }
  // A link by a known name would lead out of the directory.
  fs::remove_all(out_ + "/checkpoints");
  fs::create_directory_symlink(folder_ / "", out_ + "/checkpoints");
  EXPECT_EQ(run({"--force"}).code, 2);
  EXPECT_TRUE(fs::exists(scenario_));
}

TEST_F(Out, ForceNeverDeletesWhatTheRunReads) {
  ASSERT_EQ(run().code, 0);
  const Ran from_copy = rehearse({"run", out_ + "/scenario.textproto", "--out", out_, "--force"});
  EXPECT_EQ(from_copy.code, 2);
  EXPECT_THAT(from_copy.err, HasSubstr("would delete"));
  const Ran resumed = rehearse({"resume", out_ + "/checkpoints/step_000004", "--out", out_, "--force"});
  EXPECT_EQ(resumed.code, 2);
  EXPECT_TRUE(fs::exists(out_ + "/summary.json"));
}

TEST_F(Out, AFileInTheWayIsRefused) {
  fs::create_directories(folder_ / "deep");
  write_file(out_, "x");
  const Ran ran = run();
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no directory"));
}

TEST_F(Out, ADiskThatCannotBeWrittenEndsTheRunWithFour) {
  // Below a file no directory can be made, not even by root.
  write_file(folder_ / "file", "x");
  const Ran ran = rehearse({"run", scenario_, "--out", folder_ / "file/out"});
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("Not a directory"));
}

TEST_F(Out, AFileThatDoesNotFitEndsTheRunWithFourAndLeavesNoHalfCheckpoint) {
  // A child process that may write 2 KiB to a file: metrics and scenario fit, a checkpoint's model does not.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {2048, 2048};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execl(REHEARSE_BINARY, "rehearse", "run", scenario_.c_str(), "--out", out_.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_EQ(files(), (std::set<std::string>{"metrics.jsonl", "scenario.textproto"}));
}

}  // namespace
}  // namespace rehearse::testing_command
