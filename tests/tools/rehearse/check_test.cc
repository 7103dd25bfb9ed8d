#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// What the estimate says a run without checkpoints and evaluations sends, by operation: messages and bytes.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> predicted(const json& check, std::int64_t steps) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> traffic;
  for (const auto& [rows, times] : {std::pair(check["communication_at_start"], std::int64_t{1}),
                                    std::pair(check["communication_per_step"], steps)}) {
    for (const json& row : rows) {
      auto& [messages, bytes] = traffic[row["operation"]];
      messages += times * row["messages"].get<std::int64_t>();
      bytes += times * row["bytes"].get<std::int64_t>();
    }
  }
  return traffic;
}

TEST(Check, ItsFormulasAreWhatARunCounts) {
  TemporaryDirectory folder;
  const std::string path = folder / "small.textproto";
  write_file(path, small_scenario_with("expect { final_step: 6 }"));
  int cases = 0;
  for (const char* ranks : {"1", "2", "3", "7"}) {
    for (const char* stage : {"0", "1"}) {
      for (const char* bucket : {"1GB", "512B"}) {
        const std::vector<std::string> set = {
            "--set", std::string("cluster.ranks=") + ranks, "--set",    std::string("train.zero_stage=") + stage,
            "--set", std::string("train.bucket=") + bucket, "--format", "json"};
        std::vector<std::string> check_words = {"check", path};
        std::vector<std::string> run_words = {"run", path};
        check_words.insert(check_words.end(), set.begin(), set.end());
        run_words.insert(run_words.end(), set.begin(), set.end());
        const json check = json::parse(rehearse(check_words).out);
        const json run = json::parse(rehearse(run_words).out);
        const std::string what = std::string(ranks) + " ranks, stage " + stage + ", bucket " + bucket;
        auto expected = predicted(check, 6);
        for (const json& row : run["communication"]) {
          const auto [messages, bytes] = expected[row["operation"]];
          EXPECT_EQ(row["messages"], messages) << what << row;
          EXPECT_EQ(row["bytes"], bytes) << what << row;
        }
        for (const auto& [kind, bytes] : check["memory_per_rank"].items()) {
          EXPECT_EQ(run["memory"]["max"][kind], bytes) << what << ", " << kind;
        }
        ++cases;
      }
    }
  }
  std::printf("%d layouts were compared\n", cases);
}

TEST(Check, SaysWhatWouldRunAndRunsNothing) {
  const Ran ran = rehearse({"check", shipped_scenario("capstone"), "--set", "train.steps=1000000"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("29,824 parameters"));
  EXPECT_THAT(ran.out, HasSubstr("reduce_scatter"));
  EXPECT_THAT(ran.out, HasSubstr("valid; nothing was run"));
  EXPECT_THAT(ran.out, HasSubstr("on one core"));
}

}  // namespace
}  // namespace rehearse::testing_command
