#include "tools/rehearse/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/rehearse/run_in_process.h"
#include "tools/rehearse/command_line.h"
#include "tools/rehearse/completion.h"
#include "tools/rehearse/man_page.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;
using testing_command::Ran;
using testing_command::TemporaryDirectory;
using testing_command::write_file;

TEST(Help, OfEachCommandHasItsUsageItsOptionsAndExamples) {
  for (const std::string& command : command_names()) {
    const Ran ran = testing_command::rehearse({command, "--help"});
    EXPECT_EQ(ran.code, 0) << command;
    EXPECT_THAT(ran.out, HasSubstr("usage: rehearse " + command)) << command;
    EXPECT_THAT(ran.out, HasSubstr("\nexamples:\n  rehearse ")) << command;
    for (const std::string& option : options_of(command)) {
      if (option == "--help") continue;
      EXPECT_THAT(ran.out, HasSubstr(option)) << command;
    }
    EXPECT_THAT(general_help(), HasSubstr("\n  " + command + " ")) << command;
  }
}

TEST(Help, OffersNoOptionThatTheCommandRefuses) {
  for (const std::string& command : command_names()) {
    for (const std::string& option : options_of(command)) {
      const Ran ran = testing_command::rehearse({command, option});
      EXPECT_THAT(ran.err, Not(HasSubstr("unknown option"))) << command << " " << option;
    }
  }
}

TEST(ManPage, HasEveryCommandAndOption) {
  const std::string page = man_page();
  EXPECT_THAT(page, testing::StartsWith(".TH REHEARSE 1 "));
  for (const std::string& command : command_names()) {
    std::string title = command;
    for (char& c : title) c = static_cast<char>(std::toupper(c));
    const std::size_t start = page.find(".SH \"REHEARSE " + title + "\"\n");
    ASSERT_NE(start, std::string::npos) << command;
    const std::string part = page.substr(start, page.find("\n.SH", start + 1) - start);
    for (std::string option : options_of(command)) {
      if (option == "--help") continue;
      for (std::size_t at = 0; (at = option.find('-', at)) != std::string::npos; at += 2) option.replace(at, 1, "\\-");
      EXPECT_THAT(part, HasSubstr(option)) << command;
    }
  }
}

TEST(ManPage, OpensAndClosesWhatIsShownAsItIs) {
  std::istringstream page(man_page());
  int open = 0;
  for (std::string line; std::getline(page, line);) {
    if (line == ".nf") ++open;
    if (line == ".fi") --open;
    EXPECT_TRUE(open == 0 || open == 1) << line;
    // A line of text that roff would take for a request.
    const bool request = line.starts_with('.') || line.starts_with('\'');
    const std::vector<std::string> kRequests = {".TH", ".SH", ".SS", ".PP", ".TP", ".B ",
                                                ".I ", ".RS", ".RE", ".nf", ".fi"};
    EXPECT_TRUE(!request || testing::Matches(testing::Contains(line.substr(0, 3)))(kRequests)) << line;
  }
  EXPECT_EQ(open, 0);
}

// What bash offers for the last of the words, one a line.
std::vector<std::string> bash_offers(const std::vector<std::string>& words) {
  const TemporaryDirectory directory;
  const std::string script = directory / "completion.bash";
  std::string text = bash_completion() + "COMP_WORDS=(";
  for (const std::string& word : words) text += "'" + word + "' ";
  text += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) + "\n_rehearse\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  write_file(script, text);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("bash --norc " + script + " 2>&1").c_str(), "r"), pclose);
  std::string out;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) out += buffer.data();
  std::vector<std::string> offers;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) offers.push_back(line);
  }
  return offers;
}

TEST(BashCompletion, OffersCommandsOptionsAndTheirValues) {
  EXPECT_THAT(bash_offers({"rehearse", "re"}), UnorderedElementsAre("resume", "replay", "report"));
  EXPECT_THAT(bash_offers({"rehearse", "run", "--tr"}), UnorderedElementsAre("--trace", "--trace-steps"));
  EXPECT_THAT(bash_offers({"rehearse", "run", "x", "--format", ""}), UnorderedElementsAre("text", "json"));
  EXPECT_THAT(bash_offers({"rehearse", "completion", ""}), UnorderedElementsAre("bash", "zsh"));
  EXPECT_THAT(bash_offers({"rehearse", "help", "in"}), UnorderedElementsAre("inspect"));
  for (const std::string& command : command_names()) {
    EXPECT_THAT(bash_offers({"rehearse", command, "--"}), testing::UnorderedElementsAreArray(options_of(command)));
  }
}

TEST(BashCompletion, OffersFiles) {
  const TemporaryDirectory directory;
  write_file(directory / "one.textproto", "");
  EXPECT_THAT(bash_offers({"rehearse", "run", directory / "on"}), UnorderedElementsAre(directory / "one.textproto"));
}

TEST(ZshCompletion, HasTheOptionsOfEveryCommand) {
  const std::string script = zsh_completion();
  EXPECT_THAT(script, testing::StartsWith("#compdef rehearse\n"));
  for (const std::string& command : command_names()) {
    const std::size_t at = script.find("    (" + command + ") options=(");
    ASSERT_NE(at, std::string::npos) << command;
    const std::string line = script.substr(at, script.find('\n', at) - at);
    for (const std::string& option : options_of(command)) EXPECT_THAT(line, HasSubstr(option)) << command;
    EXPECT_THAT(script, HasSubstr("      '" + command + ":")) << command;
  }
}

TEST(Completion, IsRefusedForAnotherShell) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"completion"}, {"completion", "fish"}, {"completion", "bash", "zsh"}, {"man", "x"}}) {
    EXPECT_EQ(testing_command::rehearse(words).code, 2);
  }
  EXPECT_EQ(testing_command::rehearse({"completion", "zsh"}).out, zsh_completion());
  EXPECT_EQ(testing_command::rehearse({"man"}).out, man_page());
}

}  // namespace
}  // namespace rehearse
