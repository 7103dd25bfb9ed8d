#include "tests/tidy/tree_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rehearse::tidy {
namespace {

using ::testing::IsEmpty;

TEST(RegisteredTests, AnUnnamedTestIsFound) {
  const SourceTree tree = {
      {"tests/core/CMakeLists.txt", "rehearse_test(x SOURCES a_test.cc # c_test.cc\n  bb_test.cc)\n"},
      {"tests/core/a_test.cc", ""},
      {"tests/core/b_test.cc", ""},
      {"tests/core/bb_test.cc", ""},
      {"tests/core/c_test.cc", ""},
      {"tests/other/a_test.cc", ""}};
  EXPECT_EQ(to_string(check_tests_are_registered(tree)),
            "tests/core/b_test.cc:0: no rehearse_test() in tests/core/CMakeLists.txt names this test\n"
            "tests/core/c_test.cc:0: no rehearse_test() in tests/core/CMakeLists.txt names this test\n"
            "tests/other/a_test.cc:0: no rehearse_test() in tests/other/CMakeLists.txt names this test\n");
}

TEST(FolderReadmes, AFolderWithoutOneIsFound) {
  const SourceTree tree = {{"core/a/README.md", ""},       {"core/a/x.cc", ""},    {"core/b/x.cc", ""},
                           {"tests/core/a/x_test.cc", ""}, {"tests/new/x.cc", ""}, {"tests/data/golden/x", ""},
                           {"tests/data/README.md", ""},   {"build/x", ""},        {"LICENSE", ""}};
  EXPECT_EQ(to_string(check_folders_have_readmes(tree)),
            "core/b/README.md:0: is missing: what does the folder promise, where to start reading?\n"
            "tests/new/README.md:0: is missing: what does the folder promise, where to start reading?\n");
  EXPECT_THAT(check_folders_have_readmes({{"tools/README.md", ""}, {"tools/x", ""}}), IsEmpty());
}

TEST(ListedScenarios, OneThatIsNotListedAndOneThatIsNotThereAreFound) {
  const SourceTree tree = {{"scenarios/README.md", "Start with `d`.\n| kind | names |\n| one | `a`, `gone` |\n"},
                           {"scenarios/a.textproto", ""},
                           {"scenarios/b.textproto", ""},
                           {"scenarios/text/c.textproto", ""}};
  EXPECT_EQ(to_string(check_scenarios_are_listed(tree)),
            "scenarios/b.textproto:0: is not in the table of scenarios/README.md\n"
            "scenarios/README.md:0: there is no scenario 'gone'\n");
}

}  // namespace
}  // namespace rehearse::tidy
