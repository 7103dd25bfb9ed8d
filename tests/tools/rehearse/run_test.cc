#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What follows "  NAME  " on a line of its own.
std::string field(const std::string& text, const std::string& name) {
  const std::string start = "\n  " + name + "  ";
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return "";
  const std::size_t from = at + start.size();
  return text.substr(from, text.find('\n', from) - from);
}

TEST(Run, TheCapstoneTellsItsStory) {
  const Ran ran = rehearse({"run", shipped_scenario("capstone")});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.err, IsEmpty());
  for (const char* part : {"capstone", "29,824 parameters", "89,472 bytes: holds on every rank", "step_000010",
                           "RESUME VERIFIED: continued from step 10 to 20, weights and losses byte-equal",
                           "reduce_scatter", "all_gather", "manifest sha256"}) {
    EXPECT_THAT(ran.out, HasSubstr(part));
  }
  EXPECT_EQ(field(ran.out, "weights_sha256").size(), 64u);
  EXPECT_THAT(ran.out, Not(HasSubstr("\033")));
  EXPECT_THAT(ran.out, EndsWith("rehearse run " + shipped_scenario("capstone") + "\n"));
}

TEST(Run, TheSameScenarioGivesTheSameWeightsAndAnotherSeedGivesOthers) {
  const std::string scenario = shipped_scenario("capstone");
  const std::string first = field(rehearse({"run", scenario}).out, "weights_sha256");
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(field(rehearse({"run", scenario}).out, "weights_sha256"), first);
  EXPECT_NE(field(rehearse({"run", scenario, "--seed", "7"}).out, "weights_sha256"), first);
}

TEST(Run, TheRepeatLineIsTheCommandAShellReads) {
  TemporaryDirectory folder;
  const std::string path = folder / "it's small.textproto";
  write_file(path, small_scenario("loss: FALLS"));
  const Ran ran = rehearse({"run", path, "--set", "train.steps=4", "--seed", "9", "--set=name=\"other\""});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, EndsWith("rehearse run '" + (folder / "it'\\''s small.textproto") +
                                "' --seed 9 --set train.steps=4 --set 'name=\"other\"'\n"));
}

TEST(Run, JsonIsAllThatStandsOnStandardOutput) {
  TemporaryDirectory folder;
  write_file(folder / "small.textproto", small_scenario("loss: FALLS"));
  const Ran ran = rehearse({"run", folder / "small.textproto", "--format", "json"});
  EXPECT_EQ(ran.code, 0);
  const auto summary = parse_json(ran.out);
  EXPECT_EQ(summary["scenario"], "small");
  EXPECT_EQ(summary["steps"], 6);
  EXPECT_EQ(summary["exit_code"], 0);
}

TEST(Run, AFailedExpectationExitsWithOne) {
  TemporaryDirectory folder;
  write_file(folder / "small.textproto", small_scenario("final_loss_below: 1e-9"));
  const Ran ran = rehearse({"run", folder / "small.textproto"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("FAILED  final_loss_below"));
  const auto summary = parse_json(rehearse({"run", folder / "small.textproto", "--format=json"}).out);
  EXPECT_EQ(summary["exit_code"], 1);
  EXPECT_EQ(summary["outcome"], "DONE");
}

TEST(Run, BadScenariosExitWithTwoBeforeAnythingRuns) {
  TemporaryDirectory folder;
  write_file(folder / "bad.textproto", "name: \"x\"\nsede: 7\n");
  for (const char* command : {"run", "check"}) {
    const Ran ran = rehearse({command, folder / "bad.textproto"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr(folder / "bad.textproto:2:1"));
    EXPECT_THAT(ran.out, IsEmpty());
  }
  const Ran missing = rehearse({"run", folder / "none.textproto", "--out", folder / "out"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.textproto"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  const Ran set = rehearse({"run", shipped_scenario("capstone"), "--set", "train.stepz=40"});
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.err, HasSubstr("train.stepz"));
}

TEST(Run, ALongTableIsThinnedAndSaysSo) {
  TemporaryDirectory folder;
  write_file(folder / "small.textproto", small_scenario_with("expect { final_step: 100 }"));
  const Ran ran = rehearse({"run", folder / "small.textproto", "--set", "train.steps=100"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("(22 of 100 steps; --out and --format json have all)"));
  EXPECT_THAT(ran.out, HasSubstr("\n     1  "));
  EXPECT_THAT(ran.out, HasSubstr("\n   100  "));
  EXPECT_THAT(ran.out, Not(HasSubstr("\n     2  ")));
}

TEST(Run, TellsWhoGoesOnWhereHostsAreLost) {
  const Ran fewer = rehearse({"run", shipped_scenario("elastic_4_to_3")});
  EXPECT_EQ(fewer.code, 0) << fewer.out << fewer.err;
  EXPECT_THAT(fewer.out, HasSubstr("50 ms each; ELASTIC, down to 3 ranks"));
  EXPECT_THAT(fewer.out,
              HasSubstr("the host of rank 3 is gone for good; those that are left start again as ranks 0 to 2"));
  EXPECT_THAT(fewer.out, HasSubstr("holds on every rank"));
  const Ran spare = rehearse({"run", shipped_scenario("hot_spare")});
  EXPECT_EQ(spare.code, 0) << spare.out << spare.err;
  EXPECT_THAT(spare.out, HasSubstr("a spare host takes over rank 1 (0 left): all ranks start again, in generation 1"));
}

TEST(Run, TellsOfAHostAndOfARackInPlainWords) {
  const Ran host = rehearse({"run", shipped_scenario("host_of_two_lost")});
  EXPECT_EQ(host.code, 0) << host.out << host.err;
  EXPECT_THAT(host.out, HasSubstr("4 on 2 hosts, data-parallel"));
  EXPECT_THAT(host.out, HasSubstr("step 13, backward: host 1 (ranks 2, 3) is lost"));
  EXPECT_THAT(host.out,
              HasSubstr("the supervisor hears that host 1 (ranks 2, 3) was lost, 16.65 ms after the failure"));
  const Ran rack = rehearse({"run", shipped_scenario("rack_lost")});
  EXPECT_EQ(rack.code, 0) << rack.out << rack.err;
  EXPECT_THAT(rack.out, HasSubstr("8 on 4 hosts in 2 racks, data-parallel"));
  EXPECT_THAT(rack.out, HasSubstr("rack 0 (hosts 0, 1 with ranks 0 to 3) is lost"));
  EXPECT_THAT(rack.out, HasSubstr("spare hosts take over ranks 0, 1, 2 and 3 (0 left): all ranks start again"));
}

TEST(Run, NamesStragglersAndSlowLinks) {
  const Ran slow = rehearse({"run", shipped_scenario("straggler")});
  EXPECT_THAT(slow.out, HasSubstr("Lemons and stragglers"));
  // Half as long again in ten steps of twenty.
  EXPECT_THAT(slow.out, HasSubstr("a straggler: rank 3 computes 1.25 times as long as the median rank"));
  EXPECT_THAT(slow.out, Not(HasSubstr("a slow link")));
  const Ran link = rehearse({"run", shipped_scenario("slow_link")});
  EXPECT_THAT(link.out, HasSubstr("a slow link: messages from rank 0 to rank 1 took"));
  EXPECT_THAT(rehearse({"run", shipped_scenario("capstone")}).out, Not(HasSubstr("Lemons and stragglers")));
  const auto summary = parse_json(rehearse({"run", shipped_scenario("straggler"), "--format=json"}).out);
  ASSERT_EQ(summary["slow_ranks"].size(), 1u);
  EXPECT_EQ(summary["slow_ranks"][0]["rank"], 3);
  EXPECT_NEAR(summary["slow_ranks"][0]["factor_over_median"].get<double>(), 1.25, 1e-4);
  EXPECT_GT(summary["slow_ranks"][0]["compute_seconds_per_step"].get<double>(), 0);
  EXPECT_FALSE(summary.contains("slow_links"));
  EXPECT_FALSE(summary.contains("lemons"));
}

TEST(Run, TellsWhichTierAJobCameBackFrom) {
  const Ran neighbour = rehearse({"run", shipped_scenario("host_lost_replica"), "--format", "text"});
  EXPECT_EQ(neighbour.code, 0) << neighbour.out << neighbour.err;
  const auto in_one_line = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
      text.replace(at, std::min(text.find_first_not_of(" \n", at), text.size()) - at, " ");
    }
    return text;
  };
  EXPECT_THAT(in_one_line(neighbour.out), HasSubstr("3 shards from the ranks' own local disks ("));
  EXPECT_THAT(in_one_line(neighbour.out), HasSubstr("bytes), 1 from the local disks of others ("));
  EXPECT_THAT(in_one_line(neighbour.out), HasSubstr("on local disks; one of 10 uploaded, the newest 2 kept"));
  const Ran remote = rehearse({"run", shipped_scenario("tier_one_corrupt")});
  EXPECT_EQ(remote.code, 0) << remote.out << remote.err;
  EXPECT_THAT(in_one_line(remote.out), HasSubstr("a copy on a local disk is refused: rank 1: local:checkpoints/"));
  EXPECT_THAT(in_one_line(remote.out), HasSubstr("bytes), 1 from the shared storage ("));
}

TEST(Run, NoLineIsWiderThanAHundredColumns) {
  for (const char* name : {"capstone", "seven_ranks", "ddp", "elastic_4_to_3", "hot_spare", "host_of_two_lost",
                           "rack_lost", "straggler", "slow_link", "host_lost_replica"}) {
    // The story and paths may be as wide as they are.
    const std::string out = rehearse({"run", shipped_scenario(name)}).out;
    for (std::size_t start = 0; start < out.size();) {
      const std::size_t end = out.find('\n', start);
      const std::string line = out.substr(start, end - start);
      if (line.find('/') == std::string::npos) {
        EXPECT_LE(line.size(), 100u) << line;
      }
      start = end + 1;
    }
  }
}

}  // namespace
}  // namespace rehearse::testing_command
