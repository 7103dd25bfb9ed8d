// What is wrong with the text itself, whatever the fields mean: each is refused at the very place where it stands.

#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

struct BadText {
  const char* name;
  std::string text;
  std::string error;
};

void PrintTo(const BadText& test, std::ostream* out) { *out << test.name; }

class BadTextTest : public ::testing::TestWithParam<BadText> {};

TEST_P(BadTextTest, IsRefusedWhereItStands) { EXPECT_EQ(error_of(GetParam().text), GetParam().error); }

const std::string kFile = "dir/s.textproto:";

INSTANTIATE_TEST_SUITE_P(
    Text, BadTextTest,
    ::testing::Values(
        BadText{"UnknownField", good_with("steps: 20", "stepz: 20"),
                kFile + "6:9: train.stepz: unknown field; did you mean 'steps'?"},
        BadText{"UnknownFieldWithoutLikeness", good_with("keep:", "retention:"),
                kFile + "7:30: checkpoint.retention: unknown field; allowed: every_steps, every, asynchronous, "
                        "keep, tiers"},
        BadText{"UnknownTopLevelField", kGoodScenario + "modle { }",
                kFile + "9:1: modle: unknown field; did you mean 'model'?"},
        BadText{"FieldNumber", good_with("seed:", "2:"), kFile + "2:1: found '2'; allowed: the name of a field"},
        BadText{"Extension", kGoodScenario + "[a.b]: 1", kFile + "9:1: found '['; allowed: the name of a field"},
        BadText{"SecondTime", good_with("batch: 4", "batch: 4\nbatch: 5"),
                kFile + "7:1: train.batch: found a second time; the first is at " + kFile +
                    "6:26, and it may be written once"},
        BadText{
            "SecondGroup", kGoodScenario + "model { }",
            kFile + "9:1: model: found a second time; the first is at " + kFile + "4:1, and it may be written once"},
        BadText{"TwoDataSources", good_with("data { ", "data { text_file: \"a.txt\" "),
                kFile + "5:27: data.synthetic: contradicts text_file at " + kFile +
                    "5:19; allowed: one of synthetic, text_file, tokens_file"},
        BadText{"TwoSpeeds", good_with("ranks: 4", "ranks: 4 device { preset: \"cpu\" flops: \"1TFLOPS\" }"),
                kFile + "3:43: cluster.device.flops: contradicts preset at " + kFile +
                    "3:37; allowed: one of preset, flops, roofline"},
        BadText{"NoColon", good_with("seed: 41", "seed 41"),
                kFile + "2:6: seed: found '41'; allowed: a colon and then a value"},
        BadText{"NoValue", good_with("lr: 0.005", "lr: "),
                kFile + "6:40: train.adam.lr: found '}'; allowed: numbers above 0"},
        BadText{"ValueForGroup", good_with("model {", "model: 3 x {"),
                kFile + "4:8: model: found '3'; allowed: { and the fields of model"},
        BadText{"GroupForValue", good_with("seed: 41", "seed { }"),
                kFile + "2:6: seed: found '{'; allowed: a colon and then a value"},
        BadText{"ListForOne", good_with("seed: 41", "seed: [41]"),
                kFile + "2:7: seed: found a list; the field holds one value"},
        BadText{"NotClosed", good_with("final_step: 20 }", "final_step: 20"),
                kFile + "9:1: expect: found the end of the file; allowed: a field or the closing }"},
        BadText{"ClosedTwice", good_with("keep: 3 }", "keep: 3 } }"),
                kFile + "7:40: found '}'; allowed: the name of a field"},
        BadText{"ClosedWrongly", good_with("keep: 3 }", "keep: 3 >"),
                kFile + "7:38: checkpoint: found '>'; allowed: the name of a field"},
        BadText{"InvalidUtf8", good_with("\"good\"", "\"go\xFF\""),
                kFile + "1:10: found bytes that are not valid UTF-8; a scenario is UTF-8 text"},
        BadText{"Json", "{\"name\": \"good\"}", kFile + "1:1: found '{'; allowed: the name of a field"},
        BadText{"Empty", "", kFile + "1:1: name: missing; allowed: text in quotes"},
        BadText{"MissingName", good_with("name: \"good\"", ""), kFile + "1:1: name: missing; allowed: text in quotes"},
        BadText{"MissingGroup", good_with("train { steps: 20 batch: 4 adam { lr: 0.005 } }", ""),
                kFile + "1:1: train: missing; allowed: { ... }"},
        BadText{"MissingInGroup", good_with("steps: 20 ", ""),
                kFile + "6:1: train.steps: missing; allowed: whole numbers from 1 to 1000000000"},
        BadText{"MissingInInnerGroup", good_with("lr: 0.005", ""),
                kFile + "6:28: train.adam.lr: missing; allowed: numbers above 0"},
        BadText{"MissingInList",
                good_with("ranks: 4", "device {\nslowdown { rank: 0 factor: 2 }\nslowdown { rank: 1 } }"),
                kFile + "5:1: cluster.device.slowdown[1].factor: missing; allowed: numbers from 0.001 to 1000000"}),
    [](const auto& info) { return info.param.name; });

TEST(ScenarioText, TooLargeIsRefused) {
  EXPECT_EQ(error_of(std::string(std::size_t{1} << 20, ' ') + kGoodScenario),
            "dir/s.textproto:1:1: found more than 1 MiB of text; no scenario is as large");
}

TEST(ScenarioText, OtherSpellingsOfTextFormatAreRead) {
  const std::string text =
      "name: 'go' \"od\", seed: 41;\n"
      "cluster: < ranks: 2 device { slowdown: [{ rank: 0 factor: 2 }, { rank: 1 factor: 1.5 }] slowdown: [] } >\n"
      "model { layers: 2, embed: 32, heads: 4; vocab: 64 context: 16 } # comment\n"
      "data { synthetic { kind: MARKOV states: 16 } } train { steps: 20 batch: 4 adam { lr: 5e-3 } }";
  const Scenario scenario = load_text(text);
  EXPECT_EQ(scenario.name, "good");
  ASSERT_EQ(scenario.device.slowdowns.size(), 2U);
  EXPECT_EQ(scenario.device.slowdowns[1].numerator, 3);
  EXPECT_EQ(scenario.device.slowdowns[1].denominator, 2);
}

}  // namespace
}  // namespace rehearse
