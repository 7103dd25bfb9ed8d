// Rates of failures: what they load to, and what is refused before anything runs, at the field's own place.

#include <gtest/gtest.h>

#include "sim/fault/failure_presets.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

std::string with_rate(const std::string& rate) { return kGoodScenario + "faults { rate { " + rate + " } }\n"; }

struct BadRate {
  const char* name;
  std::string text;
  std::string error;  // after the file's name
};

void PrintTo(const BadRate& test, std::ostream* out) { *out << test.name; }

class BadRateTest : public ::testing::TestWithParam<BadRate> {};

TEST_P(BadRateTest, IsRefusedWhereItStands) {
  EXPECT_EQ(error_of(with_rate(GetParam().text)), "dir/s.textproto:" + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Figures, BadRateTest,
    ::testing::Values(
        BadRate{"NoFigures", "", "9:10: faults.rate[0]: says not how often; allowed: preset, or failures_per_node_day"},
        BadRate{"UnknownPreset", "preset: \"llama\"",
                "9:25: faults.rate[0].preset: found \"llama\"; did you mean 'llama3'?"},
        BadRate{"BothFigures", "preset: \"llama3\" failures_per_node_day: 1",
                "9:34: faults.rate[0].failures_per_node_day: contradicts preset at dir/s.textproto:9:25; allowed: one "
                "of preset, failures_per_node_day"},
        BadRate{"NeverAtAll", "failures_per_node_day: 0",
                "9:40: faults.rate[0].failures_per_node_day: found '0'; allowed: numbers above 0 up to 1000000000000"},
        BadRate{"Negative", "failures_per_node_day: -1",
                "9:40: faults.rate[0].failures_per_node_day: found '-1'; allowed: numbers above 0 up to 1000000000000"},
        BadRate{"TooOften", "failures_per_node_day: 1e9 scale: 1e4",
                "9:51: faults.rate[0].scale: makes 1e+13 failures of a node in a day; allowed: at least 1e-12 and at "
                "most 1e+12"},
        BadRate{"ALemonTooOften", "failures_per_node_day: 1e9 ranks_per_node: 1 lemon { node: 2 factor: 1e4 }",
                "9:86: faults.rate[0].lemon[0].factor: makes 1e+13 failures of a node in a day; allowed: at least "
                "1e-12 and at most 1e+12"},
        BadRate{"NoRanks", "failures_per_node_day: 1 ranks_per_node: 0",
                "9:58: faults.rate[0].ranks_per_node: found '0'; allowed: whole numbers from 1 to 65536"},
        BadRate{"HostShareOfAPreset", "preset: \"rsc1\" host_share: 0.5",
                "9:44: faults.rate[0].host_share: found together with a preset, whose causes decide it; allowed: only "
                "with failures_per_node_day"},
        BadRate{"HostShareAboveOne", "failures_per_node_day: 1 host_share: 1.5",
                "9:54: faults.rate[0].host_share: found '1.5'; allowed: numbers from 0 to 1"},
        BadRate{"HostShareTooFine", "failures_per_node_day: 1 host_share: 0.00000000001",
                "9:54: faults.rate[0].host_share: found more than 9 decimals; allowed: at most 9"},
        BadRate{"EmptyWindow", "failures_per_node_day: 1 from: \"2s\" until: \"2s\"",
                "9:60: faults.rate[0].until: found \"2s\"; allowed: later than from, which is \"2s\""},
        BadRate{"NoSuchNode", "failures_per_node_day: 1 lemon { node: 1 factor: 2 }",
                "9:56: faults.rate[0].lemon[0].node: found 1; allowed: 0 to 0, as 4 ranks make 1 node of 8"},
        BadRate{"NoSuchNodeOfTwo", "failures_per_node_day: 1 ranks_per_node: 2 lemon { node: 2 factor: 2 }",
                "9:74: faults.rate[0].lemon[0].node: found 2; allowed: 0 to 1, as 4 ranks make 2 nodes of 2"},
        BadRate{"ALemonTwice",
                "failures_per_node_day: 1 ranks_per_node: 1 lemon { node: 2 factor: 2 } lemon { node: 2 factor: 3 }",
                "9:102: faults.rate[0].lemon[1].node: found node 2 a second time; allowed: one lemon for each node"},
        BadRate{"ALemonThatNeverFails", "failures_per_node_day: 1 lemon { node: 0 factor: 0 }",
                "9:66: faults.rate[0].lemon[0].factor: found '0'; allowed: numbers above 0 up to 1000000000"}),
    [](const auto& test) { return test.param.name; });

TEST(Rates, OfAPresetHaveItsCausesAndTheScenariosNodes) {
  const Scenario s = load_text(with_rate("preset: \"llama3\" ranks_per_node: 2 scale: 3 lemon { node: 1 factor: 50 }"));
  ASSERT_EQ(s.faults.rates.size(), 1U);
  const FailureRate& rate = s.faults.rates[0];
  FailureRate preset;
  ASSERT_TRUE(find_failure_preset("llama3", preset));
  EXPECT_EQ(rate.per_node_day, preset.per_node_day * 3);
  EXPECT_EQ(rate.causes.size(), preset.causes.size());
  EXPECT_EQ(rate.ranks_per_node, 2);
  ASSERT_EQ(rate.lemons.size(), 1U);
  EXPECT_EQ(rate.lemons[0].node, 1);
  EXPECT_EQ(rate.lemons[0].factor, 50);
  EXPECT_FALSE(rate.has_window());
  EXPECT_FALSE(s.faults.empty());
}

TEST(Rates, OfTheScenariosOwnHaveItsShareOfHosts) {
  const Scenario s =
      load_text(with_rate("failures_per_node_day: 0.25 host_share: 0.125 from: \"2s\" until: \"5s\" } "
                          "rate { failures_per_node_day: 1 host_share: 1 } rate { failures_per_node_day: 1"));
  ASSERT_EQ(s.faults.rates.size(), 3U);
  const FailureRate& rate = s.faults.rates[0];
  EXPECT_EQ(rate.per_node_day, 0.25);
  EXPECT_EQ(rate.ranks_per_node, 8);
  ASSERT_EQ(rate.causes.size(), 2U);
  EXPECT_EQ(rate.causes[0].kind, FailureKind::kProcess);
  EXPECT_EQ(rate.causes[0].weight, 875'000'000);
  EXPECT_EQ(rate.causes[1].kind, FailureKind::kHost);
  EXPECT_EQ(rate.causes[1].weight, 125'000'000);
  EXPECT_EQ(rate.from, TimePoint::at(Duration::seconds(2)));
  EXPECT_EQ(rate.until, TimePoint::at(Duration::seconds(5)));
  ASSERT_EQ(s.faults.rates[1].causes.size(), 1U);
  EXPECT_EQ(s.faults.rates[1].causes[0].kind, FailureKind::kHost);
  ASSERT_EQ(s.faults.rates[2].causes.size(), 1U);
  EXPECT_EQ(s.faults.rates[2].causes[0].kind, FailureKind::kProcess);
}

TEST(Rates, CanBeLeftOutForTheFaultFreeRun) {
  const Scenario s = load_text(good_with("loss: FALLS", "same_weights_as: \"fault-free\"") +
                               "faults { rate { preset: \"rsc1\" scale: 1e6 } }\n");
  ASSERT_TRUE(s.expect.same_weights_as.has_value());
  EXPECT_TRUE(s.expect.same_weights_as->scenario->faults.empty());
}

TEST(Rates, TheCanonicalTextLoadsToTheSame) {
  const Scenario s = load_text(with_rate("preset: \"opt175b\" until: \"90s\" lemon { node: 0 factor: 1.5 }"));
  const Scenario again = load_text(s.text);
  EXPECT_EQ(again.text, s.text);
  EXPECT_EQ(again.scenario_sha256, s.scenario_sha256);
  EXPECT_EQ(again.faults.rates[0].per_node_day, s.faults.rates[0].per_node_day);
  EXPECT_EQ(again.faults.rates[0].until, s.faults.rates[0].until);
}

}  // namespace
}  // namespace rehearse
