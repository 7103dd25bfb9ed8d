#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

TEST(Overrides, SetValuesThatTheFileHas) {
  EXPECT_EQ(load_text(kGoodScenario, {"train.steps=40"}).train.steps, 40);
  EXPECT_EQ(load_text(kGoodScenario, {"train.steps=40", "train.steps=60"}).train.steps, 60);
  EXPECT_EQ(load_text(kGoodScenario, {"name=other"}).name, "other");
  EXPECT_EQ(load_text(kGoodScenario, {"name=\"other\""}).name, "other");
  EXPECT_EQ(load_text(kGoodScenario, {"cluster.network.latency=1.5us"}).network.latency.ps(), 1'500'000);
  EXPECT_EQ(load_text(kGoodScenario, {"cluster.network.latency='1.5us'"}).network.latency.ps(), 1'500'000);
}

TEST(Overrides, MakeGroupsThatTheFileDoesNotHave) {
  EXPECT_TRUE(load_text(kGoodScenario, {"train.schedule.cosine=true"}).train.schedule.cosine);
  EXPECT_EQ(load_text(kGoodScenario, {"train.adam.decay=MATRICES"}).train.adam.decay, Decay::kMatrices);
  EXPECT_EQ(load_text(kGoodScenario, {"cluster.storage.bandwidth=8Gbps"}).storage.bandwidth.bits_per_second(),
            8'000'000'000);
}

TEST(Overrides, ReachElementsOfListsByIndex) {
  const std::string text = good_with("ranks: 4", "ranks: 4 device { slowdown { rank: 0 factor: 2 } }");
  EXPECT_EQ(load_text(text, {"cluster.device.slowdown[0].factor=3"}).device.slowdowns[0].numerator, 3);
  const Scenario longer =
      load_text(text, {"cluster.device.slowdown[1].rank=2", "cluster.device.slowdown[1].factor=0.5"});
  ASSERT_EQ(longer.device.slowdowns.size(), 2U);
  EXPECT_EQ(longer.device.slowdowns[1].rank, 2);
  EXPECT_EQ(longer.device.slowdowns[1].denominator, 2);
}

TEST(Overrides, ReplaceTheOtherFieldOfAOneof) {
  const std::string text = good_with("ranks: 4", "ranks: 4 device { preset: \"cpu\" }");
  EXPECT_EQ(load_text(text, {"cluster.device.flops=1TFLOPS"}).device.rate.per_second(), 1'000'000'000'000);
}

TEST(Overrides, ChooseAGroupThatHasNoFields) {
  const std::string torus =
      good_with("network { latency: \"5us\" }", "network { latency: \"5us\" topology { torus { x: 2 y: 2 } } }");
  const Scenario ring = load_text(torus, {"cluster.network.topology.ring={}"});
  EXPECT_EQ(ring.text.find("torus"), std::string::npos);
  EXPECT_NE(ring.text.find("ring {"), std::string::npos);
  EXPECT_EQ(load_text(ring.text).text, ring.text);
  EXPECT_NE(load_text(kGoodScenario, {"cluster.network.topology.full_mesh={}"}).text.find("full_mesh"),
            std::string::npos);
}

TEST(Overrides, WriteAGroupAnew) {
  EXPECT_EQ(load_text(kGoodScenario, {"cluster.network={}"}).network.latency, Duration::microseconds(5));
  EXPECT_EQ(load_text(kGoodScenario, {"cluster.network.latency=7us", "cluster.network={}"}).network.latency,
            Duration::microseconds(5));
  EXPECT_EQ(error_of(kGoodScenario, {"cluster.device.slowdown[0]={}"}),
            "--set cluster.device.slowdown[0]={}: 'cluster.device.slowdown[0]' is a group of fields; set one of them, "
            "allowed: rank, factor; it is a list");
}

TEST(Overrides, CountAsWrittenInTheHashes) {
  EXPECT_EQ(load_text(kGoodScenario, {"train.steps=40"}).scenario_sha256,
            load_text(good_with("steps: 20", "steps: 40")).scenario_sha256);
}

struct BadOverride {
  const char* name;
  std::string override;
  std::string error;
};

void PrintTo(const BadOverride& test, std::ostream* out) { *out << test.name; }

class BadOverrideTest : public ::testing::TestWithParam<BadOverride> {};

TEST_P(BadOverrideTest, IsRefusedByName) {
  EXPECT_EQ(error_of(kGoodScenario, {GetParam().override}), "--set " + GetParam().override + ": " + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Overrides, BadOverrideTest,
    ::testing::Values(
        BadOverride{"UnknownField", "train.stepz=40", "unknown field 'stepz' in train; did you mean 'steps'?"},
        BadOverride{"UnknownGroup", "trane.steps=40", "unknown field 'trane' in the scenario; did you mean 'train'?"},
        BadOverride{"NoValue", "train.steps", "allowed: PATH=VALUE, such as train.steps=40"},
        BadOverride{"NoPath", "=40", "allowed: PATH=VALUE, such as train.steps=40"},
        BadOverride{
            "EmptyStep", "train..steps=40",
            "unknown field '' in train; allowed: steps, batch, accumulate, zero_stage, bucket, clip_norm, adam, "
            "schedule, lr_spike, eval_every, guards, data_ranks, overlap, recompute_blocks, "
            "main_grads_dtype, optimizer_dtype, collectives"},
        BadOverride{"EmptyValue", "train.steps=", "found ''; allowed: whole numbers from 1 to 1000000000"},
        BadOverride{"BadNumber", "train.steps=abc", "found 'abc'; allowed: whole numbers from 1 to 1000000000"},
        BadOverride{"Octal", "train.steps=040",
                    "found '040', which other readers take as octal; allowed: whole numbers from 1 to 1000000000"},
        BadOverride{"OutOfRange", "train.steps=0", "found '0'; allowed: whole numbers from 1 to 1000000000"},
        BadOverride{"Infinite", "train.adam.lr=inf", "found 'inf', which is not finite; allowed: numbers above 0"},
        BadOverride{
            "NoUnit", "cluster.network.latency=5",
            "found \"5\", which has no unit; allowed: a duration such as \"5us\", with one of the suffixes ps ns us "
            "ms s min h"},
        BadOverride{"EnumName", "train.adam.decay=MATRICS", "found 'MATRICS'; did you mean 'MATRICES'?"},
        BadOverride{"Group", "checkpoint=10",
                    "'checkpoint' is a group of fields; set one of them, allowed: every_steps, every, asynchronous, "
                    "keep, tiers; {} is the group with nothing written in it"},
        BadOverride{"FieldOfAValue", "train.steps.x=1", "train.steps is a value and has no fields"},
        BadOverride{"ListWithoutIndex", "cluster.device.slowdown.factor=2",
                    "'slowdown' is a list of 0; allowed: slowdown[0], where the last adds an element"},
        BadOverride{"ListBeyondItsEnd", "cluster.device.slowdown[1].factor=2",
                    "'slowdown' is a list of 0; allowed: slowdown[0], where the last adds an element"},
        BadOverride{"BadIndex", "cluster.device.slowdown[x].factor=2",
                    "'slowdown[x]' has no index; allowed: NAME[0], NAME[1] and so on"},
        BadOverride{"IndexOfNoList", "train[0].steps=2", "'train' is no list; leave out the index"},
        BadOverride{"InvalidUtf8", "name=\xFF", "the value is not valid UTF-8"},
        // What only several fields together show names the option too.
        BadOverride{"Contradiction", "train.accumulate=3", "found 3; allowed: a divisor of train.batch, which is 4"},
        BadOverride{"ExpectedStep", "expect.final_step=21",
                    "found 21; allowed: a step of the run, 1 to train.steps, which is 20"}),
    [](const auto& info) { return info.param.name; });

TEST(Overrides, ElementWithoutItsOtherFieldsIsRefused) {
  EXPECT_EQ(
      error_of(kGoodScenario, {"cluster.device.slowdown[0].factor=2"}),
      "--set cluster.device.slowdown[0].factor=2: cluster.device.slowdown[0].rank: missing; allowed: whole numbers "
      "from 0");
}

TEST(Overrides, FieldOfTheFileThatAnOverrideContradictsIsNamedWhereItStands) {
  EXPECT_EQ(
      error_of(kGoodScenario, {"train.steps=15"}),
      "dir/s.textproto:8:50: expect.final_step: found 20; allowed: a step of the run, 1 to train.steps, which is 15");
}

}  // namespace
}  // namespace rehearse
