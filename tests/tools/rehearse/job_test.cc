// Scenarios with a job { } through the command: run, files, sweeps, check, and what is not offered.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kJob =
    "# A small job.\n"
    "name: \"small\" cluster { ranks: 64 } "
    "job { step: \"10s\" load: \"1min\" time: \"100h\" checkpoint { every: \"30min\" save: \"1min\" keep: 2 } } "
    "faults { rate { preset: \"llama3\" scale: 100 } crash { rank: 3 time: \"1h\" } } "
    "recovery { max_restarts: 1000 restart_delay: \"2min\" } ";

std::string job_file(const TemporaryDirectory& folder, const std::string& more = "expect { goodput_above: 0.5 }") {
  const std::string path = folder / "job.textproto";
  write_file(path, kJob + more + "\n");
  return path;
}

TEST(Job, RunTellsWhatBecameOfIt) {
  TemporaryDirectory folder;
  const Ran ran = rehearse({"run", job_file(folder)});
  EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
  for (const char* text : {"Failures by cause", "Recoveries", "Where the time went", "How often to save", "Young's",
                           "Daly's", "goodput_above", "outcome     DONE (exit code 0)", "one in 7.92 h on average"}) {
    EXPECT_THAT(ran.out, HasSubstr(text));
  }
}

TEST(Job, SummaryHasTheSameInNumbers) {
  TemporaryDirectory folder;
  const Ran ran = rehearse({"run", job_file(folder), "--format", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json summary = parse_json(ran.out);
  EXPECT_EQ(summary["outcome"], "DONE");
  EXPECT_EQ(summary["simulated_seconds"], 360'000);
  EXPECT_GT(summary["failures"], 5);
  std::int64_t failures = 0;
  for (const Json& cause : summary["failures_by_cause"]) failures += cause["failures"].get<std::int64_t>();
  EXPECT_EQ(summary["failures"], failures);
  std::int64_t lost = 0;
  for (const Json& recovery : summary["recoveries"]) lost += recovery.value("steps_lost", std::int64_t{0});
  EXPECT_EQ(summary["lost_steps"], lost);
  const Json& interval = summary["checkpoint_interval"];
  EXPECT_EQ(interval["save_seconds"], 60);
  EXPECT_EQ(interval["cadence_seconds"], 1800);
  EXPECT_EQ(interval["mean_from"], "rate");
  EXPECT_NEAR(interval["young_seconds"].get<double>(),
              std::sqrt(2 * 60 * interval["mean_seconds_between_failures"].get<double>()), 1e-6);
  EXPECT_NEAR(interval["waste"].get<double>(), 1 - summary["goodput"].get<double>(), 1e-12);
}

TEST(Job, NamesItsLemons) {
  const Ran ran = rehearse({"run", shipped_scenario("lemon_node")});
  EXPECT_THAT(ran.out, HasSubstr("a lemon: node 17 (ranks 136 to 143) failed "));
  EXPECT_THAT(ran.out, HasSubstr("; its rate is 100 times that of the"));
  const Json summary = parse_json(rehearse({"run", shipped_scenario("lemon_node"), "--format=json"}).out);
  ASSERT_EQ(summary["lemons"].size(), 1u);
  EXPECT_EQ(summary["lemons"][0]["first_rank"], 136);
  EXPECT_EQ(summary["lemons"][0]["ranks"], 8);
  EXPECT_EQ(summary["lemons"][0]["of"], summary["failures"]);
  EXPECT_GT(summary["lemons"][0]["failures"], 15);
}

TEST(Job, LeavesItsSummaryAndItsScenario) {
  TemporaryDirectory folder;
  const Ran ran = rehearse({"run", job_file(folder), "--out", folder / "out"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("scenario.textproto", "summary.json"));
  const Json first = parse_json(read_file(folder / "out/summary.json"));
  const Ran again = rehearse({"run", folder / "out/scenario.textproto", "--format", "json"});
  EXPECT_EQ(parse_json(again.out)["event_digest"], first["event_digest"]);
  EXPECT_EQ(rehearse({"run", job_file(folder), "--out", folder / "out", "--force"}).code, 0);
}

TEST(Job, IsCountedAgainByReplay) {
  TemporaryDirectory folder;
  ASSERT_EQ(rehearse({"run", job_file(folder), "--out", folder / "out"}).code, 0);
  const Ran ran = rehearse({"replay", folder / "out"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json summary = parse_json(read_file(folder / "out/summary.json"));
  EXPECT_THAT(ran.out, HasSubstr("REPRODUCED"));
  EXPECT_THAT(ran.out, HasSubstr(summary["event_digest"].get<std::string>()));
  const Json json = parse_json(rehearse({"replay", folder / "out", "--format", "json"}).out);
  EXPECT_TRUE(json["identical"].get<bool>());
}

TEST(Job, ReplaySaysWhereItsSummaryIsNotOfIt) {
  TemporaryDirectory folder;
  ASSERT_EQ(rehearse({"run", job_file(folder), "--out", folder / "out"}).code, 0);
  const std::string path = folder / "out/summary.json";
  const Json summary = parse_json(read_file(path));
  const auto with = [&](const char* field, const Json& value) {
    Json changed = summary;
    changed[field] = value;
    write_file(path, changed.dump());
    return rehearse({"replay", folder / "out"});
  };
  const Ran other = with("event_digest", std::string(64, '0'));
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, HasSubstr("NOT REPRODUCED"));
  EXPECT_EQ(with("outcome", "FAILED").code, 1);
  const Ran interrupted = with("outcome", "INTERRUPTED");
  EXPECT_EQ(interrupted.code, 2);
  EXPECT_THAT(interrupted.err, HasSubstr("is of a job that was interrupted"));
  EXPECT_THAT(with("scenario_sha256", "0").err, HasSubstr("is of another scenario than the one beside it"));
  EXPECT_THAT(with("event_digest", 5).err, HasSubstr("is damaged: it has no event_digest"));
  write_file(path, "{");
  EXPECT_THAT(rehearse({"replay", folder / "out"}).err, HasSubstr("is damaged"));
}

TEST(Job, HasNoArithmeticToInspect) {
  TemporaryDirectory folder;
  const Ran ran = rehearse({"inspect", job_file(folder)});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("scenario_sha256"));
  EXPECT_THAT(ran.out, Not(HasSubstr("arithmetic_sha256")));
}

TEST(Job, ThatDoesNotWhatIsExpectedFails) {
  TemporaryDirectory folder;
  const Ran ran = rehearse({"run", job_file(folder, "expect { goodput_above: 0.99 }")});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("FAILED  goodput_above"));
}

TEST(Job, IsCheckedForDeterminism) {
  TemporaryDirectory folder;
  const Ran ran = rehearse({"run", job_file(folder), "--check-determinism"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("held    determinism"));
}

TEST(Job, ASweepShowsTheGoodputOfEachCadenceAndMarksTheBest) {
  TemporaryDirectory folder;
  const std::vector<std::string> words = {
      "run", job_file(folder), "--sweep", "job.checkpoint.every=2min,1h,20h", "--seeds", "1..4"};
  const Ran ran = rehearse(words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Goodput by job.checkpoint.every, mean and standard error over seeds 1 to 4"));
  std::vector<std::string> json_words = words;
  json_words.insert(json_words.end(), {"--format", "json"});
  const Json sweep = parse_json(rehearse(json_words).out);
  EXPECT_EQ(sweep["best"], "1h");
  ASSERT_EQ(sweep["rows"].size(), 3U);
  EXPECT_EQ(sweep["rows"][0]["cadence_seconds"], 120);
  EXPECT_EQ(sweep["rows"][2]["value"], "20h");
  EXPECT_GT(sweep["rows"][1]["goodput"], sweep["rows"][2]["goodput"]);
  EXPECT_GT(sweep["rows"][1]["goodput_error"], 0);
}

// A job that was given up early may have a high goodput: that says nothing.
TEST(Job, ASweepCallsNoFailedJobTheBest) {
  TemporaryDirectory folder;
  const std::vector<std::string> words = {
      "run", job_file(folder), "--sweep", "recovery.max_restarts=0,1000000", "--seeds", "1..4"};
  const Ran ran = rehearse(words);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("FAILED"));
  std::vector<std::string> json_words = words;
  json_words.insert(json_words.end(), {"--format", "json"});
  const Json sweep = parse_json(rehearse(json_words).out);
  EXPECT_EQ(sweep["best"], "1000000");
  EXPECT_GT(sweep["rows"][0]["failed"], 0);
  EXPECT_EQ(sweep["rows"][1]["failed"], 0);
  json_words[3] = "recovery.max_restarts=0";
  EXPECT_TRUE(parse_json(rehearse(json_words).out)["best"].is_null());
}

TEST(Job, AnInterruptEndsItAndItsSweepWith130) {
  TemporaryDirectory folder;
  const auto at_once = [] { return true; };
  const Ran ran = rehearse({"run", job_file(folder), "--out", folder / "out"}, at_once);
  EXPECT_EQ(ran.code, 130);
  EXPECT_EQ(parse_json(read_file(folder / "out/summary.json"))["outcome"], "INTERRUPTED");
  int asked = 0;
  const Ran second = rehearse({"run", job_file(folder), "--check-determinism"}, [&asked] { return ++asked > 1; });
  EXPECT_EQ(second.code, 130);
  EXPECT_THAT(second.out, HasSubstr("INTERRUPTED: interrupted in the second run"));
  EXPECT_EQ(rehearse({"run", job_file(folder), "--sweep", "job.checkpoint.every=2min,1h"}, at_once).code, 130);
}

TEST(Job, CheckSaysThatItIsValid) {
  TemporaryDirectory folder;
  const Ran ran = rehearse({"check", job_file(folder)});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("valid; nothing was run"));
  EXPECT_EQ(parse_json(rehearse({"check", job_file(folder), "--format", "json"}).out)["ranks"], 64);
  EXPECT_THAT(rehearse({"inspect", job_file(folder)}).out, HasSubstr("every: \"30min\""));
}

TEST(Job, WhatIsWrongWithASweepIsSaid) {
  TemporaryDirectory folder;
  const std::string path = job_file(folder);
  const auto error = [](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    const Ran ran = rehearse(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_THAT(error({path, "--sweep", "seed"}), HasSubstr("--sweep: found 'seed'; allowed: a field and its values"));
  EXPECT_THAT(error({path, "--sweep", "seed=1,,2"}), HasSubstr("--sweep: found 'seed=1,,2'"));
  EXPECT_THAT(error({path, "--sweep", "=1"}), HasSubstr("--sweep: found '=1'"));
  EXPECT_THAT(error({path, "--sweep", "seed=1", "--out", folder / "x"}), HasSubstr("--sweep takes no --out"));
  EXPECT_THAT(error({path, "--seeds", "1..2"}), HasSubstr("--seeds has no meaning without --sweep"));
  EXPECT_THAT(error({path, "--sweep", "seed=1", "--seeds", "5"}), HasSubstr("--seeds: found '5'"));
  EXPECT_THAT(error({path, "--sweep", "seed=1", "--seeds", "5..4"}), HasSubstr("--seeds: found '5..4'"));
  EXPECT_THAT(error({path, "--sweep", "job.stepp=1s"}), HasSubstr("job.stepp"));
  EXPECT_THAT(error({shipped_scenario("capstone"), "--sweep", "seed=1"}),
              HasSubstr("--sweep is for scenarios with a job"));
}

// Runs of either kind tell how often they save beside how often they should.
TEST(CheckpointInterval, OfARunThatFailedIsInItsReport) {
  const Ran ran = rehearse({"run", shipped_scenario("failure_rate"), "--format", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
  const Json interval = parse_json(ran.out)["checkpoint_interval"];
  EXPECT_EQ(interval["mean_from"], "rate");
  EXPECT_NEAR(interval["mean_seconds_between_failures"].get<double>(), 86'400.0 / 2 / 1'080'000, 1e-12);
  for (const char* name : {"save_seconds", "cadence_seconds", "young_seconds", "daly_seconds", "restart_seconds"}) {
    EXPECT_GT(interval[name], 0) << name;
  }
  EXPECT_THAT(rehearse({"run", shipped_scenario("crash_rolls_back")}).out, HasSubstr("of this run"));
  EXPECT_FALSE(
      parse_json(rehearse({"run", shipped_scenario("ddp"), "--format", "json"}).out).contains("checkpoint_interval"));
}

}  // namespace
}  // namespace rehearse::testing_command
