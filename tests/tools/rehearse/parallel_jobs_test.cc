// Work in child processes: the same texts in the same order whatever their number, and every way to fail is told.

#include "tools/rehearse/parallel_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/base/error.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

const std::function<bool()> kNever = [] { return false; };

std::string text_of(std::size_t index) { return std::string(index * 1000, 'x') + std::to_string(index); }

// No child is left, running or dead.
void expect_no_children() {
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ParallelJobs, GiveTheSameInTheSameOrderHoweverManyProcesses) {
  for (const int processes : {1, 2, 3, 50}) {
    const std::vector<std::string> texts = run_in_processes(processes, 40, text_of, kNever);
    ASSERT_EQ(texts.size(), 40u);
    for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], text_of(i));
    expect_no_children();
  }
  EXPECT_TRUE(run_in_processes(3, 0, text_of, kNever).empty());
}

TEST(ParallelJobs, AreOtherProcesses) {
  const auto who = [](std::size_t) { return std::to_string(::getpid()); };
  for (const std::string& text : run_in_processes(2, 4, who, kNever)) EXPECT_NE(text, std::to_string(::getpid()));
  for (const std::string& text : run_in_processes(1, 4, who, kNever)) EXPECT_EQ(text, std::to_string(::getpid()));
}

TEST(ParallelJobs, ThrowTheErrorOfTheFirstPieceThatFails) {
  const auto work = [](std::size_t index) -> std::string {
    if (index >= 5) throw RealIoError("piece " + std::to_string(index));
    return "";
  };
  for (const int processes : {1, 2, 4}) {
    try {
      run_in_processes(processes, 20, work, kNever);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "piece 5") << processes;
      EXPECT_EQ(error.exit_code(), ExitCode::kRealIo);
    }
    expect_no_children();
  }
}

TEST(ParallelJobs, SayWhereAChildIsKilled) {
  const auto work = [](std::size_t index) -> std::string {
    if (index == 3) ::kill(::getpid(), SIGKILL);
    return "";
  };
  try {
    run_in_processes(2, 8, work, kNever);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("piece 4 of 8"));
    EXPECT_EQ(error.exit_code(), ExitCode::kExpectationFailed);
  }
  expect_no_children();
}

TEST(ParallelJobs, EndWhereTheyAreInterrupted) {
  int asked = 0;
  const auto slow = [](std::size_t index) {
    if (index > 0) ::usleep(50'000);
    return std::to_string(index);
  };
  const std::vector<std::string> texts = run_in_processes(2, 1000, slow, [&] { return ++asked > 6; });
  EXPECT_LT(texts.size(), 1000u);
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], std::to_string(i));
  expect_no_children();
}

}  // namespace
}  // namespace rehearse
