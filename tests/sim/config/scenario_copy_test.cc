#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/digest.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

const std::string kTale(300, 'a');

std::string with_text_file(const std::string& path) {
  return good_with("synthetic { kind: MARKOV states: 16 noise: 0 }", "text_file: \"" + path + "\"");
}

// What a reader finds in the folder of a copy.
Files files_of(const ScenarioCopy& copy, const std::string& folder) {
  Files files;
  for (const CopiedFile& file : copy.files) files[folder + "/" + file.path] = *file.contents;
  return files;
}

Scenario load_copy(const ScenarioCopy& copy) {
  return parse_scenario(copy.text, "elsewhere/scenario.textproto", reader_of(files_of(copy, "elsewhere")));
}

void expect_same(const Scenario& a, const Scenario& b) {
  EXPECT_EQ(a.scenario_sha256, b.scenario_sha256);
  EXPECT_EQ(a.arithmetic_sha256, b.arithmetic_sha256);
  EXPECT_EQ(a.story, b.story);
}

TEST(ScenarioCopy, WithoutInputsIsTheTextAsRun) {
  const Scenario scenario = load_text("# A story.\n#\n# Its end.\n" + kGoodScenario, {"train.steps=40"});
  const ScenarioCopy copy = make_scenario_copy(scenario);
  EXPECT_EQ(copy.text, "# A story.\n#\n# Its end.\n" + scenario.text);
  EXPECT_TRUE(copy.files.empty());
  expect_same(load_copy(copy), scenario);
}

TEST(ScenarioCopy, CarriesItsInputs) {
  const Scenario scenario = load_text(with_text_file("../far/away/tale.txt"), {}, {{"far/away/tale.txt", kTale}});
  const ScenarioCopy copy = make_scenario_copy(scenario);
  ASSERT_EQ(copy.files.size(), 1U);
  EXPECT_EQ(copy.files[0].path, "inputs/tale.txt");
  EXPECT_EQ(*copy.files[0].contents, kTale);
  EXPECT_THAT(copy.text, HasSubstr("text_file: \"inputs/tale.txt\""));
  const Scenario again = load_copy(copy);
  expect_same(again, scenario);
  // A copy of the copy is the copy.
  EXPECT_EQ(make_scenario_copy(again).text, copy.text);
}

TEST(ScenarioCopy, CarriesTheReferenceScenarioAndItsInputs) {
  // The reference is called like the tale, so that the copy has to tell them apart.
  std::string text = with_text_file("x/tale.txt");
  text.replace(text.find("loss: FALLS"), 11, "same_weights_as: \"y/tale.txt\"");
  const Files files = {{"dir/x/tale.txt", kTale}, {"dir/y/tale.txt", with_text_file("z.txt")}, {"dir/y/z.txt", kTale}};
  const Scenario scenario = load_text(text, {}, files);
  const ScenarioCopy copy = make_scenario_copy(scenario);
  std::vector<std::string> paths;
  for (const CopiedFile& file : copy.files) paths.push_back(file.path);
  EXPECT_THAT(paths, ::testing::ElementsAre("inputs/tale.txt", "inputs/2-tale.txt", "inputs/inputs/z.txt"));
  const Scenario again = load_copy(copy);
  expect_same(again, scenario);
  expect_same(*again.expect.same_weights_as->scenario, *scenario.expect.same_weights_as->scenario);
}

TEST(ScenarioCopy, LargeInputsStayWhereTheyAre) {
  const Scenario scenario = load_text(with_text_file("tale.txt"), {}, {{"dir/tale.txt", kTale}});
  const ScenarioCopy copy = make_scenario_copy(scenario, Bytes(299));
  EXPECT_TRUE(copy.files.empty());
  ASSERT_EQ(copy.left_out.size(), 1U);
  const std::string path = std::filesystem::absolute("dir/tale.txt").string();
  EXPECT_EQ(copy.left_out[0].path, path);
  EXPECT_EQ(copy.left_out[0].sha256, sha256_hex(kTale));
  EXPECT_THAT(copy.text, HasSubstr("text_file: \"" + path + "\""));
  expect_same(parse_scenario(copy.text, "elsewhere/s", reader_of({{path, kTale}})), scenario);
}

}  // namespace
}  // namespace rehearse
