// Faults that cannot strike as they are written: refused before anything runs, at the field's own place.

#include <gtest/gtest.h>

#include "core/model/layout.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

// kGoodScenario has one unit of 29,824 elements over 4 ranks, 7,456 each: rank 0 updates tok_embed.weight, rank 3
// head.weight, and of blocks.0.mlp.0.weight, which is at 6,784, rank 0 the first 672 elements, rank 1 the others.
const std::string kGoodFlip =
    "flip { rank: 3 at { step: 13 phase: OPTIMIZER } target: GRADIENT tensor: \"head.weight\" index: 5 bit: 30 }";

std::string with_faults(const std::string& faults) { return kGoodScenario + "faults { " + faults + " }\n"; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  CHECK_NE(place, std::string::npos);
  return text.replace(place, from.size(), to);
}

// The good scenario with the good flip, in line 9, of which one or two parts are others.
std::string flip_with(const std::string& from, const std::string& to) {
  return with_faults(replaced(kGoodFlip, from, to));
}
std::string flip_with(const std::string& from, const std::string& to, const std::string& from2,
                      const std::string& to2) {
  return with_faults(replaced(replaced(kGoodFlip, from, to), from2, to2));
}

struct BadFault {
  const char* name;
  std::string text;
  std::string error;  // after the file's name
};

void PrintTo(const BadFault& test, std::ostream* out) { *out << test.name; }

class BadFaultTest : public ::testing::TestWithParam<BadFault> {};

TEST_P(BadFaultTest, IsRefusedWhereItStands) {
  EXPECT_EQ(error_of(GetParam().text), "dir/s.textproto:" + GetParam().error);
}

std::string test_name(const ::testing::TestParamInfo<BadFault>& info) { return info.param.name; }

TEST(GoodFault, IsNotRefused) { EXPECT_EQ(error_of(with_faults(kGoodFlip)), "no error"); }

INSTANTIATE_TEST_SUITE_P(
    Address, BadFaultTest,
    ::testing::Values(
        BadFault{"NoSuchRank", flip_with("rank: 3", "rank: 4"),
                 "9:23: faults.flip[0].rank: found 4; allowed: 0 to cluster.ranks - 1 = 3"},
        BadFault{"RankBeyond32Bits", flip_with("rank: 3", "rank: 4294967296"),
                 "9:23: faults.flip[0].rank: found 4294967296; allowed: 0 to cluster.ranks - 1 = 3"},
        BadFault{"NegativeRank", flip_with("rank: 3", "rank: -1"),
                 "9:23: faults.flip[0].rank: found '-1'; allowed: whole numbers from 0"},
        BadFault{"StepBeyondTheRun", flip_with("step: 13", "step: 21"),
                 "9:36: faults.flip[0].at.step: found 21; allowed: a step of the run, 1 to train.steps, which is 20"},
        BadFault{"StepZero", flip_with("step: 13", "step: 0"),
                 "9:36: faults.flip[0].at.step: found '0'; allowed: whole numbers from 1 to 1000000000"},
        BadFault{
            "NoSuchPhase", flip_with("OPTIMIZER", "EVALUATE"),
            "9:46: faults.flip[0].at.phase: found 'EVALUATE'; allowed: DATA, FORWARD, BACKWARD, REDUCE, OPTIMIZER, "
            "GATHER, CHECKPOINT, LOAD"},
        BadFault{
            "FlipAtCheckpoint", flip_with("OPTIMIZER", "CHECKPOINT"),
            "9:46: faults.flip[0].at.phase: found CHECKPOINT; allowed for this kind of fault: DATA, FORWARD, BACKWARD, "
            "REDUCE, OPTIMIZER, GATHER"},
        BadFault{"PhaseMisspelled", flip_with("OPTIMIZER", "OPTIMISER"),
                 "9:46: faults.flip[0].at.phase: found 'OPTIMISER'; did you mean 'OPTIMIZER'?"}),
    test_name);

const std::string kNoGradient = ", when there is no gradient yet; allowed: REDUCE, OPTIMIZER, GATHER";

INSTANTIATE_TEST_SUITE_P(
    Target, BadFaultTest,
    ::testing::Values(
        BadFault{"NoSuchTarget", flip_with("GRADIENT", "WEIGHT"),
                 "9:66: faults.flip[0].target: found 'WEIGHT'; allowed: GRADIENT, PARAMETER, MASTER, FIRST_MOMENT, "
                 "SECOND_MOMENT, ACTIVATION"},
        BadFault{"GradientAtData", flip_with("OPTIMIZER", "DATA"),
                 "9:46: faults.flip[0].at.phase: found DATA" + kNoGradient},
        BadFault{"GradientAtForward", flip_with("OPTIMIZER", "FORWARD"),
                 "9:46: faults.flip[0].at.phase: found FORWARD" + kNoGradient},
        BadFault{"GradientAtBackward", flip_with("OPTIMIZER", "BACKWARD"),
                 "9:46: faults.flip[0].at.phase: found BACKWARD" + kNoGradient},
        BadFault{"TensorMisspelled", flip_with("head.weight", "head.wieght"),
                 "9:83: faults.flip[0].tensor: found \"head.wieght\"; did you mean 'head.weight'?"},
        BadFault{"NoTensor", flip_with("head.weight", ""),
                 "9:83: faults.flip[0].tensor: found \"\", which is empty; allowed: text in quotes"}),
    test_name);

// A name like no other gets the whole list.
TEST(BadTensorName, IsAnsweredWithTheNamesThatThereAre) {
  const ParameterLayout layout(load_text(kGoodScenario).train.model);
  std::string names;
  for (const ParameterInfo& info : layout.tensors()) {
    names += (names.empty() ? " " : ", ") + info.name;
  }
  EXPECT_EQ(error_of(flip_with("head.weight", "everything")),
            "dir/s.textproto:9:83: faults.flip[0].tensor: found \"everything\"; allowed:" + names);
}

INSTANTIATE_TEST_SUITE_P(
    Element, BadFaultTest,
    ::testing::Values(
        BadFault{"NegativeIndex", flip_with("index: 5", "index: -5"),
                 "9:104: faults.flip[0].index: found '-5'; allowed: whole numbers from 0"},
        BadFault{"IndexBeyondTheTensor", flip_with("index: 5", "index: 2048"),
                 "9:104: faults.flip[0].index: found 2048; allowed: 0 to 2047, as head.weight has 2048 elements"},
        BadFault{"BitBeyondFloat", flip_with("bit: 30", "bit: 32"),
                 "9:111: faults.flip[0].bit: found 32; allowed: 0 to 31"},
        BadFault{"BitBeyondDouble", flip_with("bit: 30", "bit: 64"),
                 "9:111: faults.flip[0].bit: found '64'; allowed: whole numbers from 0 to 63"},
        BadFault{"NegativeBit", flip_with("bit: 30", "bit: -1"),
                 "9:111: faults.flip[0].bit: found '-1'; allowed: whole numbers from 0 to 63"}),
    test_name);

const std::string kNotUpdated = "; allowed: an element that the rank updates";

INSTANTIATE_TEST_SUITE_P(
    OfAnotherRank, BadFaultTest,
    ::testing::Values(
        BadFault{
            "SummedGradient", flip_with("rank: 3", "rank: 2"),
            "9:104: faults.flip[0].index: found 5; rank 2 updates nothing of it, rank 3 that element" + kNotUpdated},
        BadFault{
            "SummedGradientAtGather", flip_with("rank: 3", "rank: 0", "OPTIMIZER", "GATHER"),
            "9:101: faults.flip[0].index: found 5; rank 0 updates nothing of it, rank 3 that element" + kNotUpdated},
        BadFault{
            "Master", flip_with("rank: 3", "rank: 1", "GRADIENT", "MASTER"),
            "9:102: faults.flip[0].index: found 5; rank 1 updates nothing of it, rank 3 that element" + kNotUpdated},
        BadFault{"FirstMoment",
                 flip_with("rank: 3", "rank: 0", "GRADIENT tensor: \"head.weight\" index: 5",
                           "FIRST_MOMENT tensor: \"blocks.0.mlp.0.weight\" index: 672"),
                 "9:118: faults.flip[0].index: found 672; rank 0 updates elements 0 to 671 of it, rank 1 that element" +
                     kNotUpdated},
        BadFault{"SecondMoment",
                 flip_with("rank: 3", "rank: 1", "GRADIENT tensor: \"head.weight\" index: 5",
                           "SECOND_MOMENT tensor: \"blocks.0.mlp.0.weight\" index: 671"),
                 "9:119: faults.flip[0].index: found 671; rank 1 updates elements 672 to 4095 of it, rank 0 that "
                 "element" +
                     kNotUpdated}),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    Form, BadFaultTest,
    ::testing::Values(
        BadFault{"NoRank", flip_with("rank: 3 ", ""),
                 "9:10: faults.flip[0].rank: missing; allowed: whole numbers from 0"},
        BadFault{"NoAddress", flip_with("at { step: 13 phase: OPTIMIZER } ", ""),
                 "9:10: faults.flip[0].at: missing; allowed: { ... }"},
        BadFault{"NoStep", flip_with("step: 13 ", ""),
                 "9:25: faults.flip[0].at.step: missing; allowed: whole numbers from 1 to 1000000000"},
        BadFault{"NoPhase", flip_with(" phase: OPTIMIZER", ""),
                 "9:25: faults.flip[0].at.phase: missing; allowed: DATA, FORWARD, BACKWARD, REDUCE, OPTIMIZER, GATHER, "
                 "CHECKPOINT, LOAD"},
        BadFault{"NoTarget", flip_with("target: GRADIENT ", ""),
                 "9:10: faults.flip[0].target: missing; allowed: GRADIENT, PARAMETER, MASTER, FIRST_MOMENT, "
                 "SECOND_MOMENT, ACTIVATION"},
        BadFault{"NoTensorField", flip_with("tensor: \"head.weight\" ", ""),
                 "9:10: faults.flip[0].tensor: missing; allowed: text in quotes"},
        BadFault{"NoIndex", flip_with("index: 5 ", ""),
                 "9:10: faults.flip[0].index: missing; allowed: whole numbers from 0"},
        BadFault{"NoBit", flip_with(" bit: 30", ""),
                 "9:10: faults.flip[0].bit: missing; allowed: whole numbers from 0 to 63"},
        BadFault{"CrashWithoutWhen", with_faults("crash { rank: 1 }"),
                 "9:10: faults.crash[0]: says not when; allowed: at { step phase }, or time"},
        BadFault{"CrashOfARankThatIsNotThere", with_faults("crash { rank: 4 time: \"1ms\" }"),
                 "9:24: faults.crash[0].rank: found 4; allowed: 0 to cluster.ranks - 1 = 3"},
        BadFault{"CrashAfterTheLastStep", with_faults("crash { rank: 1 at { step: 21 phase: DATA } }"),
                 "9:37: faults.crash[0].at.step: found 21; allowed: a step of the run, 1 to train.steps, which is 20"},
        BadFault{"CrashInASaveThatIsNone", with_faults("crash { rank: 1 at { step: 7 phase: CHECKPOINT } }"),
                 "9:46: faults.crash[0].at.phase: found CHECKPOINT of step 7, after which nothing is saved; allowed: "
                 "only in a multiple of checkpoint.every_steps, which is 10"},
        BadFault{"TwoCrashesAtOnePlace", with_faults("crash { rank: 1 time: \"1ms\" } crash { rank: 1 time: \"1ms\" }"),
                 "9:40: faults.crash[1]: found a second end of rank 1 at the same place; allowed: one crash or hang"},
        BadFault{"UnknownFault", with_faults("flop { rank: 1 }"),
                 "9:10: faults.flop: unknown field; did you mean 'flip'?"}),
    test_name);

TEST(BadFault, IsNamedByItsPlaceInTheList) {
  EXPECT_EQ(error_of(with_faults(kGoodFlip + "\n" + replaced(kGoodFlip, "rank: 3", "rank: 7"))),
            "dir/s.textproto:10:14: faults.flip[1].rank: found 7; allowed: 0 to cluster.ranks - 1 = 3");
}

TEST(BadFault, OfAnOverrideIsNamedByTheOption) {
  EXPECT_EQ(error_of(with_faults(kGoodFlip), {"faults.flip[0].bit=32"}),
            "--set faults.flip[0].bit=32: found 32; allowed: 0 to 31");
}

// Buckets cut the units, so who updates an element changes with them.
TEST(BadFault, OfAnotherRankFollowsTheUnits) {
  EXPECT_EQ(error_of(with_faults(kGoodFlip), {"train.bucket=4KB"}),
            "dir/s.textproto:9:104: faults.flip[0].index: found 5; rank 3 updates elements 1536 to 2047 of it, rank 0 "
            "that element; allowed: an element that the rank updates");
}

// Good ones.

TEST(Faults, FillThePlan) {
  const Scenario s =
      load_text(with_faults(kGoodFlip + " flip { rank: 0 at { step: 1 phase: DATA } target: SECOND_MOMENT tensor: "
                                        "\"tok_embed.weight\" index: 0 bit: 0 }"));
  ASSERT_EQ(s.faults.faults.size(), 2U);
  const FaultAddress& first_at = s.faults.faults[0].when.at;
  const FlipFault& first = std::get<FlipFault>(s.faults.faults[0].kind);
  EXPECT_EQ(first_at.rank, 3);
  EXPECT_EQ(first_at.step, 13);
  EXPECT_EQ(first_at.phase, Phase::kOptimizer);
  EXPECT_EQ(first.elements.target, FaultTarget::kGradient);
  EXPECT_EQ(first.elements.tensor, ParameterLayout(s.train.model).find("head.weight"));
  EXPECT_EQ(first.elements.tensor_name, "head.weight");
  EXPECT_EQ(first.elements.index, 5);
  EXPECT_EQ(first.bit, 30);
  const FaultAddress& second_at = s.faults.faults[1].when.at;
  const FlipFault& second = std::get<FlipFault>(s.faults.faults[1].kind);
  EXPECT_EQ(second_at.rank, 0);
  EXPECT_EQ(second_at.step, 1);
  EXPECT_EQ(second_at.phase, Phase::kData);
  EXPECT_EQ(second.elements.target, FaultTarget::kSecondMoment);
  EXPECT_EQ(second.elements.tensor, 0);
  EXPECT_EQ(second.elements.index, 0);
  EXPECT_EQ(second.bit, 0);
}

TEST(Faults, EveryPhaseAndTargetIsRead) {
  const std::vector<std::pair<std::string, Phase>> phases = {
      {"DATA", Phase::kData},     {"FORWARD", Phase::kForward},     {"BACKWARD", Phase::kBackward},
      {"REDUCE", Phase::kReduce}, {"OPTIMIZER", Phase::kOptimizer}, {"GATHER", Phase::kGather}};
  const std::vector<std::pair<std::string, FaultTarget>> targets = {{"GRADIENT", FaultTarget::kGradient},
                                                                    {"PARAMETER", FaultTarget::kParameter},
                                                                    {"MASTER", FaultTarget::kMaster},
                                                                    {"FIRST_MOMENT", FaultTarget::kFirstMoment},
                                                                    {"SECOND_MOMENT", FaultTarget::kSecondMoment}};
  int read = 0;
  for (const auto& [phase_name, phase] : phases) {
    for (const auto& [target_name, target] : targets) {
      if (target == FaultTarget::kGradient && phase < Phase::kReduce) continue;
      const Scenario s = load_text(flip_with("OPTIMIZER", phase_name, "GRADIENT", target_name));
      ASSERT_EQ(s.faults.faults.size(), 1U);
      EXPECT_EQ(s.faults.faults[0].when.at.phase, phase);
      EXPECT_EQ(std::get<FlipFault>(s.faults.faults[0].kind).elements.target, target);
      ++read;
    }
  }
  EXPECT_EQ(read, 27);
}

TEST(Faults, LastBitOfTheElementTypeIsAllowed) {
  EXPECT_EQ(std::get<FlipFault>(load_text(flip_with("bit: 30", "bit: 31")).faults.faults[0].kind).bit, 31);
  const Scenario wide = load_text(flip_with("bit: 30", "bit: 63"), {"model.dtype=FLOAT64"});
  EXPECT_EQ(std::get<FlipFault>(wide.faults.faults[0].kind).bit, 63);
}

TEST(Faults, ParametersAndOwnGradientsAreOfEveryRank) {
  for (const char* rank : {"rank: 0", "rank: 1", "rank: 2", "rank: 3"}) {
    EXPECT_EQ(error_of(flip_with("rank: 3", rank, "GRADIENT", "PARAMETER")), "no error") << rank;
    EXPECT_EQ(error_of(flip_with("rank: 3", rank, "OPTIMIZER", "REDUCE")), "no error") << rank;
  }
}

TEST(Faults, WithoutShardsEveryRankUpdatesEverything) {
  for (const char* target : {"GRADIENT", "MASTER", "FIRST_MOMENT", "SECOND_MOMENT"}) {
    EXPECT_EQ(error_of(flip_with("rank: 3", "rank: 1", "GRADIENT", target), {"train.zero_stage=0"}), "no error");
  }
}

TEST(Faults, NoneIsAnEmptyPlan) {
  EXPECT_TRUE(load_text(kGoodScenario).faults.empty());
  EXPECT_TRUE(load_text(with_faults("")).faults.empty());
}

// Faults are what happens to a run, not what it computes.
TEST(Faults, ChangeTheScenariosDigestAndNotTheArithmetics) {
  const Scenario without = load_text(kGoodScenario);
  const Scenario with = load_text(with_faults(kGoodFlip));
  EXPECT_NE(with.scenario_sha256, without.scenario_sha256);
  EXPECT_EQ(with.arithmetic_sha256, without.arithmetic_sha256);
}

TEST(Faults, CanonicalTextLoadsToTheSamePlan) {
  const Scenario s = load_text(with_faults(kGoodFlip));
  const Scenario again = load_text(s.text);
  EXPECT_EQ(again.scenario_sha256, s.scenario_sha256);
  ASSERT_EQ(again.faults.faults.size(), 1U);
  EXPECT_EQ(std::get<FlipFault>(again.faults.faults[0].kind).elements.index, 5);
}

TEST(FaultFree, IsTheScenarioWithoutItsFaults) {
  const Scenario s = load_text(
      replaced(with_faults(kGoodFlip), "expect { loss: FALLS", "expect { same_weights_as: \"fault-free\" loss: FALLS"));
  ASSERT_TRUE(s.expect.same_weights_as.has_value());
  EXPECT_EQ(s.expect.same_weights_as->text, "fault-free");
  EXPECT_EQ(s.expect.same_weights_as->sha256, "");
  ASSERT_NE(s.expect.same_weights_as->scenario, nullptr);
  const Scenario& other = *s.expect.same_weights_as->scenario;
  EXPECT_TRUE(other.faults.empty());
  EXPECT_FALSE(other.expect.same_weights_as.has_value());
  EXPECT_FALSE(other.expect.loss_falls);
  EXPECT_EQ(other.arithmetic_sha256, s.arithmetic_sha256);
  EXPECT_EQ(other.train.steps, 20);
}

// It is this run's, as the options have it.
TEST(FaultFree, HasTheOptionsOfTheRun) {
  LoadOptions options;
  options.overrides = {"train.steps=30", "cluster.network.latency=1us"};
  options.seed = 8;
  const std::string text =
      replaced(with_faults(kGoodFlip), "expect { loss: FALLS", "expect { same_weights_as: \"fault-free\" loss: FALLS");
  const Scenario s = parse_scenario(text, "dir/s.textproto", reader_of({}), options);
  EXPECT_EQ(s.expect.same_weights_as->scenario->seed, 8U);
  EXPECT_EQ(s.expect.same_weights_as->scenario->train.steps, 30);
  EXPECT_EQ(s.expect.same_weights_as->scenario->network.latency, Duration::microseconds(1));
}

TEST(FaultFree, WithAnEmptyListOfFaultsIsRefused) {
  const std::string text =
      replaced(with_faults(""), "expect { loss: FALLS", "expect { same_weights_as: \"fault-free\" loss: FALLS");
  EXPECT_EQ(error_of(text),
            "dir/s.textproto:8:27: expect.same_weights_as: found \"fault-free\", but the scenario has no faults to "
            "leave out; allowed: the path of another scenario, or \"sha256:\" and 64 hex digits");
}

}  // namespace
}  // namespace rehearse
