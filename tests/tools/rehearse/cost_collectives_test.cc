// `rehearse cost --collectives`: what it prints, and what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Ran collectives(std::vector<std::string> words) {
  words.insert(words.begin(), {"cost", "--collectives", shipped_scenario("capstone")});
  return rehearse(words);
}

// Four ranks, 5 us, 100 Gbps: a ring of 1 MB takes 6 (5 + 20) us.
TEST(CostCollectives, TheTableHasTimesRatesAndTheFormula) {
  const Ran ran = collectives({"--algorithm", "ring", "--sizes", "1MB"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("all_reduce, ring\n"));
  EXPECT_THAT(ran.out, HasSubstr("150.00        6.67       10.00        24     1,500,000      150.00   exact  "
                                 "rank 0 -> switch  80.0%"));
}

TEST(CostCollectives, JsonSaysItInNumbers) {
  const Ran ran = collectives({"--algorithm", "ring", "--sizes", "1MB..4MB", "--factor", "4", "--format", "json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json rows = parse_json(ran.out)["collectives"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["operation"], "all_reduce");
  EXPECT_EQ(rows[0]["seconds"], 150e-6);
  EXPECT_EQ(rows[0]["formula_seconds"], 150e-6);
  EXPECT_EQ(rows[0]["busbw_bytes_per_second"], 1e10);
  EXPECT_EQ(rows[0]["bottleneck"]["utilisation"], 0.8);
  EXPECT_EQ(rows[1]["size"], 4'000'000);
}

TEST(CostCollectives, CsvHasALineASize) {
  const Ran ran = collectives({"--algorithm", "ring", "--sizes", "1MB", "--format", "csv"});
  EXPECT_EQ(ran.out,
            "operation,algorithm,size,seconds,algbw_bytes_per_second,busbw_bytes_per_second,messages,bytes_of_a_rank,"
            "formula_seconds,bottleneck,utilisation\n"
            "all_reduce,ring,1000000,0.00015,6666666666.625,1e+10,24,1500000,0.00015,rank 0 -> switch,0.8\n");
}

TEST(CostCollectives, AllOperationsAndAlgorithmsUnlessTold) {
  const Ran ran = collectives({"--operation", "all", "--sizes", "64KiB"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* table : {"all_reduce, double_binary_tree", "reduce_scatter, direct",
                            "all_gather, recursive_doubling", "broadcast, chain", "reduce, binomial",
                            "all_to_all, pairwise", "gather, direct", "scatter, direct", "barrier, dissemination"}) {
    EXPECT_THAT(ran.out, HasSubstr(std::string(table) + "\n")) << table;
  }
  // Without hosts it would be a ring.
  EXPECT_THAT(ran.out, Not(HasSubstr("hierarchical")));
}

TEST(CostCollectives, DefaultSizesGoFromAKibibyteToAGibibyte) {
  const Ran ran = collectives({"--algorithm", "ring", "--format", "csv"});
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1 + 21);
  EXPECT_THAT(ran.out, HasSubstr("ring,1024,"));
  EXPECT_THAT(ran.out, HasSubstr("ring,1073741824,"));
}

TEST(CostCollectives, WrongWordsAreRefused) {
  const auto error_of = [](const std::vector<std::string>& words) {
    const Ran ran = collectives(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_THAT(error_of({"--operation", "all_redcue"}), HasSubstr("--operation: found 'all_redcue'"));
  EXPECT_THAT(error_of({"--algorithm", "rings"}), HasSubstr("--algorithm: found 'rings'"));
  EXPECT_THAT(error_of({"--algorithm", "hierarchical"}), HasSubstr("hierarchical cannot do 4 ranks on hosts of 1"));
  EXPECT_THAT(error_of({"--sizes", "1024"}), HasSubstr("--sizes: "));
  EXPECT_THAT(error_of({"--sizes", "2MiB..1MiB"}), HasSubstr("allowed: the smallest and the largest"));
  EXPECT_THAT(error_of({"--sizes", "6B"}), HasSubstr("allowed: whole float32 elements"));
  EXPECT_THAT(error_of({"--factor", "1"}), HasSubstr("--factor: found '1'; allowed: a whole number from 2"));
  EXPECT_THAT(error_of({"--format", "xml"}), HasSubstr("allowed: text, json, csv"));
  const Ran without = rehearse({"cost", shipped_scenario("capstone"), "--sizes", "1KiB..1MiB"});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("--sizes has no meaning without --collectives"));
  EXPECT_THAT(error_of({"--sweep", "cluster.ranks=2,4"}), HasSubstr("--collectives takes no --sweep"));
  const Ran job = rehearse({"cost", "--collectives", shipped_scenario("llama3_54_days")});
  EXPECT_EQ(job.code, 2);
  EXPECT_THAT(job.err, HasSubstr("has a job { }"));
}

// A network is made for the ranks that a job was planned for, which may be more than it has.
TEST(CostCollectives, AreOfTheRanksThatThereAreOnANetworkForMore) {
  TemporaryDirectory folder;
  const std::string path = folder / "fewer.textproto";
  write_file(path,
             "name: \"fewer\"\n"
             "cluster { ranks: 4 ranks_per_host: 2 network { topology { hosts { latency: \"1us\" bandwidth: "
             "\"400Gbps\" } } } }\n"
             "model { layers: 1 embed: 8 heads: 1 vocab: 8 context: 4 }\n"
             "data { synthetic { kind: MARKOV states: 4 } }\n"
             "train { steps: 3 batch: 1 data_ranks: 8 adam { lr: 0.01 } }\n");
  const Ran fewer = rehearse({"cost", "--collectives", path, "--operation", "all", "--sizes", "4KiB..4KiB"});
  EXPECT_EQ(fewer.code, 0) << fewer.err;
  EXPECT_EQ(rehearse({"cost", path}).code, 0);
}

}  // namespace
}  // namespace rehearse::testing_command
