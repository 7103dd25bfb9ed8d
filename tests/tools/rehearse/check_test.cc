#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

using ::testing::HasSubstr;

// What the estimate says a run without checkpoints and evaluations sends, by operation: messages and bytes.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> predicted(const Json& check, std::int64_t steps) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> traffic;
  for (const auto& [rows, times] : {std::pair(check["communication_at_start"], std::int64_t{1}),
                                    std::pair(check["communication_per_step"], steps)}) {
    for (const Json& row : rows) {
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
    for (const char* stage : {"0", "1", "2", "3"}) {
      for (const auto& [bucket, more] :
           {std::pair("1GB", "train.overlap=true"), std::pair("512B", "train.accumulate=2"),
            std::pair("512B", "train.recompute_blocks=true"), std::pair("512B", "train.overlap=true")}) {
        const std::vector<std::string> set = {"--set",    std::string("cluster.ranks=") + ranks,
                                              "--set",    std::string("train.zero_stage=") + stage,
                                              "--set",    std::string("train.bucket=") + bucket,
                                              "--set",    more,
                                              "--format", "json"};
        std::vector<std::string> check_words = {"check", path};
        std::vector<std::string> run_words = {"run", path};
        check_words.insert(check_words.end(), set.begin(), set.end());
        run_words.insert(run_words.end(), set.begin(), set.end());
        const Json check = parse_json(rehearse(check_words).out);
        const Json run = parse_json(rehearse(run_words).out);
        const std::string what = std::string(ranks) + " ranks, stage " + stage + ", bucket " + bucket + ", " + more;
        auto expected = predicted(check, 6);
        for (const Json& row : run["communication"]) {
          const auto [messages, bytes] = expected[row["operation"]];
          EXPECT_EQ(row["messages"], messages) << what << row;
          EXPECT_EQ(row["bytes"], bytes) << what << row;
        }
        for (const auto& [kind, bytes] : check["memory_per_rank"].items()) {
          EXPECT_EQ(run["memory"]["max"][kind], bytes) << what << ", " << kind;
        }
        for (const auto& [kind, bytes] : check["memory_kept_per_rank"].items()) {
          EXPECT_EQ(run["memory"]["max"][kind], bytes) << what << ", " << kind;
        }
        ++cases;
      }
    }
  }
  std::printf("%d layouts were compared\n", cases);
}

// What check says of a job, and what running it gives.
void expect_sends_what_check_says(const std::string& path, const std::vector<std::string>& settings) {
  std::vector<std::string> set;
  for (const std::string& setting : settings) set.insert(set.end(), {"--set", setting});
  set.insert(set.end(), {"--format", "json"});
  std::vector<std::string> check_words = {"check", path};
  std::vector<std::string> run_words = {"run", path};
  check_words.insert(check_words.end(), set.begin(), set.end());
  run_words.insert(run_words.end(), set.begin(), set.end());
  auto expected = predicted(parse_json(rehearse(check_words).out), 6);
  const Json run = parse_json(rehearse(run_words).out);
  ASSERT_FALSE(run["communication"].empty());
  for (const Json& row : run["communication"]) {
    const auto [messages, bytes] = expected[row["operation"]];
    EXPECT_EQ(row["messages"], messages) << settings.front() << row;
    EXPECT_EQ(row["bytes"], bytes) << settings.front() << row;
  }
}

TEST(Check, CountsTheMessagesOfEveryAlgorithm) {
  TemporaryDirectory folder;
  const std::string path = folder / "small.textproto";
  write_file(path, small_scenario_with("expect { final_step: 6 }"));
  for (const char* ranks : {"4", "6"}) {
    const std::vector<std::string> cluster = {std::string("cluster.ranks=") + ranks, "cluster.ranks_per_host=2"};
    const auto expect_equal = [&](std::vector<std::string> settings) {
      settings.insert(settings.end(), cluster.begin(), cluster.end());
      expect_sends_what_check_says(path, settings);
    };
    for (const char* algorithm :
         {"HALVING_DOUBLING", "RECURSIVE_DOUBLING", "BINOMIAL_TREE", "DOUBLE_BINARY_TREE", "HIERARCHICAL", "AUTO"}) {
      expect_equal({std::string("train.collectives.all_reduce=") + algorithm, "train.zero_stage=0"});
    }
    expect_equal(
        {"train.collectives.all_reduce=DOUBLE_BINARY_TREE", "train.zero_stage=0", "train.collectives.segment=1KiB"});
    for (const char* algorithm : {"RECURSIVE_HALVING", "DIRECT", "AUTO"}) {
      expect_equal({std::string("train.collectives.reduce_scatter=") + algorithm, "train.zero_stage=1"});
    }
    for (const char* algorithm : {"RECURSIVE_DOUBLING", "DIRECT", "AUTO"}) {
      expect_equal({std::string("train.collectives.all_gather=") + algorithm, "train.zero_stage=1"});
    }
  }
}

TEST(Check, GradientsThatAreComputedTwiceAreInTheEstimate) {
  TemporaryDirectory folder;
  write_file(folder / "one.textproto", small_scenario("resume_from: 4"));
  const auto checked = [&](const char* command, const std::string& every) {
    return parse_json(rehearse({command, folder / "one.textproto", "--format", "json", "--set",
                                "train.guards.corruption=EVICT", "--set", "train.guards.recompute_every=" + every})
                          .out);
  };
  const Json never = checked("check", "0");
  const double step = never["flops"].get<double>() / (6 + 2);
  const Json often = checked("check", "1");
  EXPECT_DOUBLE_EQ(often["flops"], step * 2 * (6 + 2));
  // In steps 4 and 6, and in step 6 again.
  EXPECT_DOUBLE_EQ(checked("check", "4")["flops"], step * (6 + 2 + 2 + 1));
  for (const auto& [kind, bytes] : often["memory_per_rank"].items()) {
    EXPECT_EQ(checked("run", "1")["memory"]["max"][kind], bytes) << kind;
    EXPECT_EQ(never["memory_per_rank"][kind].get<std::int64_t>() * (kind == "gradients" ? 2 : 1), bytes) << kind;
  }
}

TEST(Check, TheRunWhoseWeightsAreExpectedIsInTheEstimate) {
  TemporaryDirectory folder;
  write_file(folder / "other.textproto", small_scenario_with("expect { final_step: 6 }"));
  const auto checked = [&](const std::string& expect, const std::vector<std::string>& set = {}) {
    write_file(folder / "one.textproto", small_scenario(expect));
    std::vector<std::string> words = {"check", folder / "one.textproto", "--format", "json"};
    words.insert(words.end(), set.begin(), set.end());
    return parse_json(rehearse(words).out);
  };
  const Json alone = checked("final_step: 6");
  const double run = alone["flops"];
  EXPECT_DOUBLE_EQ(checked("resume_from: 4")["flops"], run * 8 / 6);
  const Json both = checked("resume_from: 4 same_weights_as: \"other.textproto\"");
  EXPECT_DOUBLE_EQ(both["flops"], run * (8 + 6) / 6);
  EXPECT_DOUBLE_EQ(both["estimated_wall_seconds"], alone["estimated_wall_seconds"].get<double>() * (8 + 6) / 6);
  const std::string digest(64, 'a');
  EXPECT_DOUBLE_EQ(checked("same_weights_as: \"sha256:" + digest + "\"")["flops"], run);
  // One after the other in this process: the larger decides.
  const Json smaller = checked("same_weights_as: \"other.textproto\"", {"--set", "cluster.ranks=1"});
  EXPECT_EQ(smaller["memory_of_process"], alone["memory_of_process"]);
  EXPECT_EQ(checked("same_weights_as: \"other.textproto\"", {"--set", "cluster.ranks=4"})["memory_of_process"],
            checked("final_step: 6", {"--set", "cluster.ranks=4"})["memory_of_process"]);
}

// `check` of a model of any size: its counts are those that double, which has no end here, gives; or it is refused.
bool is_counted(const std::vector<std::string>& set, const std::string& stage, double ranks) {
  std::vector<std::string> words = {"check", shipped_scenario("capstone"), "--format", "json",
                                    "--set", "train.zero_stage=" + stage,  "--set",    "train.batch=1",
                                    "--set", "train.accumulate=1"};
  for (const std::string& one : set) words.insert(words.end(), {"--set", one});
  const Ran ran = rehearse(words);
  if (ran.code != 0) {
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, ::testing::AnyOf(HasSubstr("2^40"), HasSubstr("2^48"), HasSubstr("2^63")));
    EXPECT_THAT(ran.out, ::testing::IsEmpty());
    return false;
  }
  const Json check = parse_json(ran.out);
  double rank_bytes = 0;
  for (const auto& [kind, bytes] : check["memory_per_rank"].items()) rank_bytes += bytes.get<double>();
  EXPECT_NEAR(check["memory_of_process"].get<double>(), rank_bytes * ranks, 1e-9 * rank_bytes * ranks);
  const double whole = 4 * check["padded_parameters"].get<double>() * (ranks - 1);
  const double sums = 32 * ranks * (ranks - 1);
  const std::map<std::string, double> expected = {
      {"all_reduce", 2 * whole}, {"reduce_scatter", whole}, {"all_gather", sums + (stage == "1" ? whole : 0)}};
  for (const Json& row : check["communication_per_step"]) {
    const double bytes = expected.at(row["operation"]);
    EXPECT_NEAR(row["bytes"].get<double>(), bytes, 1e-9 * bytes) << row;
  }
  return true;
}

TEST(Check, CountsAreRightOrRefusedUpToTheLargestModel) {
  int right = 0;
  int refused = 0;
  for (const char* layers : {"1", "100", "1000", "10000"}) {
    for (const char* embed : {"32", "16384"}) {
      for (const char* context : {"16", "131072"}) {
        for (const char* ranks : {"1", "1000", "65536"}) {
          for (const char* stage : {"0", "1"}) {
            const bool counted =
                is_counted({std::string("model.layers=") + layers, std::string("model.embed=") + embed,
                            std::string("model.context=") + context, std::string("cluster.ranks=") + ranks},
                           stage, std::stod(ranks));
            ++(counted ? right : refused);
          }
        }
      }
    }
  }
  EXPECT_GT(right, 20);
  EXPECT_GT(refused, 20);
  std::printf("%d scenarios counted, %d refused\n", right, refused);
  const Ran ran = rehearse({"check", shipped_scenario("capstone"), "--set", "model.context=131072", "--set",
                            "model.layers=1000", "--set", "cluster.ranks=65536", "--set", "train.batch=1"});
  EXPECT_THAT(ran.err, HasSubstr("cluster.ranks: found 65536; the bytes in this process"));
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
