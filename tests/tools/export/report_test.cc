#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/formats/json.h"
#include "tests/tools/export/page_reader.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_command::Ran;
using testing_command::read_file;
using testing_command::shipped_scenario;
using testing_command::TemporaryDirectory;
using testing_command::write_file;

class Report : public testing::Test {
 protected:
  // Runs a scenario file with --out and makes its page.
  std::string page_of(const std::string& scenario, const std::string& name = "out") {
    const std::string out = directory_ / name;
    testing_command::rehearse({"run", scenario, "--out", out});
    summary_ = parse_json(read_file(out + "/summary.json"));
    const Ran ran = testing_command::rehearse({"report", out});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, out + "/report.html\n");
    return read_file(out + "/report.html");
  }
  TemporaryDirectory directory_;
  Json summary_;
};

TEST_F(Report, ShowsTheNumbersOfTheSummary) {
  const std::string page = page_of(shipped_scenario("crash_rolls_back"));
  const auto fields = fields_of(page);
  for (const auto& [path, value] : fields) EXPECT_EQ(value, value_of(summary_, path)) << path;
  for (const char* field : {"steps", "messages", "bytes_on_wire", "goodput", "losses.back", "memory.max.optimizer",
                            "communication.0.bytes", "simulated_seconds"}) {
    EXPECT_TRUE(fields.contains(field)) << field;
  }
}

TEST_F(Report, HasTheWholeSummaryInIt) {
  const std::string page = page_of(shipped_scenario("crash_rolls_back"));
  std::size_t at = 0;
  const std::string embedded = between(page, "id=\"summary\">", "</script>", at);
  EXPECT_EQ(parse_json(embedded), summary_);
}

TEST_F(Report, NeedsNothingElse) {
  const std::string page = page_of(shipped_scenario("capstone"));
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, HasSubstr("width=device-width"));
}

TEST_F(Report, TellsTheWayBackAndItsCause) {
  const std::string page = page_of(shipped_scenario("crash_rolls_back"));
  EXPECT_THAT(page, HasSubstr("data-tip=\"restart: rank 2 crashed\nfrom step 12 back to step 10\""));
  EXPECT_THAT(page, HasSubstr("rank 2: the process crashes (step 13, backward)"));
  EXPECT_THAT(page, HasSubstr("1 restart; 7 of 7 expectations held"));
}

TEST_F(Report, FormulasEqualWhatARunWithoutAnythingElseSends) {
  const std::string page = page_of(shipped_scenario("ddp"));
  ASSERT_FALSE(summary_["communication"].empty());
  for (std::size_t i = 0; i < summary_["communication"].size(); ++i) {
    std::size_t at = page.find("data-field=\"communication." + std::to_string(i) + ".bytes\"");
    ASSERT_NE(at, std::string::npos);
    // In the two cells beside it, too.
    const std::string row = page.substr(at, page.find("</tr>", at) - at);
    const std::string shown = between(page, "\">", "</b>", at);
    EXPECT_THAT(row, HasSubstr("<td>" + shown + "</td>")) << row;
  }
}

TEST_F(Report, TimesOfAllUsesAddUpToTheWhole) {
  const std::string page = page_of(shipped_scenario("rack_lost"));
  std::size_t at = page.find("time of a rank, on average");
  double sum = 0;
  const std::size_t end = page.find("</table>", at);
  while (true) {
    const std::string cell = between(page, "<td>", "</td>", at);
    if (at == std::string::npos || at > end) break;
    if (cell.ends_with(" %")) sum += std::stod(cell);
  }
  EXPECT_NEAR(sum, 100, 0.1);
}

TEST_F(Report, TextOfAUserStaysText) {
  write_file(directory_ / "odd.textproto",
             "# <script>alert(1)</script> & </script><b>odd \"more\"\nname: \"odd\"\nseed: 3\ncluster { ranks: 2 }\n"
             "model { layers: 1 embed: 8 heads: 2 vocab: 16 context: 8 }\n"
             "data { synthetic { kind: MARKOV states: 4 } }\n"
             "train { steps: 2 batch: 2 zero_stage: 1 adam { lr: 0.01 } }\nexpect { final_step: 2 }\n");
  const std::string page = page_of(directory_ / "odd.textproto");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<b>odd")));
  EXPECT_EQ(unbalanced_element(page), "");
}

TEST_F(Report, IsTheSameForTheSameFiles) {
  const std::string first = page_of(shipped_scenario("capstone"));
  EXPECT_EQ(testing_command::rehearse({"report", directory_ / "out"}).code, 0);
  EXPECT_EQ(read_file(directory_ / "out/report.html"), first);
}

TEST_F(Report, OfTwoRunsShowsBoth) {
  page_of(shipped_scenario("capstone"), "a");
  const Json a = summary_;
  page_of(shipped_scenario("crash_rolls_back"), "b");
  const Ran ran =
      testing_command::rehearse({"report", directory_ / "a", directory_ / "b", "--out", directory_ / "both.html"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string page = read_file(directory_ / "both.html");
  EXPECT_EQ(unbalanced_element(page), "");
  int compared = 0;
  for (const auto& [path, value] : fields_of(page)) {
    if (!path.starts_with("A.") && !path.starts_with("B.")) continue;
    const Json& summary = path.starts_with("A.") ? a : summary_;
    EXPECT_EQ(value, summary[path.substr(2)]) << path;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

TEST_F(Report, IsRefusedForWhatIsNoRun) {
  const auto error = [](const std::string& path) {
    const Ran ran = testing_command::rehearse({"report", path});
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_THAT(error(directory_ / "none"), HasSubstr("it is no directory"));
  std::filesystem::create_directory(directory_ / "empty");
  EXPECT_THAT(error(directory_ / "empty"), HasSubstr("a run that has ended leaves it with --out"));
  page_of(shipped_scenario("one_rank"));
  const std::string summary = read_file(directory_ / "out/summary.json");
  write_file(directory_ / "out/summary.json", summary.substr(0, summary.size() / 2));
  EXPECT_THAT(error(directory_ / "out"), HasSubstr("summary.json: is not JSON, or cut short"));
  write_file(directory_ / "out/summary.json", "{}");
  EXPECT_THAT(error(directory_ / "out"), HasSubstr("it has no scenario"));
  write_file(directory_ / "out/summary.json", summary);
  write_file(directory_ / "out/metrics.jsonl", "{\"step\":1}\n");
  EXPECT_THAT(error(directory_ / "out"), HasSubstr("line 1 is not an attempt at a step"));
}

}  // namespace
}  // namespace rehearse
