#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/tools/export/page_reader.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse {
namespace {

using testing_command::Ran;
using testing_command::read_file;
using testing_command::TemporaryDirectory;

TEST(ReportOfEveryShippedScenario, IsWholeAndShowsTheNumbersOfTheSummary) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(REHEARSE_SOURCE_DIR) + "/scenarios")) {
    if (entry.path().extension() != ".textproto") continue;
    const TemporaryDirectory directory;
    const std::string out = directory / "out";
    testing_command::rehearse({"run", entry.path().string(), "--out", out});
    const Ran ran = testing_command::rehearse({"report", out});
    ASSERT_EQ(ran.code, 0) << entry.path() << ": " << ran.err;
    const std::string page = read_file(out + "/report.html");
    const Json summary = parse_json(read_file(out + "/summary.json"));
    EXPECT_EQ(unbalanced_element(page), "") << entry.path();
    for (const auto& [path, value] : fields_of(page)) {
      EXPECT_EQ(value, value_of(summary, path)) << entry.path() << ": " << path;
    }
    ++count;
  }
  std::printf("%d scenarios\n", count);
  EXPECT_GT(count, 50);
}

}  // namespace
}  // namespace rehearse
