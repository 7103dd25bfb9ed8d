// rehearse fuzz: what it prints and writes, what it refuses, and that --jobs changes nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"
#include "tools/rehearse/fuzz.h"
#include "tools/rehearse/isolated.h"

namespace rehearse::testing_command {
namespace {

using ::testing::HasSubstr;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A path of this test's own where nothing is.
std::string fresh_path(const std::string& name) {
  const std::string path = ::testing::TempDir() + "rehearse_fuzz_" + name;
  std::filesystem::remove(path);
  return path;
}

TEST(Fuzz, SaysWhatWasReachedAndFindsNothing) {
  const auto result = rehearse({"fuzz", "--seeds", "1..40"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  for (const char* words : {"Runs in which a kind of fault struck in a phase", "supervisor_link", "restart", "seeds",
                            "outcomes", "nothing"}) {
    EXPECT_THAT(result.out, HasSubstr(words));
  }
}

TEST(Fuzz, WithSeveralJobsItSaysAndWritesTheSame) {
  const std::string one = fresh_path("one.jsonl");
  const std::string three = fresh_path("three.jsonl");
  const auto a = rehearse({"fuzz", "--seeds", "1..30", "--out", one});
  const auto b = rehearse({"fuzz", "--seeds", "1..30", "--jobs", "3", "--out", three});
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(contents(one), contents(three));
}

TEST(Fuzz, GoesOnWithWhatIsLeft) {
  const std::string whole = fresh_path("whole.jsonl");
  const std::string parts = fresh_path("parts.jsonl");
  const auto at_once = rehearse({"fuzz", "--seeds", "1..30", "--out", whole});
  rehearse({"fuzz", "--seeds", "1..10", "--out", parts});
  // Killed in the middle of a line.
  std::ofstream(parts, std::ios::app) << "{\"seed\":11,\"outc";
  const auto rest = rehearse({"fuzz", "--seeds", "1..30", "--out", parts});
  EXPECT_EQ(rest.out, at_once.out);
  EXPECT_EQ(contents(parts), contents(whole));
  const std::string before = contents(parts);
  rehearse({"fuzz", "--seeds", "1..30", "--out", parts});
  EXPECT_EQ(contents(parts), before) << "seeds were run again";
}

TEST(Fuzz, AFileOfOtherThingsIsRefused) {
  const std::string path = fresh_path("other.jsonl");
  std::ofstream(path) << "my notes\n";
  const auto result = rehearse({"fuzz", "--seeds", "1..3", "--out", path});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr(":1: found no results of this version of rehearse fuzz"));
  EXPECT_EQ(contents(path), "my notes\n");
}

TEST(Fuzz, ALineThatIsNoResultIsRefusedWithItsNumber) {
  const std::string path = fresh_path("damaged.jsonl");
  rehearse({"fuzz", "--seeds", "1..2", "--out", path});
  std::ofstream(path, std::ios::app) << "{\"seed\": \"three\"}\n";
  const auto result = rehearse({"fuzz", "--seeds", "1..3", "--out", path});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr(path + ":4: found a line that is no result of a seed"));
}

TEST(Fuzz, ReplayShowsThePlanAndWhatCameOfIt) {
  const auto result = rehearse({"fuzz", "--replay", "17"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("name: \"fuzz-17\""));
  EXPECT_THAT(result.out, HasSubstr("all invariants hold"));
  const auto json = rehearse({"fuzz", "--replay", "17", "--format", "json"});
  EXPECT_EQ(parse_json(json.out)["seed"], 17);
}

TEST(Fuzz, ReplayOfAScenarioThatFailsEndsWithOne) {
  const std::string path = fresh_path("silent.textproto");
  std::ofstream(path) << "name: \"silent\" model { layers: 1 embed: 4 heads: 1 vocab: 4 context: 2 }\n"
                         "data { synthetic { kind: MARKOV states: 4 } }\n"
                         "train { steps: 2 batch: 1 adam { lr: 0.01 } }\n"
                         "faults { spike { rank: 0 at { step: 1 phase: REDUCE } of: GRADIENT factor: 50 } }\n";
  const auto result = rehearse({"fuzz", "--replay", path});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("FAILED  weights: the parameters after step 1"));
}

TEST(Fuzz, SaysWhatIsWrongWithTheCommandLine) {
  const auto error_of = [](std::vector<std::string> words) {
    words.insert(words.begin(), "fuzz");
    const auto result = rehearse(words);
    EXPECT_EQ(result.code, 2);
    return result.err;
  };
  EXPECT_THAT(error_of({}), HasSubstr("needs --seeds A..B, or --replay SEED"));
  EXPECT_THAT(error_of({"--seeds", "1..2", "--replay", "3"}), HasSubstr("takes one of the two"));
  EXPECT_THAT(error_of({"--seeds", "5..1"}), HasSubstr("--seeds: found '5..1'"));
  EXPECT_THAT(error_of({"--seeds", "5"}), HasSubstr("as in 1..1000"));
  EXPECT_THAT(error_of({"--seeds", "1..2", "--jobs", "0"}), HasSubstr("--jobs: found '0'"));
  EXPECT_THAT(error_of({"--seeds", "1..2", "--minutes", "soon"}), HasSubstr("--minutes: found 'soon'"));
  EXPECT_THAT(error_of({"--replay", "1", "--jobs", "2"}), HasSubstr("--jobs has no meaning with --replay"));
  EXPECT_THAT(error_of({"--seeds", "1..2", "--format", "csv"}), HasSubstr("allowed: text, json"));
  EXPECT_THAT(error_of({"--seed", "1..2"}), HasSubstr("unknown option '--seed'; did you mean '--seeds'?"));
  EXPECT_THAT(error_of({"a.textproto"}), HasSubstr("takes options alone"));
  EXPECT_THAT(error_of({"--replay", "/nowhere.textproto"}), HasSubstr("/nowhere.textproto"));
}

TEST(FuzzResult, ALineReadsBackToTheSameResult) {
  SeedResult one;
  one.seed = 18'446'744'073'709'551'614U;
  one.result.outcome = Outcome::kStopped;
  one.result.reached.strikes = {{"flip", "REDUCE"}};
  one.result.reached.paths = {"ROLLBACK"};
  one.result.findings = {Finding{"weights", "\"quoted\"\nand more"}};
  EXPECT_EQ(line_of(seed_result_of(line_of(one), "line")), line_of(one));
}

TEST(Isolated, WorkThatDiesIsToldOfAndHarmsNobody) {
  EXPECT_EQ(run_isolated([] { return std::string("well"); }, 10).text, "well");
  const Isolated dead = run_isolated(
      []() -> std::string {
        fputs("last words", stderr);
        abort();
      },
      10);
  EXPECT_FALSE(dead.whole);
  EXPECT_THAT(dead.text, HasSubstr("last words"));
  EXPECT_THAT(dead.problem, HasSubstr("signal 6"));
  const Isolated thrown = run_isolated([]() -> std::string { throw std::runtime_error("no"); }, 10);
  EXPECT_FALSE(thrown.whole);
  EXPECT_EQ(thrown.text, "no");
}

TEST(Isolated, WorkThatDoesNotEndIsEnded) {
  const Isolated endless = run_isolated(
      []() -> std::string {
        for (volatile unsigned i = 0;;) i = i + 1;
      },
      1);
  EXPECT_FALSE(endless.whole);
  EXPECT_THAT(endless.problem, HasSubstr("within 1 seconds"));
}

}  // namespace
}  // namespace rehearse::testing_command
