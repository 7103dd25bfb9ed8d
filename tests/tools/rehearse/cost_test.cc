// rehearse cost: what it prints, as text, JSON and CSV, and its sweeps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"
#include "tools/rehearse/cost.h"

namespace rehearse::testing_command {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Cost, SaysWhatAStepIsMadeOf) {
  const auto result = rehearse({"cost", shipped_scenario("ddp")});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* words : {"A step of a rank", "exposed communication", "Collectives of a step", "all_reduce", "exact",
                            "The busiest of", "Critical path of step", "rank-hours"}) {
    EXPECT_THAT(result.out, HasSubstr(words));
  }
  EXPECT_THAT(result.out, Not(HasSubstr(" at 2")));
  const auto priced = rehearse({"cost", shipped_scenario("ddp"), "--set", "cluster.price_per_rank_hour=2"});
  EXPECT_THAT(priced.out, HasSubstr(" at 2"));
}

TEST(Cost, AsJsonAndAsCsvItSaysTheSame) {
  const Json json = parse_json(rehearse({"cost", shipped_scenario("ddp"), "--format", "json"}).out);
  EXPECT_EQ(json["outcome"], "DONE");
  EXPECT_EQ(json["ranks"], 4);
  const Json& split = json["step_split"];
  double sum = 0;
  for (const auto& [name, seconds] : split.items()) sum += seconds.get<double>();
  EXPECT_NEAR(sum, json["step_seconds"].get<double>(), 1e-11);
  const std::string csv = rehearse({"cost", shipped_scenario("ddp"), "--format", "csv"}).out;
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), json["collectives"].size() + 1);
  EXPECT_THAT(csv, HasSubstr("all_reduce,reduce,ring,1,"));
}

TEST(Cost, TakesScenariosOfEveryKind) {
  for (const char* name : {"capstone", "crash_rolls_back", "oversubscribed_tree", "ideal_network", "lossy_network",
                           "elastic_4_to_3", "one_rank", "late_and_jittery"}) {
    const auto result = rehearse({"cost", shipped_scenario(name)});
    EXPECT_EQ(result.code, 0) << name << result.err;
  }
  const auto job = rehearse({"cost", shipped_scenario("llama3_54_days")});
  EXPECT_EQ(job.code, 2);
  EXPECT_THAT(job.err, HasSubstr("allowed: only a scenario with model, data and train"));
}

TEST(CostSweep, HasARowForEveryCombination) {
  const std::vector<std::string> words = {"cost",     shipped_scenario("ddp"),
                                          "--sweep",  "cluster.ranks=2,4",
                                          "--sweep",  "cluster.network.bandwidth=25Gbps,100Gbps,400Gbps",
                                          "--format", "json"};
  const Json json = parse_json(rehearse(words).out);
  ASSERT_EQ(json["rows"].size(), 6u);
  EXPECT_EQ(json["rows"][0]["values"], (Json{"2", "25Gbps"}));
  EXPECT_EQ(json["rows"][1]["values"], (Json{"2", "100Gbps"}));
  EXPECT_EQ(json["rows"][5]["values"], (Json{"4", "400Gbps"}));
  // A wider network is no slower.
  for (const std::size_t i : {0, 1, 3, 4}) {
    EXPECT_GT(json["rows"][i]["step_seconds"], json["rows"][i + 1]["step_seconds"]) << i;
  }
  const Json alone = parse_json(rehearse({"cost", shipped_scenario("ddp"), "--set", "cluster.ranks=2", "--set",
                                          "cluster.network.bandwidth=100Gbps", "--format", "json"})
                                    .out);
  EXPECT_EQ(json["rows"][1]["step_seconds"], alone["step_seconds"]);
  EXPECT_EQ(json["rows"][1]["rank_hours"], alone["rank_hours"]);
}

TEST(CostSweep, IsTheSameInSeveralProcesses) {
  for (const char* format : {"text", "json", "csv"}) {
    std::vector<std::string> words = {"cost",    shipped_scenario("ddp"), "--sweep",  "cluster.ranks=2,3,4,5,8",
                                      "--sweep", "train.zero_stage=0,1",  "--format", format};
    const std::string one = rehearse(words).out;
    words.insert(words.end(), {"--jobs", "3"});
    EXPECT_EQ(rehearse(words).out, one) << format;
  }
}

TEST(CostSweep, RefusesWhatItCannotDoBeforeAnythingRuns) {
  const auto refused = [](std::vector<std::string> more, const char* words) {
    more.insert(more.begin(), {"cost", shipped_scenario("ddp")});
    const auto result = rehearse(more);
    EXPECT_EQ(result.code, 2) << words;
    EXPECT_EQ(result.out, "") << words;
    EXPECT_THAT(result.err, HasSubstr(words));
  };
  refused({"--sweep", "cluster.ranks=4,none"}, "cluster.ranks");
  refused({"--sweep", "cluster.rank=4"}, "cluster.rank");
  refused({"--sweep", "cluster.ranks=4", "--sweep", "cluster.ranks=8"}, "given more than once");
  refused({"--sweep", "cluster.ranks="}, "path=a,b,c");
  refused({"--jobs", "2"}, "no meaning without --sweep");
  refused({"--sweep", "cluster.ranks=4", "--jobs", "0"}, "from 1 to");
  refused({"--format", "xml"}, "text, json, csv");
}

TEST(CostCsv, QuotesWhatNeedsIt) { EXPECT_EQ(csv_line({"a", "b,c", "d\"e", ""}), "a,\"b,c\",\"d\"\"e\",\n"); }

}  // namespace
}  // namespace rehearse::testing_command
