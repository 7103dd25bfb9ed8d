// Every file in scenarios/ loads, tells a story, and expects weights or a number.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/canonical.h"
#include "sim/config/loader.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/text_reader.h"

namespace rehearse {
namespace {

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(REHEARSE_SOURCE_DIR) + "/scenarios")) {
    if (entry.path().extension() == ".textproto") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ScenarioFileTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ScenarioFileTest, LoadsAndTellsAStory) {
  const Scenario scenario = load_scenario(GetParam());
  EXPECT_GE(scenario.story.size(), 40U);
  EXPECT_TRUE(expects_weights_or_number(scenario.expect));
  std::string stem = std::filesystem::path(GetParam()).stem().string();
  std::replace(stem.begin(), stem.end(), '_', '-');
  EXPECT_EQ(scenario.name, stem);
}

TEST_P(ScenarioFileTest, ReadsAsProtobufItselfReadsIt) {
  const std::string text = read_real_file(GetParam(), kScenarioFileLimit);
  config::Scenario ours;
  Origins origins(GetParam());
  read_text(text, ours, origins);
  config::Scenario theirs;
  // A preset stands for required sizes, which Protobuf does not know.
  google::protobuf::TextFormat::Parser parser;
  parser.AllowPartialMessage(true);
  ASSERT_TRUE(parser.ParseFromString(text, &theirs));
  // Quantities aside, which ours keeps in canonical spelling: read once more, theirs has it too.
  config::Scenario theirs_again;
  Origins other("theirs");
  read_text(canonical_text(theirs), theirs_again, other);
  EXPECT_EQ(canonical_text(ours), canonical_text(theirs_again));
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ScenarioFileTest, ::testing::ValuesIn(scenario_files()),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

TEST(ScenarioFiles, DdpDiffersFromTheCapstoneInItsZeroStageAlone) {
  const std::string folder = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/";
  LoadOptions options;
  options.overrides = {"train.zero_stage=0"};
  EXPECT_EQ(load_scenario(folder + "capstone.textproto", options).arithmetic_sha256,
            load_scenario(folder + "ddp.textproto").arithmetic_sha256);
}

}  // namespace
}  // namespace rehearse
