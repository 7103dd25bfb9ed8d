#include <gtest/gtest.h>

#include "core/formats/json.h"
#include "tests/determinism/child_process.h"
#include "tests/determinism/process_changes.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_determinism {
namespace {

TEST(Processes, GiveTheDigestsOfTheCapstoneWhateverTheyRunIn) { expect_processes_agree("capstone"); }

// What the processes differ in reaches them: the same comparison sees what a run does depend on.
TEST(Processes, AnotherSeedOrLatencyIsSeen) {
  const auto summary_of = [](const std::vector<std::string>& more) {
    ChildSettings settings;
    settings.words = {"run", testing_command::shipped_scenario("capstone"), "--format", "json"};
    settings.words.insert(settings.words.end(), more.begin(), more.end());
    const ChildResult result = run_child(settings);
    EXPECT_EQ(result.code, 0);
    return parse_json(result.out);
  };
  const auto plain = summary_of({});
  const auto seed = summary_of({"--seed", "42"});
  EXPECT_NE(seed["event_digest"], plain["event_digest"]);
  EXPECT_NE(seed["weights_sha256"], plain["weights_sha256"]);
  const auto latency = summary_of({"--set", "cluster.network.latency=5001ns"});
  EXPECT_NE(latency["event_digest"], plain["event_digest"]);
  EXPECT_EQ(latency["weights_sha256"], plain["weights_sha256"]);
}

}  // namespace
}  // namespace rehearse::testing_determinism
