#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

// The program where what it prints does not arrive.

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StandardStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(scenario_, small_scenario("resume_from: 4"));
    ASSERT_EQ(rehearse({"run", scenario_, "--out", folder_ / "run"}).code, 0);
  }

  // Runs a line in a shell, where $REHEARSE is the program; gives its exit code, and standard error in err_.
  int shell(const std::string& line) {
    const std::string whole = "REHEARSE='" REHEARSE_BINARY "'; cd '" + (folder_ / "") + "' && exec 2>err && " + line;
    // A pipe whose reader has gone ends the program as in any shell, whoever ignores that here.
    const auto before = signal(SIGPIPE, SIG_DFL);
    const int status = std::system(whole.c_str());
    signal(SIGPIPE, before);
    err_ = read_file(folder_ / "err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TemporaryDirectory folder_;
  std::string scenario_ = folder_ / "small.textproto";
  std::string err_;
};

TEST_F(StandardStreams, OutputThatIsLostEndsEveryCommandWithFour) {
  int cases = 0;
  for (const char* words :
       {"run small.textproto", "run small.textproto --format json", "run small.textproto --out out --force",
        "resume run/checkpoints/step_000004", "check small.textproto", "check small.textproto --format json",
        "inspect small.textproto", "inspect run/checkpoints/step_000004", "--help", "run --help", "--version"}) {
    for (const char* lost : {" >/dev/full", " >&-", " <&- >&-"}) {
      EXPECT_EQ(shell(std::string("$REHEARSE ") + words + lost), 4) << words << lost;
      EXPECT_THAT(err_, HasSubstr("rehearse: cannot write to standard output")) << words << lost;
      ++cases;
    }
  }
  std::printf("%d commands\n", cases);
}

TEST_F(StandardStreams, LostOutputLeavesTheFilesOfOutWhole) {
  for (const char* lost : {" >/dev/full", " >&-", " <&- >&- 2>&-"}) {
    fs::remove_all(folder_ / "out");
    EXPECT_EQ(shell(std::string("$REHEARSE run small.textproto --out out") + lost), 4) << lost;
    EXPECT_EQ(parse_json(read_file(folder_ / "out/summary.json"))["outcome"], "DONE");
    // Not a byte of it in a file that took the number of a closed stream.
    EXPECT_EQ(read_file(folder_ / "out/metrics.jsonl"), read_file(folder_ / "run/metrics.jsonl"));
    EXPECT_EQ(read_file(folder_ / "out/scenario.textproto"), read_file(folder_ / "run/scenario.textproto"));
  }
}

TEST_F(StandardStreams, AReaderThatHasSeenEnoughEndsItQuietly) {
  EXPECT_EQ(shell("$REHEARSE run small.textproto | head -1 >line"), 0);
  EXPECT_THAT(err_, IsEmpty());
  EXPECT_EQ(read_file(folder_ / "line"), "small\n");
  // A reader that is gone before the first word.
  EXPECT_EQ(shell("{ sleep 0.2; $REHEARSE run small.textproto; echo $? >status; } | true"), 0);
  EXPECT_THAT(err_, IsEmpty());
  EXPECT_EQ(read_file(folder_ / "status"), std::to_string(128 + SIGPIPE) + "\n");
  // Who ignores the signal gets the error instead.
  EXPECT_EQ(shell("{ trap '' PIPE; sleep 0.2; $REHEARSE run small.textproto; echo $? >status; } | true"), 0);
  EXPECT_THAT(err_, HasSubstr("cannot write to standard output"));
  EXPECT_EQ(read_file(folder_ / "status"), "4\n");
}

TEST_F(StandardStreams, InterruptsThatWereIgnoredDoNotEndTheProgram) {
  // As a shell starts a job in the background.
  EXPECT_EQ(shell("trap '' INT; $REHEARSE run small.textproto --set train.steps=2000 "
                  "--set checkpoint.every_steps=1000 --set expect.resume_from=1000 --out long >/dev/null & job=$!; "
                  "while ! test -s long/metrics.jsonl; do sleep 0.01; done; kill -INT $job; wait $job"),
            0)
      << err_;
  EXPECT_EQ(parse_json(read_file(folder_ / "long/summary.json"))["steps"], 2000);
}

}  // namespace
}  // namespace rehearse::testing_command
