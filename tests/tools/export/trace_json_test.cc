#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using testing_command::Ran;
using testing_command::read_file;
using testing_command::shipped_scenario;
using testing_command::small_scenario;
using testing_command::TemporaryDirectory;
using testing_command::write_file;

// Picoseconds of a number of microseconds with six digits.
std::int64_t ps(const Json& number) { return std::llround(number.get<double>() * 1e6); }

// A trace file, read by the rules of the format alone.
class Trace {
 public:
  explicit Trace(const std::string& text) : json_(parse_json(text)) {}

  const Json& events() const { return json_["traceEvents"]; }
  std::vector<Json> of_kind(const std::string& ph) const {
    std::vector<Json> found;
    for (const Json& event : events()) {
      if (event["ph"] == ph) found.push_back(event);
    }
    return found;
  }
  std::vector<Json> of_category(const std::string& category) const {
    std::vector<Json> found;
    for (const Json& event : events()) {
      if (event.value("cat", "") == category && event["ph"] == "X") found.push_back(event);
    }
    return found;
  }
  std::vector<double> counter(const std::string& name) const {
    std::vector<double> values;
    for (const Json& event : of_kind("C")) {
      if (event["name"] == name) values.push_back(event["args"]["value"].get<double>());
    }
    return values;
  }

 private:
  Json json_;
};

class TraceOfARun : public testing::Test {
 protected:
  // Runs with --trace; the summary is read back beside it.
  void run(const std::string& scenario, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run", scenario, "--format", "json", "--trace", directory_ / "trace.json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = testing_command::rehearse(words);
    ASSERT_EQ(ran.code, 0) << ran.err;
    summary_ = parse_json(ran.out);
    text_ = read_file(directory_ / "trace.json");
    trace_.emplace(text_);
  }
  std::string small(const std::string& rest = "expect { final_step: 6 }\n") {
    write_file(directory_ / "small.textproto", testing_command::small_scenario_with(rest));
    return directory_ / "small.textproto";
  }

  TemporaryDirectory directory_;
  Json summary_;
  std::string text_;
  std::optional<Trace> trace_;
};

TEST_F(TraceOfARun, EventsAreInTheOrderOfTime) {
  run(shipped_scenario("crash_rolls_back"));
  std::int64_t last = 0;
  for (const Json& event : trace_->events()) {
    if (event["ph"] == "M") continue;
    EXPECT_GE(ps(event["ts"]), last) << event;
    last = ps(event["ts"]);
  }
  EXPECT_GT(last, 0);
}

TEST_F(TraceOfARun, SlicesOfATrackNestOrDoNotTouch) {
  for (const char* name : {"crash_rolls_back", "async_save", "seven_ranks", "crash_under_fair_sharing"}) {
    run(shipped_scenario(name));
    std::map<std::pair<int, int>, std::vector<std::int64_t>> open;  // ends of the slices that last, outermost first
    for (const Json& slice : trace_->of_kind("X")) {
      const std::int64_t begin = ps(slice["ts"]);
      const std::int64_t end = begin + ps(slice["dur"]);
      auto& stack = open[{slice["pid"].get<int>(), slice["tid"].get<int>()}];
      while (!stack.empty() && stack.back() <= begin) stack.pop_back();
      EXPECT_TRUE(stack.empty() || end <= stack.back()) << name << ": " << slice;
      stack.push_back(end);
    }
  }
}

TEST_F(TraceOfARun, EveryTrackAndProcessHasAName) {
  run(shipped_scenario("crash_rolls_back"));
  std::set<std::pair<int, int>> named;
  for (const Json& event : trace_->of_kind("M")) {
    if (event["name"] == "thread_name") named.emplace(event["pid"].get<int>(), event["tid"].get<int>());
    if (event["name"] == "process_name") named.emplace(event["pid"].get<int>(), 0);
  }
  for (const Json& event : trace_->events()) {
    EXPECT_TRUE(named.contains({event["pid"].get<int>(), event["tid"].get<int>()})) << event;
  }
}

TEST_F(TraceOfARun, ArrowsJoinSlicesOfTheMessagesThatTheSummaryCounts) {
  run(small());
  std::map<int, Json> sent;
  std::map<int, Json> come;
  for (const Json& arrow : trace_->of_kind("s")) sent[arrow["id"].get<int>()] = arrow;
  for (const Json& arrow : trace_->of_kind("f")) come[arrow["id"].get<int>()] = arrow;
  EXPECT_EQ(sent.size(), summary_["messages"].get<std::size_t>());
  ASSERT_EQ(sent.size(), come.size());
  const auto begins_slice = [this](const Json& arrow) {
    for (const Json& slice : trace_->of_kind("X")) {
      if (slice["pid"] == arrow["pid"] && slice["tid"] == arrow["tid"] && slice["ts"] == arrow["ts"]) return true;
    }
    return false;
  };
  for (const auto& [id, arrow] : sent) {
    EXPECT_TRUE(begins_slice(arrow)) << arrow;
    EXPECT_TRUE(begins_slice(come.at(id))) << come.at(id);
    // One way takes the network's default latency, 5 us, exactly.
    EXPECT_EQ(ps(come.at(id)["ts"]) - ps(arrow["ts"]), 5'000'000);
    EXPECT_EQ(come.at(id)["bp"], "e");
  }
}

TEST_F(TraceOfARun, BytesOnLinksAreThoseOfTheSummary) {
  run(shipped_scenario("capstone"));
  std::int64_t bytes = 0;
  for (const Json& slice : trace_->of_category("link: out")) bytes += slice["args"]["bytes"].get<std::int64_t>();
  EXPECT_EQ(bytes, summary_["bytes_on_wire"].get<std::int64_t>());
}

TEST_F(TraceOfARun, CountersAreTheNumbersOfTheSummary) {
  run(shipped_scenario("capstone"));
  EXPECT_EQ(trace_->counter("loss"), summary_["losses"].get<std::vector<double>>());
  EXPECT_EQ(trace_->counter("memory: optimizer").back(), summary_["memory"]["max"]["optimizer"].get<double>());
  // All that is sent has come.
  EXPECT_EQ(trace_->counter("bytes in flight").back(), 0);
  for (const double part : trace_->counter("rank 0 out")) {
    EXPECT_GT(part, 0);
    EXPECT_LE(part, 1);
  }
}

TEST_F(TraceOfARun, CollectivesAreAsManyAndLastAsLongAsTheSummarySays) {
  run(shipped_scenario("capstone"));
  std::map<std::string, std::map<int, std::int64_t>> calls;
  std::map<std::string, std::map<int, std::int64_t>> time;
  for (const Json& slice : trace_->of_category("collectives")) {
    const auto name = slice["name"].get<std::string>();
    const std::string operation = name.substr(0, name.find(' '));
    ++calls[operation][slice["pid"].get<int>()];
    time[operation][slice["pid"].get<int>()] += ps(slice["dur"]);
  }
  int compared = 0;
  for (const Json& row : summary_["communication"]) {
    const auto operation = row["operation"].get<std::string>();
    if (!calls.contains(operation)) continue;
    std::int64_t most_calls = 0;
    std::int64_t most_time = 0;
    for (const auto& [rank, count] : calls[operation]) most_calls = std::max(most_calls, count);
    for (const auto& [rank, ps_of_rank] : time[operation]) most_time = std::max(most_time, ps_of_rank);
    EXPECT_EQ(most_calls, row["calls"].get<std::int64_t>()) << operation;
    EXPECT_EQ(most_time, std::llround(row["seconds"].get<double>() * 1e12)) << operation;
    ++compared;
  }
  EXPECT_GE(compared, 2);
}

TEST_F(TraceOfARun, FaultsAndRecoveriesStandInItInWords) {
  run(shipped_scenario("crash_rolls_back"));
  std::string words;
  for (const Json& instant : trace_->of_kind("i")) words += instant["name"].get<std::string>() + "\n";
  EXPECT_THAT(words, HasSubstr("fault: the process crashes"));
  EXPECT_THAT(words, HasSubstr("checkpoint step_000010 is durable"));
  const std::vector<Json> recovery = trace_->of_category("recovery");
  ASSERT_EQ(recovery.size(), 3U);
  EXPECT_EQ(recovery.back()["name"], "load the checkpoint of step 10");
  const Json& told = summary_["recoveries"][0];
  const std::int64_t resumed = ps(recovery.back()["ts"]) + ps(recovery.back()["dur"]);
  EXPECT_EQ(resumed, std::llround(told["resumed_seconds"].get<double>() * 1e12));
}

TEST_F(TraceOfARun, ShowsTheStepsThatAreAskedForAlone) {
  run(small(), {"--trace-steps", "2..3"});
  std::set<int> steps;
  for (const Json& slice : trace_->of_kind("X")) steps.insert(slice["args"]["step"].get<int>());
  EXPECT_THAT(steps, testing::ElementsAre(2, 3));
}

TEST_F(TraceOfARun, IsTheSameBytesEveryTimeAndInAReplay) {
  const std::string scenario = small();
  run(scenario, {"--out", directory_ / "out"});
  const std::string first = text_;
  run(scenario);
  EXPECT_EQ(text_, first);
  const Ran replayed = testing_command::rehearse({"replay", directory_ / "out", "--trace", directory_ / "again.json"});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_EQ(read_file(directory_ / "again.json"), first);
}

TEST_F(TraceOfARun, MayStandInTheRunsOwnDirectory) {
  const std::string scenario = small();
  const std::vector<std::string> words = {
      "run", scenario, "--out", directory_ / "out", "--trace", directory_ / "out/trace.json"};
  EXPECT_EQ(testing_command::rehearse(words).code, 0);
  std::vector<std::string> again = words;
  again.emplace_back("--force");
  const Ran ran = testing_command::rehearse(again);
  EXPECT_EQ(ran.code, 0) << ran.err;
  write_file(directory_ / "out/trace.json", "{}");
  EXPECT_THAT(testing_command::rehearse(again).err, HasSubstr("not the trace of a run"));
}

TEST_F(TraceOfARun, LeavesTheRunAsItIs) {
  const std::string scenario = small();
  run(scenario);
  const Ran plain = testing_command::rehearse({"run", scenario, "--format", "json"});
  EXPECT_EQ(parse_json(plain.out)["event_digest"], summary_["event_digest"]);
}

TEST_F(TraceOfARun, OfAJobWithoutNumbersHasNoLoss) {
  run(small("mode: COST\nexpect { final_step: 6 }\n"));
  EXPECT_TRUE(trace_->counter("loss").empty());
  EXPECT_FALSE(trace_->of_category("collectives").empty());
}

TEST_F(TraceOfARun, IsRefusedWhereItCannotBe) {
  const std::string scenario = small();
  const auto error = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"run", scenario};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = testing_command::rehearse(words);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  const std::string file = directory_ / "t.json";
  EXPECT_THAT(error({"--trace", directory_ / "no/t.json"}), HasSubstr("there is no directory"));
  EXPECT_THAT(error({"--trace", directory_ / ""}), HasSubstr("it is a directory"));
  EXPECT_THAT(error({"--trace", ""}), HasSubstr("found an empty path"));
  EXPECT_THAT(error({"--trace-steps", "1..2"}), HasSubstr("no meaning without --trace"));
  EXPECT_THAT(error({"--trace", file, "--trace-steps", "7..9"}), HasSubstr("the first step is 7, and the run has 6"));
  for (const char* steps : {"0..3", "3..2", "3", "a..b", "1..2x", "..", "-1..2"}) {
    EXPECT_THAT(error({"--trace", file, "--trace-steps", steps}), HasSubstr("as in 10..12")) << steps;
  }
  const Ran job = testing_command::rehearse({"run", shipped_scenario("lemon_node"), "--trace", file});
  EXPECT_EQ(job.code, 2);
  EXPECT_THAT(job.err, HasSubstr("nothing runs on its ranks"));
}

}  // namespace
}  // namespace rehearse
