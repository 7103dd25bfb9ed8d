#include "tests/tidy/file_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rehearse::tidy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Layout, ACleanFilePasses) {
  const std::string line(120, 'x');
  EXPECT_THAT(check_layout({"core/a.cc", line + "\n"}), IsEmpty());
  std::string umlauts;
  for (int i = 0; i < 120; ++i) umlauts += "\u00e4";
  EXPECT_THAT(check_layout({"core/a.cc", umlauts + "\n"}), IsEmpty());
  EXPECT_THAT(check_layout({"README.md", "\tany \n" + line + line}), IsEmpty());
}

TEST(Layout, EachFaultIsFound) {
  EXPECT_EQ(to_string(check_layout({"core/a.cc", "\n" + std::string(121, 'x') + "\n"})),
            "core/a.cc:2: 121 characters; at most 120\n");
  EXPECT_THAT(to_string(check_layout({"core/a.h", "\tx\n"})), HasSubstr("a.h:1: a tab"));
  EXPECT_THAT(to_string(check_layout({"core/CMakeLists.txt", "x \n"})), HasSubstr("at the end of the line"));
  EXPECT_THAT(to_string(check_layout({"sim/a.proto", "x\r\n"})), HasSubstr("at the end of the line"));
  EXPECT_THAT(to_string(check_layout({"core/a.cc", "x"})), HasSubstr("no final newline"));
  EXPECT_THAT(to_string(check_layout({"core/a.cc", "x\n\n"})), HasSubstr("empty line at the end"));
}

TEST(PragmaOnce, IsTheFirstLineOfAHeader) {
  EXPECT_THAT(check_pragma_once({"core/a.h", "#pragma once\n\nint x;\n"}), IsEmpty());
  EXPECT_THAT(check_pragma_once({"core/a.cc", "int x;\n"}), IsEmpty());
  EXPECT_THAT(check_pragma_once({"core/a.h", "// A comment.\n#pragma once\n"}), SizeIs(1));
  EXPECT_THAT(check_pragma_once({"core/a.h", ""}), SizeIs(1));
}

TEST(SourceLength, EndsAt450Lines) {
  EXPECT_THAT(check_source_length({"core/a.cc", std::string(450, '\n')}), IsEmpty());
  EXPECT_THAT(check_source_length({"core/a.txt", std::string(451, '\n')}), IsEmpty());
  EXPECT_THAT(to_string(check_source_length({"core/a.cc", std::string(451, '\n')})), HasSubstr("451 lines"));
}

TEST(Contents, LargeFilesAndMachinePathsAreFound) {
  EXPECT_THAT(check_contents({"tests/data/a.bin", std::string(5'000'000, '\0')}), IsEmpty());
  EXPECT_THAT(check_contents({"tests/data/a.bin", std::string(5'000'001, '\0')}), SizeIs(1));
  EXPECT_THAT(check_contents({"README.md", "a framework/that works at work; a farm"}), IsEmpty());
  EXPECT_EQ(to_string(check_contents({"README.md", "\n cd " + std::string("/wo") + "rk/x"})).substr(0, 11),
            "README.md:2");
  EXPECT_THAT(check_contents({"tools/x", std::string("/fa") + "rm/x"}), SizeIs(1));
  EXPECT_THAT(check_contents({"core/a.cc", std::string("// bash_") + "jobs"}), SizeIs(1));
}

TEST(Reminders, AreFoundInSourcesAndScripts) {
  const std::string reminder = std::string("TO") + "DO";
  EXPECT_EQ(to_string(check_reminders({"core/a.cc", "\n// " + reminder + ": later\n"})),
            "core/a.cc:2: a " + reminder + "; do it, or open an issue\n");
  EXPECT_THAT(check_reminders({"tools/demo", std::string("# FIX") + "ME\n"}), SizeIs(1));
  EXPECT_THAT(check_reminders({"scenarios/a.textproto", std::string("# XX") + "X\n"}), SizeIs(1));
  EXPECT_THAT(check_reminders({"tools/demo", "mktemp -t a.XXXXXX\n"}), IsEmpty());
  EXPECT_THAT(check_reminders({"LICENSE", reminder}), IsEmpty());
}

constexpr char kStory[] = "# Rank 2 dies in step 13; the job rolls back and ends with the same bytes.\n";

TEST(Scenario, WeightsOrANumberMakeItATest) {
  const auto check = [](const std::string& rest) { return check_scenario({"scenarios/a.textproto", kStory + rest}); };
  EXPECT_THAT(check("expect { same_weights_as: \"fault-free\" }\n"), IsEmpty());
  EXPECT_THAT(check("expect {\n  weights_sha256: \"00\"\n}\n"), IsEmpty());
  EXPECT_THAT(check("expect { outcome: STOPPED final_step: 20 }\n"), IsEmpty());
  EXPECT_THAT(check("expect: { loss: -0.5 }\n"), IsEmpty());
  EXPECT_THAT(check("expect { per_rank { steps: [1, 2] } }\n"), IsEmpty());

  EXPECT_THAT(check("seed: 41\n"), SizeIs(1));
  EXPECT_THAT(check("expect { outcome: DONE }\nseed: 41\n"), SizeIs(1));
  EXPECT_THAT(check("expect { }  # final_step: 20\n"), SizeIs(1));
  EXPECT_THAT(check("expect { note: \"same_weights_as step: 20\" }\n"), SizeIs(1));
  EXPECT_THAT(check("# expect { final_step: 20 }\n"), SizeIs(1));
}

TEST(Scenario, TheFirstLineIsAStory) {
  const std::string expect = "expect { final_step: 20 }\n";
  EXPECT_THAT(check_scenario({"scenarios/a.textproto", kStory + expect}), IsEmpty());
  EXPECT_THAT(check_scenario({"scenarios/a.textproto", "# Short.\n" + expect}), SizeIs(1));
  EXPECT_THAT(check_scenario({"scenarios/a.textproto", "name: \"a\"\n" + std::string(kStory) + expect}), SizeIs(1));
  EXPECT_THAT(check_scenario({"tests/data/a.textproto", "name: \"a\"\n"}), IsEmpty());
}

}  // namespace
}  // namespace rehearse::tidy
