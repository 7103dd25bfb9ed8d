// `rehearse run --set mode=COST`: what is told of a run without numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CostMode, TellsTimesAndWhatIsNotJudged) {
  const Ran ran = rehearse({"run", shipped_scenario("capstone"), "--set", "mode=COST"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("COST: the same program and times, without numbers"));
  EXPECT_THAT(ran.out, HasSubstr("without numbers these are not judged: loss, weights_sha256, resume_from"));
  EXPECT_THAT(ran.out, HasSubstr("held    invariants: optimizer bytes by the formula"));
  for (const char* number : {"grad norm", "RESUME VERIFIED", "  weights_sha256  ", "nan"}) {
    EXPECT_THAT(ran.out, Not(HasSubstr(number)));
  }
  const Ran real = rehearse({"run", shipped_scenario("capstone")});
  const auto simulated = [](const std::string& out) {
    const std::size_t at = out.find("  simulated   ");
    return out.substr(at, out.find(" in ", at) - at);
  };
  EXPECT_EQ(simulated(ran.out), simulated(real.out));
}

TEST(CostMode, TheSummaryHasTimesAndNoNumbers) {
  TemporaryDirectory folder;
  const Ran ran = rehearse({"run", shipped_scenario("crash_rolls_back"), "--set", "mode=COST", "--out", folder / "cost",
                            "--format", "json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json summary = parse_json(ran.out);
  EXPECT_EQ(summary["mode"], "COST");
  EXPECT_EQ(summary["step_seconds"].size(), 20U);
  EXPECT_EQ(summary["recoveries"].size(), 1U);
  EXPECT_GT(summary["not_judged"].size(), 0U);
  for (const char* number : {"losses", "grad_norms", "weights_sha256", "state_digests"}) {
    EXPECT_FALSE(summary.contains(number)) << number;
  }
  // Its checkpoints have no contents that anybody could continue from.
  EXPECT_FALSE(std::filesystem::exists(folder / "cost/checkpoints/step_000010"));
  std::istringstream metrics(read_file(folder / "cost/metrics.jsonl"));
  std::string line;
  int lines = 0;
  while (std::getline(metrics, line)) {
    const Json step = parse_json(line);
    EXPECT_FALSE(step.contains("loss"));
    EXPECT_GT(step["step_seconds"].get<double>(), 0);
    ++lines;
  }
  EXPECT_GE(lines, 20);
  const Ran again = rehearse({"replay", folder / "cost"});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
}

TEST(CostMode, IsEstimatedByItsMessages) {
  const std::vector<std::string> words = {"check", shipped_scenario("capstone"), "--set", "mode=COST"};
  const Ran ran = rehearse(words);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("wall time   less than a second on one core: 723 messages at an assumed 500,000"));
  EXPECT_THAT(ran.out, HasSubstr("all 4 ranks in this process: at least 1 MiB"));
}

TEST(CostMode, IsNotForAJob) {
  const Ran ran = rehearse({"run", shipped_scenario("llama3_54_days"), "--set", "mode=COST"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("mode=COST: found COST beside a job"));
}

TEST(CostMode, ForceReplacesWhatSuchARunLeft) {
  const TemporaryDirectory directory;
  const std::vector<std::string> words = {"run",   shipped_scenario("ddp"), "--set",  "mode=COST",
                                          "--out", directory / "out",       "--force"};
  EXPECT_EQ(testing_command::rehearse(words).code, 0);
  const testing_command::Ran again = testing_command::rehearse(words);
  EXPECT_EQ(again.code, 0) << again.err;
}

}  // namespace
}  // namespace rehearse::testing_command
