#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/tidy/readme_commands.h"

namespace rehearse::tidy {
namespace {

using ::testing::ElementsAre;

TEST(ReadmeCommands, AreReadFromShellBlocks) {
  const std::vector<ReadmeCommand> commands = read_readme_commands(
      "tools/no\n"
      "```sh\n"
      "$ tools/demo --seed 7   # a first look\n"
      "cat x\n"
      "build/release/rehearse run \\\n"
      "  scenarios/a.textproto\n"
      "```\n"
      "```text\n"
      "tools/no\n"
      "```\n"
      "```sh\n"
      "tools/test\n"
      "```\n");
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[0].line, 3);
  EXPECT_THAT(commands[0].words, ElementsAre("tools/demo", "--seed", "7"));
  EXPECT_EQ(commands[1].line, 5);
  EXPECT_THAT(commands[1].words, ElementsAre("build/release/rehearse", "run", "scenarios/a.textproto"));
  EXPECT_THAT(commands[2].words, ElementsAre("tools/test"));
}

TEST(Readme, ItsCommandsNameFilesThatExist) {
  const std::filesystem::path root = REHEARSE_SOURCE_DIR;
  std::ifstream in(root / "README.md");
  ASSERT_TRUE(in) << "there is no README.md at the root";
  std::ostringstream text;
  text << in.rdbuf();
  const std::vector<ReadmeCommand> commands = read_readme_commands(text.str());
  EXPECT_FALSE(commands.empty()) << "README.md shows no command in a ```sh block";
  for (const ReadmeCommand& command : commands) {
    for (const std::string& word : command.words) {
      if (!word.starts_with("tools/") && !word.starts_with("scenarios/")) continue;
      EXPECT_TRUE(std::filesystem::is_regular_file(root / word))
          << "README.md:" << command.line << ": no file " << word;
    }
  }
}

}  // namespace
}  // namespace rehearse::tidy
