#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "core/formats/json.h"
#include "tests/tools/export/wire_reader.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using testing_command::Ran;
using testing_command::read_file;
using testing_command::shipped_scenario;
using testing_command::TemporaryDirectory;

// A GOAL schedule, read by the language's own words.
struct GoalStep {
  std::string what;  // calc, send, recv
  std::int64_t size = 0;
  int peer = -1;
  std::int64_t tag = 0;
  std::vector<std::size_t> needs;
};

std::vector<std::vector<GoalStep>> read_goal(const std::string& text) {
  std::istringstream in(text);
  std::string word;
  int ranks = 0;
  in >> word >> ranks;
  EXPECT_EQ(word, "num_ranks");
  std::vector<std::vector<GoalStep>> program(static_cast<std::size_t>(ranks));
  std::size_t rank = 0;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string first;
    std::string second;
    words >> first >> second;
    if (first.empty() || first == "}") continue;
    if (first == "rank") {
      rank = std::stoul(second);
      continue;
    }
    auto& steps = program.at(rank);
    if (second == "requires") {
      words >> word;
      // Of the newest step, and only of what came before it.
      EXPECT_EQ(first, "l" + std::to_string(steps.size()));
      const std::size_t need = std::stoul(word.substr(1));
      EXPECT_LT(need, steps.size());
      steps.back().needs.push_back(need - 1);
      continue;
    }
    EXPECT_EQ(first, "l" + std::to_string(steps.size() + 1) + ":");
    GoalStep step;
    step.what = second;
    words >> word;
    step.size = std::stoll(word);
    if (second != "calc") {
      EXPECT_EQ(word.back(), 'b');
      std::string direction;
      std::string tag;
      words >> direction >> step.peer >> tag >> step.tag;
      EXPECT_EQ(direction, second == "send" ? "to" : "from");
      EXPECT_EQ(tag, "tag");
    }
    steps.push_back(step);
  }
  return program;
}

// Steps that run when all goes as the schedule says: a receive needs its message, in the order of sending.
std::size_t steps_that_run(const std::vector<std::vector<GoalStep>>& program) {
  std::map<std::tuple<int, int, std::int64_t>, std::vector<std::int64_t>> sent;
  std::vector<std::vector<bool>> done;
  for (const auto& steps : program) done.emplace_back(steps.size(), false);
  std::size_t count = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < program.size(); ++rank) {
      for (std::size_t i = 0; i < program[rank].size(); ++i) {
        const GoalStep& step = program[rank][i];
        bool ready = !done[rank][i];
        for (const std::size_t need : step.needs) ready = ready && done[rank][need];
        if (!ready) continue;
        const int self = static_cast<int>(rank);
        if (step.what == "send") sent[{self, step.peer, step.tag}].push_back(step.size);
        if (step.what == "recv") {
          auto& messages = sent[{step.peer, self, step.tag}];
          if (messages.empty()) continue;
          EXPECT_EQ(messages.front(), step.size);
          messages.erase(messages.begin());
        }
        done[rank][i] = true;
        moved = true;
        ++count;
      }
    }
  }
  for (const auto& [key, messages] : sent) EXPECT_TRUE(messages.empty()) << "a message that nobody receives";
  return count;
}

class ProgramFiles : public testing::Test {
 protected:
  Ran run(const std::string& name) {
    const Ran ran = testing_command::rehearse({"run", shipped_scenario(name), "--format", "json", "--goal",
                                               directory_ / "run.goal", "--chakra", directory_ / "trace"});
    if (ran.code == 0) summary_ = parse_json(ran.out);
    return ran;
  }
  TemporaryDirectory directory_;
  Json summary_;
};

TEST_F(ProgramFiles, GoalHasTheMessagesOfTheRunAndRunsToItsEnd) {
  for (const char* name :
       {"capstone", "ddp", "seven_ranks", "tree_over_long_links", "slow_disk", "hosts_of_two", "straggler"}) {
    ASSERT_EQ(run(name).code, 0) << name;
    const auto program = read_goal(read_file(directory_ / "run.goal"));
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
    std::size_t steps = 0;
    for (const auto& rank : program) {
      steps += rank.size();
      for (const GoalStep& step : rank) {
        messages += step.what == "send" ? 1 : 0;
        bytes += step.what == "send" ? step.size : 0;
      }
    }
    EXPECT_EQ(messages, summary_["messages"].get<std::int64_t>()) << name;
    EXPECT_EQ(bytes, summary_["bytes_on_wire"].get<std::int64_t>()) << name;
    EXPECT_EQ(steps_that_run(program), steps) << name;
    std::printf("%s: %zu steps\n", name, steps);
  }
}

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;
  std::vector<std::uint64_t> needs;
  std::map<std::string, std::uint64_t> numbers;
  std::map<std::string, int> fields;  // of the attribute's value
};

std::vector<ChakraNode> read_chakra(const std::string& file, std::string& version) {
  std::string_view in = file;
  version = read_wire(take(in, read_varint(in))).at(0).bytes;
  std::vector<ChakraNode> nodes;
  while (!in.empty()) {
    ChakraNode node;
    for (const WireField& field : read_wire(take(in, read_varint(in)))) {
      if (field.number == 1) node.id = field.value;
      if (field.number == 2) node.name = field.bytes;
      if (field.number == 3) node.type = field.value;
      if (field.number == 5) node.needs.push_back(field.value);
      if (field.number != 10) continue;
      const std::vector<WireField> parts = read_wire(field.bytes);
      node.numbers[std::string(parts.at(0).bytes)] = parts.at(1).value;
      node.fields[std::string(parts.at(0).bytes)] = parts.at(1).number;
    }
    nodes.push_back(node);
  }
  return nodes;
}

TEST_F(ProgramFiles, ChakraTracesHaveTheCollectivesOfTheRun) {
  ASSERT_EQ(run("capstone").code, 0);
  // CollectiveCommType of the format.
  const std::map<std::string, std::uint64_t> kTypes = {{"all_reduce", 0}, {"all_gather", 2},     {"gather", 3},
                                                       {"broadcast", 5},  {"reduce_scatter", 7}, {"barrier", 9}};
  std::map<std::string, std::map<int, std::int64_t>> calls;
  for (int rank = 0; rank < 4; ++rank) {
    std::string version;
    const auto nodes = read_chakra(read_file(directory_ / ("trace." + std::to_string(rank) + ".et")), version);
    EXPECT_EQ(version, "0.0.4");
    std::set<std::uint64_t> seen;
    for (const ChakraNode& node : nodes) {
      for (const std::uint64_t need : node.needs) EXPECT_TRUE(seen.contains(need)) << node.name;
      EXPECT_TRUE(seen.insert(node.id).second);
      ASSERT_TRUE(node.numbers.contains("is_cpu_op"));
      EXPECT_EQ(node.fields.at("is_cpu_op"), 27);
      EXPECT_EQ(node.numbers.contains("num_ops"), node.type == 4);
      if (node.type != 7) continue;
      ++calls[node.name][rank];
      EXPECT_EQ(node.numbers.at("comm_type"), kTypes.at(node.name));
      EXPECT_EQ(node.fields.at("comm_size"), 9);
    }
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "trace.4.et"));
  int compared = 0;
  for (const Json& row : summary_["communication"]) {
    const auto name = row["operation"].get<std::string>();
    if (!calls.contains(name)) continue;
    std::int64_t most = 0;
    for (const auto& [rank, count] : calls[name]) most = std::max(most, count);
    EXPECT_EQ(most, row["calls"].get<std::int64_t>()) << name;
    ++compared;
  }
  EXPECT_GE(compared, 2);
}

TEST_F(ProgramFiles, ARunThatFailedHasNone) {
  const Ran ran = run("crash_rolls_back");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--goal: nothing was written: the job failed and came back"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "run.goal"));
}

// What the run itself leaves is all there, and said, before an export is refused.
TEST_F(ProgramFiles, ThatAreRefusedTakeNothingOfTheRunAlong) {
  const std::string out = directory_ / "out";
  const std::string goal = directory_ / "refused.goal";
  const Ran ran = testing_command::rehearse(
      {"run", testing_command::shipped_scenario("crash_rolls_back"), "--out", out, "--goal", goal});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, HasSubstr("weights_sha256"));
  EXPECT_TRUE(std::filesystem::exists(out + "/summary.json"));
  EXPECT_TRUE(std::filesystem::exists(out + "/checkpoints/step_000020/manifest.json"));
  const Ran replayed = testing_command::rehearse({"replay", out, "--goal", goal});
  EXPECT_EQ(replayed.code, 2);
  EXPECT_THAT(replayed.out, HasSubstr("REPRODUCED"));
}

TEST_F(ProgramFiles, AreTheSameBytesEveryTime) {
  ASSERT_EQ(run("seven_ranks").code, 0);
  const std::string goal = read_file(directory_ / "run.goal");
  const std::string trace = read_file(directory_ / "trace.1.et");
  ASSERT_EQ(run("seven_ranks").code, 0);
  EXPECT_EQ(read_file(directory_ / "run.goal"), goal);
  EXPECT_EQ(read_file(directory_ / "trace.1.et"), trace);
}

}  // namespace
}  // namespace rehearse
