#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "tests/tidy/readme_commands.h"
#include "tests/tools/rehearse/run_in_process.h"

// The README shows real commands and what they really print.

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = REHEARSE_SOURCE_DIR;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The lines of the ```text block that shows a line with `mark`.
std::vector<std::string> text_block_with(const std::string& readme, const std::string& mark) {
  std::vector<std::string> block;
  bool inside = false;
  for (const std::string& line : lines_of(readme)) {
    if (line == "```text") {
      inside = true;
      block.clear();
    } else if (line == "```" && inside) {
      inside = false;
      const auto marked = [&](const std::string& one) { return one.find(mark) != std::string::npos; };
      if (std::any_of(block.begin(), block.end(), marked)) return block;
    } else if (inside) {
      block.push_back(line);
    }
  }
  return {};
}

// A folder that looks like the repository's root to commands that read scenarios and write elsewhere.
class Readme : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory_symlink(kRoot + "/scenarios", folder_ / "scenarios");
    fs::current_path(folder_ / "");
  }
  void TearDown() override { fs::current_path(before_); }

  fs::path before_ = fs::current_path();
  TemporaryDirectory folder_;
  std::string readme_ = read_file(kRoot + "/README.md");
};

TEST_F(Readme, ItsCommandsWork) {
  int ran = 0;
  for (const tidy::ReadmeCommand& command : tidy::read_readme_commands(readme_)) {
    if (command.words.front() != "build/release/rehearse") continue;
    const Ran result = rehearse({command.words.begin() + 1, command.words.end()});
    const std::string line = lines_of(readme_)[static_cast<std::size_t>(command.line - 1)];
    const int expected = line.find("# exits with 1") != std::string::npos ? 1 : 0;
    EXPECT_EQ(result.code, expected) << "README.md:" << command.line << ": " << result.err << result.out;
    ++ran;
  }
  EXPECT_GE(ran, 4);
}

// In order, and nothing left out but where a line "[...]" says so; wall time and the binary's path are another day's.
// `printed` may go on for more lines before the first one that is shown.
void expect_shown(const std::vector<std::string>& shown, const std::vector<std::string>& printed, std::size_t at) {
  bool skipping = false;
  for (const std::string& line : shown) {
    if (line == "[...]") {
      skipping = true;
      continue;
    }
    if (skipping) {
      while (at < printed.size() && printed[at] != line) ++at;
      skipping = false;
    }
    ASSERT_LT(at, printed.size()) << "not printed: " << line;
    const bool varies = line.find("of wall time") != std::string::npos || line.starts_with("  repeat");
    if (!varies) {
      EXPECT_EQ(printed[at], line);
    }
    ++at;
  }
  EXPECT_TRUE(skipping || at == printed.size()) << "the README leaves out: " << printed[at];
}

TEST_F(Readme, ItsOutputIsWhatTheCapstonePrints) {
  const std::vector<std::string> shown = text_block_with(readme_, "RESUME VERIFIED");
  ASSERT_FALSE(shown.empty()) << "README.md shows no ```text block with RESUME VERIFIED";
  expect_shown(shown, lines_of(rehearse({"run", "scenarios/capstone.textproto"}).out), 0);
}

TEST_F(Readme, ItsCostsAreWhatCostPrints) {
  const std::vector<std::string> shown = text_block_with(readme_, "Critical path of step");
  ASSERT_FALSE(shown.empty()) << "README.md shows no ```text block of rehearse cost";
  const std::vector<std::string> printed = lines_of(rehearse({"cost", "scenarios/ddp.textproto"}).out);
  const auto first = std::find(printed.begin(), printed.end(), shown.front());
  expect_shown(shown, printed, static_cast<std::size_t>(first - printed.begin()));
}

}  // namespace
}  // namespace rehearse::testing_command
