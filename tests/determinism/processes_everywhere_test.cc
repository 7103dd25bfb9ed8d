#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/determinism/process_changes.h"

// The other scenarios; with REHEARSE_FULL=1 all, and each checkpoint's continuation.

namespace rehearse::testing_determinism {
namespace {

TEST(ProcessesEverywhere, GiveTheDigestsOfTheOtherScenarios) {
  for (const char* name : {"seven_ranks", "ddp", "text"}) expect_processes_agree(name);
  if (std::getenv("REHEARSE_FULL") == nullptr) return;
  for (const char* name : {"accumulate", "one_rank"}) expect_processes_agree(name);
}

TEST(ProcessesEverywhere, ContinueACheckpointToTheSameDigests) {
  expect_resumed_processes_agree("capstone");
  if (std::getenv("REHEARSE_FULL") == nullptr) return;
  for (const char* name : {"seven_ranks", "text", "one_rank"}) expect_resumed_processes_agree(name);
}

}  // namespace
}  // namespace rehearse::testing_determinism
