#include "tools/rehearse/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/rehearse/run_in_process.h"
#include "tools/rehearse/help.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing_command::Ran;

Ran command(const std::vector<std::string>& words) { return testing_command::rehearse(words); }

struct BadLine {
  std::vector<std::string> words;
  std::string message;
};

TEST(CommandLine, WhatIsWrongIsSaidWithWhatWouldBeRight) {
  const std::vector<BadLine> lines = {
      {{"rum"}, "unknown command 'rum'; did you mean 'run'?"},
      {{"--verison"}, "unknown option '--verison'; did you mean '--version'?"},
      {{""}, "unknown command ''"},
      {{"run"}, "run: needs a SCENARIO"},
      {{"resume"}, "resume: needs a CHECKPOINT_DIR"},
      {{"inspect"}, "inspect: needs a PATH"},
      {{"run", ""}, "found an empty path"},
      {{"run", "a", "b"}, "takes one SCENARIO, found 'a' and 'b'"},
      {{"run", "a", "--sed", "7"}, "unknown option '--sed'; did you mean '--seed'?"},
      {{"run", "a", "--form", "json"}, "unknown option '--form'; did you mean '--format'?"},
      {{"run", "a", "--seed", "-1"}, "run: "},
      {{"run", "a", "--seed=-1"}, "--seed: found '-1'; allowed: a whole number from 0 to"},
      {{"run", "a", "--seed", "7x"}, "--seed: found '7x'"},
      {{"run", "a", "--seed", "18446744073709551616"}, "--seed: found '18446744073709551616'"},
      {{"run", "a", "--seed"}, "run: "},
      {{"run", "a", "--seed", "1", "--seed", "2"}, "--seed"},
      {{"run", "a", "--format", "xml"}, "--format: found 'xml'; allowed: text, json"},
      {{"run", "a", "--force"}, "--force has no meaning without --out"},
      {{"run", "a", "--out", ""}, "--out: found an empty path"},
      {{"run", "a", "--out", "x", "--out", "y"}, "--out"},
      {{"check", "a", "--out", "x"}, "unknown option '--out'"},
      {{"inspect", "a", "--set", "x=1"}, "unknown option '--set'"},
      {{"resume", "a", "--seed", "7"}, "--seed is not offered: a checkpoint continues its own run"},
      {{"resume", "a", "--set=train.steps=40"}, "add --reshard"},
  };
  for (const BadLine& line : lines) {
    const Ran ran = command(line.words);
    const std::string typed = ::testing::PrintToString(line.words);
    EXPECT_EQ(ran.code, 2) << typed;
    EXPECT_THAT(ran.err, StartsWith("rehearse: ")) << typed;
    EXPECT_THAT(ran.err, HasSubstr(line.message)) << typed;
    EXPECT_THAT(ran.err, EndsWith("\n")) << typed;
    EXPECT_THAT(ran.out, IsEmpty()) << typed;
  }
}

TEST(CommandLine, WithoutWordsHelpGoesToTheErrorStream) {
  const Ran ran = command({});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, general_help());
  EXPECT_THAT(ran.out, IsEmpty());
}

TEST(CommandLine, HelpAndVersionArePrinted) {
  EXPECT_THAT(command({"--version"}).out, ::testing::MatchesRegex("rehearse [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(command({"--help"}).out, general_help());
  EXPECT_EQ(command({"help", "run"}).out, command_help("run"));
  for (const std::string& name : command_names()) {
    const Ran ran = command({name, "--help"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.out, command_help(name));
    EXPECT_THAT(ran.out, HasSubstr("examples:\n  rehearse ")) << name;
    EXPECT_EQ(command({name, "a", "--nonsense", "--help"}).out, command_help(name));
    EXPECT_EQ(command({name, "-h"}).out, command_help(name));
  }
}

TEST(CommandLine, HelpFitsItsColumns) {
  std::vector<std::string> pages = {general_help()};
  for (const std::string& name : command_names()) pages.push_back(command_help(name));
  for (const std::string& page : pages) {
    for (std::size_t start = 0; start < page.size();) {
      const std::size_t end = page.find('\n', start);
      EXPECT_LE(end - start, 120u) << page.substr(start, end - start);
      start = end + 1;
    }
  }
}

TEST(CommandLine, OptionsAreRead) {
  const Command command =
      parse_command_line({"run", "--set", "train.steps=40", "a.textproto", "--seed=18446744073709551615",
                          "--set=name=x=y", "--out", "d", "--force", "--format", "json"});
  const auto& run = std::get<RunCommand>(command);
  EXPECT_EQ(run.scenario, "a.textproto");
  EXPECT_EQ(run.load.seed, 18446744073709551615u);
  EXPECT_THAT(run.load.overrides, ElementsAre("train.steps=40", "name=x=y"));
  EXPECT_EQ(run.out, "d");
  EXPECT_TRUE(run.force);
  EXPECT_EQ(run.format, Format::kJson);
}

TEST(CommandLine, ANameThatBeginsWithADashComesAfterTwo) {
  const Command command = parse_command_line({"run", "--", "-odd.textproto"});
  EXPECT_EQ(std::get<RunCommand>(command).scenario, "-odd.textproto");
}

}  // namespace
}  // namespace rehearse
