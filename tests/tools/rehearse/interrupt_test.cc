#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"
#include "tools/rehearse/interrupt.h"

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;

std::vector<Json> metrics_of(const std::string& out) {
  std::istringstream text(read_file(out + "/metrics.jsonl"));
  std::vector<Json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(parse_json(line));
  return lines;
}

class Interrupt : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(scenario_, small_scenario_with("checkpoint { every_steps: 2 }\nexpect { final_step: 1000000 }"));
  }
  TemporaryDirectory folder_;
  std::string scenario_ = folder_ / "small.textproto";
  std::string out_ = folder_ / "out";
};

TEST_F(Interrupt, LeavesReadableFilesAndExitsWith130) {
  const auto fifth_step_is_there = [&] { return fs::exists(out_ + "/metrics.jsonl") && metrics_of(out_).size() >= 5; };
  const Ran ran = rehearse({"run", scenario_, "--set", "train.steps=1000000", "--out", out_}, fifth_step_is_there);
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.out, ::testing::HasSubstr("INTERRUPTED"));
  const Json summary = parse_json(read_file(out_ + "/summary.json"));
  EXPECT_EQ(summary["outcome"], "INTERRUPTED");
  EXPECT_EQ(summary["exit_code"], 130);
  EXPECT_FALSE(summary.contains("weights_sha256"));
  EXPECT_EQ(summary["steps"], metrics_of(out_).size());
  EXPECT_EQ(rehearse({"inspect", out_ + "/checkpoints/step_000004"}).code, 0);
}

// Whenever Ctrl-C comes, and whether or not it is seen twice, what the exit code says is what the summary says.
TEST_F(Interrupt, ExitCodeAndOutcomeAgreeWhereverItComes) {
  write_file(scenario_, small_scenario("resume_from: 2 same_weights_as: \"other.textproto\""));
  write_file(folder_ / "other.textproto", small_scenario("loss: FALLS"));
  int interrupted_runs = 0;
  bool came = true;
  int at = 0;
  for (at = 0; came; ++at) {
    for (const bool once : {true, false}) {
      int asked = 0;
      came = false;
      const Ran ran = rehearse({"run", scenario_, "--format", "json"}, [&] {
        const bool now = once ? asked == at : asked >= at;
        ++asked;
        came = came || now;
        return now;
      });
      const Json summary = parse_json(ran.out);
      const std::string what = "asked " + std::to_string(at) + " times before" + (once ? ", once" : "");
      EXPECT_EQ(summary["exit_code"], ran.code) << what;
      EXPECT_EQ(ran.code, came ? 130 : 0) << what << summary["expectations"];
      EXPECT_EQ(summary["outcome"], came ? "INTERRUPTED" : "DONE") << what;
      EXPECT_EQ(summary.contains("weights_sha256"), !came) << what;
      interrupted_runs += came ? 1 : 0;
    }
  }
  EXPECT_GT(interrupted_runs, 20);
  std::printf("%d interrupted runs\n", interrupted_runs);
}

// A signal that nobody looks for any more: the run is over, and what came of it stands.
TEST_F(Interrupt, AfterTheLastLookItChangesNothing) {
  write_file(scenario_, small_scenario("final_loss_below: 1e-9"));
  int looks = 0;
  rehearse({"run", scenario_}, [&] {
    ++looks;
    return false;
  });
  int asked = 0;
  const Ran ran = rehearse({"run", scenario_, "--format", "json"}, [&] { return ++asked > looks; });
  EXPECT_EQ(asked, looks);
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(parse_json(ran.out)["outcome"], "DONE");
}

// What became of a child process that caught interrupts after `before` and then did `after`.
template <class Before, class After>
int status_of_child(const Before& before, const After& after) {
  const pid_t child = fork();
  if (child == 0) {
    before();
    catch_interrupts();
    after();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

constexpr int kCaught[] = {SIGINT, SIGTERM, SIGHUP};

TEST(Signals, TheSecondOfAnyMixEndsTheProcess) {
  for (const int first : kCaught) {
    for (const int second : kCaught) {
      const int status = status_of_child([] {},
                                         [&] {
                                           raise(first);
                                           if (!interrupt_requested()) _exit(2);
                                           raise(second);
                                         });
      ASSERT_TRUE(WIFSIGNALED(status)) << first << ", " << second << ": " << status;
      EXPECT_EQ(WTERMSIG(status), second);
    }
  }
}

TEST(Signals, WhatWasIgnoredBeforeStaysIgnored) {
  for (const int ignored : kCaught) {
    for (const int other : kCaught) {
      if (other == ignored) continue;
      const int status = status_of_child([&] { signal(ignored, SIG_IGN); },
                                         [&] {
                                           raise(ignored);
                                           if (interrupt_requested()) _exit(2);
                                           raise(other);
                                           if (!interrupt_requested()) _exit(3);
                                           raise(ignored);
                                           raise(other);
                                         });
      ASSERT_TRUE(WIFSIGNALED(status)) << status;
      EXPECT_EQ(WTERMSIG(status), other);
    }
  }
}

TEST_F(Interrupt, ASignalEndsTheProgramTheSameWay) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    fs::remove_all(out_);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDOUT_FILENO);
      execl(REHEARSE_BINARY, "rehearse", "run", scenario_.c_str(), "--set", "train.steps=1000000", "--out",
            out_.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    while (!fs::exists(out_ + "/checkpoints/step_000002")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, WNOHANG), 0) << "ended before its second step, status " << status;
    }
    kill(child, signal);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    EXPECT_EQ(parse_json(read_file(out_ + "/summary.json"))["outcome"], "INTERRUPTED");
    EXPECT_GE(metrics_of(out_).size(), 2u);
  }
}

}  // namespace
}  // namespace rehearse::testing_command
