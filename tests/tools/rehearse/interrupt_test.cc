#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<json> metrics_of(const std::string& out) {
  std::istringstream text(read_file(out + "/metrics.jsonl"));
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
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
  const json summary = json::parse(read_file(out_ + "/summary.json"));
  EXPECT_EQ(summary["outcome"], "INTERRUPTED");
  EXPECT_EQ(summary["exit_code"], 130);
  EXPECT_FALSE(summary.contains("weights_sha256"));
  EXPECT_EQ(summary["steps"], metrics_of(out_).size());
  EXPECT_EQ(rehearse({"inspect", out_ + "/checkpoints/step_000004"}).code, 0);
}

TEST_F(Interrupt, ASignalEndsTheProgramTheSameWay) {
  for (const int signal : {SIGINT, SIGTERM}) {
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
    EXPECT_EQ(json::parse(read_file(out_ + "/summary.json"))["outcome"], "INTERRUPTED");
    EXPECT_GE(metrics_of(out_).size(), 2u);
  }
}

}  // namespace
}  // namespace rehearse::testing_command
