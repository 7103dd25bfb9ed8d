#include "tools/rehearse/out_directory.h"
#include "core/formats/json.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
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
  std::set<std::string> expected = {"summary.json", "metrics.jsonl", "events.bin", "scenario.textproto"};
  for (const char* step : {"step_000002", "step_000004", "step_000006"}) {
    for (const char* file : {"manifest.json", "run_state.json", "model.safetensors", "scenario.textproto",
                             "shard_00000.safetensors", "shard_00001.safetensors"}) {
      expected.insert(std::string("checkpoints/") + step + "/" + file);
    }
  }
  EXPECT_EQ(files(), expected);

  const auto summary = parse_json(read_file(out_ + "/summary.json"));
  EXPECT_EQ(summary["checkpoints"].size(), 3u);
  std::istringstream metrics(read_file(out_ + "/metrics.jsonl"));
  std::size_t lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines) {
    const auto step = parse_json(line);
    EXPECT_EQ(step["step"], lines + 1);
    EXPECT_EQ(step["loss"], summary["losses"][lines]);
    EXPECT_EQ(step["tokens"], 2 * 2 * 8);
  }
  EXPECT_EQ(lines, 6u);
}

TEST_F(Out, ItsScenarioRunsToTheSameSummary) {
  ASSERT_EQ(run({"--seed", "11", "--set", "train.steps=8"}).code, 0);
  const Ran again = rehearse({"run", out_ + "/scenario.textproto", "--format", "json"});
  ASSERT_EQ(again.code, 0) << again.err;
  auto first = parse_json(read_file(out_ + "/summary.json"));
  auto second = parse_json(again.out);
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
  int cases = 0;
  for (const char* foreign : {"thesis.tex", ".hidden", ".thesis.tmp", "inputs/story.txt", "checkpoints/mine",
                              "checkpoints/step_2/x", "checkpoints/mine/model.safetensors",
                              "checkpoints/step_000002/notes.txt", "checkpoints/step_000002/shard_.safetensors",
                              "checkpoints/step_000002/shard_0000x.safetensors", "checkpoints/step_000002/mine/x",
                              "checkpoints/step_000002/inputs/story.txt", "checkpoints/step_000002/inputs/00_",
                              "checkpoints/.step_000009.tmp/x", "checkpoints/.mine.tmp/x", ".checkpoints.tmp/mine/x"}) {
    const fs::path parent = fs::path(out_ + "/" + foreign).parent_path();
    fs::path made;  // the topmost directory that is new
    for (fs::path one = parent; !fs::exists(one); one = one.parent_path()) made = one;
    fs::create_directories(parent);
    write_file(out_ + "/" + foreign, "x");
    const std::set<std::string> before = files();
    const Ran ran = run({"--force"});
    EXPECT_EQ(ran.code, 2) << foreign;
    EXPECT_THAT(ran.err, HasSubstr("nothing else, but there is")) << foreign;
    // Named by itself or by the first directory that is no run's.
    const std::string first = fs::relative(made.empty() ? fs::path(out_ + "/" + foreign) : made, out_).string();
    EXPECT_THAT(ran.err, HasSubstr("there is " + first)) << foreign;
    EXPECT_EQ(files(), before);
    fs::remove_all(made.empty() ? fs::path(out_ + "/" + foreign) : made);
    ++cases;
  }
  std::printf("%d foreign files\n", cases);
  // A link by a known name would lead out of the directory.
  fs::remove_all(out_ + "/checkpoints");
  fs::create_directory_symlink(folder_ / "", out_ + "/checkpoints");
  EXPECT_EQ(run({"--force"}).code, 2);
  EXPECT_TRUE(fs::exists(scenario_));
}

TEST_F(Out, ForceWantsAFileThatOnlyARunWrites) {
  // A folder that somebody made: a scenario and its input, as a run would name them.
  fs::create_directories(out_ + "/inputs");
  write_file(out_ + "/inputs/story.txt", "Once upon a time there was a run.\n");
  write_file(out_ + "/scenario.textproto", read_file(scenario_));
  const auto expect_refused = [&](const std::string& naming) {
    const std::set<std::string> before = files();
    const Ran ran = run({"--force"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr(naming));
    EXPECT_EQ(files(), before);
  };
  expect_refused("inputs");
  fs::remove_all(out_ + "/inputs");
  expect_refused("scenario.textproto (with no summary.json, metrics.jsonl or events.bin of a run beside it)");
  write_file(out_ + "/metrics.jsonl", "");
  expect_refused("with no summary.json, metrics.jsonl or events.bin of a run");
  int cases = 0;
  write_file(out_ + "/events.bin", "");
  expect_refused("events.bin (with no summary.json, metrics.jsonl or events.bin of a run beside it)");
  write_file(out_ + "/events.bin", "not a log at all");
  expect_refused("events.bin: is not an event log");
  fs::remove(out_ + "/events.bin");
  for (const char* text : {"{}", "not json", "[1]", "{\"step\": 1, \"loss\": 2}\n", "{\"scenario\": \"small\"}"}) {
    for (const char* name : {"summary.json", "metrics.jsonl"}) {
      write_file(out_ + "/" + name, text);
      expect_refused(std::string(name) + " (not the ");
      fs::remove(out_ + "/" + name);
      ++cases;
    }
  }
  std::printf("%d files that look like a run's\n", cases);
}

TEST_F(Out, ForceTakesARunWithInputsAndNothingBesideThem) {
  write_file(folder_ / "story.txt", "Once upon a time there was a run that read a text to the end of it.\n");
  write_file(folder_ / "other.textproto", small_scenario("loss: FALLS"));
  std::string text = small_scenario("same_weights_as: \"other.textproto\"");
  const std::string synthetic = "synthetic { kind: MARKOV states: 4 }";
  for (const std::string& path : {scenario_, folder_ / "other.textproto"}) {
    std::string with_text = path == scenario_ ? text : read_file(path);
    with_text.replace(with_text.find(synthetic), synthetic.size(), "text_file: \"story.txt\"");
    with_text.replace(with_text.find("vocab: 16"), 9, "vocab: 64");
    write_file(path, with_text);
  }
  ASSERT_EQ(run().code, 0) << run().err;
  EXPECT_THAT(files(),
              ::testing::IsSupersetOf({"inputs/story.txt", "inputs/other.textproto", "inputs/inputs/story.txt"}));
  EXPECT_EQ(run({"--force"}).code, 0) << run({"--force"}).err;
  for (const char* foreign : {"inputs/mine.txt", "inputs/inputs/mine.txt", "inputs/.mine.tmp"}) {
    write_file(out_ + "/" + foreign, "x");
    const Ran ran = run({"--force"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr(std::string("there is ") + foreign));
    fs::remove(out_ + "/" + foreign);
  }
  // Without the scenario nobody can tell.
  fs::rename(out_ + "/scenario.textproto", folder_ / "away");
  EXPECT_THAT(run({"--force"}).err, HasSubstr("there is inputs (which files in it are a run's cannot be told: "));
}

TEST_F(Out, ForceTakesWhatAnInterruptedRunLeft) {
  ASSERT_EQ(run().code, 0);
  fs::remove(out_ + "/summary.json");
  write_file(out_ + "/.summary.json.tmp", "{\"scen");
  fs::rename(out_ + "/checkpoints/step_000006", out_ + "/checkpoints/.step_000006.tmp");
  fs::remove(out_ + "/checkpoints/.step_000006.tmp/manifest.json");
  fs::rename(out_ + "/checkpoints/step_000004", out_ + "/checkpoints/.replaced-step_000004");
  EXPECT_EQ(run({"--force"}).code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(out_ + "/checkpoints"), fs::directory_iterator()), 3);
}

TEST_F(Out, ForceNeverDeletesAnInputOfTheRun) {
  write_file(folder_ / "story.txt", "Once upon a time there was a run that read a text to the end of it.\n");
  std::string text = small_scenario("final_step: 6");
  const std::string synthetic = "synthetic { kind: MARKOV states: 4 }";
  text.replace(text.find(synthetic), synthetic.size(), "text_file: \"story.txt\"");
  text.replace(text.find("vocab: 16"), 9, "vocab: 64");
  write_file(scenario_, text);
  ASSERT_EQ(run().code, 0);
  const Ran ran = run({"--force", "--set", "data.text_file=\"deep/out/inputs/story.txt\""});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--force would delete"));
  EXPECT_TRUE(fs::exists(out_ + "/inputs/story.txt"));
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
  EXPECT_EQ(files(), (std::set<std::string>{"events.bin", "metrics.jsonl", "scenario.textproto"}));
}

}  // namespace
}  // namespace rehearse::testing_command
