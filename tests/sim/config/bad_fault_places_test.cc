// When and where faults may strike, and the kinds beside flips and crashes: what a run never comes to is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

struct Bad {
  const char* faults;
  const char* error;  // after the place
};

// The message without file, line and column, which other tests are about.
std::string refusal_of(const std::string& faults) {
  const std::string error = error_of(kGoodScenario + "faults { " + faults + " }\n");
  const std::size_t path = error.find("faults.");
  return path == std::string::npos ? error : error.substr(path);
}

TEST(FaultPlaces, EveryKindIsRead) {
  for (const char* faults :
       {"crash { rank: 1 at { step: 3 phase: REDUCE message: 4 } }",
        "crash { rank: 1 at { step: 1 phase: LOAD every: 1 count: 2 } }", "hang { rank: 1 time: \"3ms\" }",
        "overwrite { rank: 1 at { step: 3 until_step: 9 phase: REDUCE } target: GRADIENT tensor: \"head.weight\" "
        "index: 0 "
        "elements: 2048 with: ZERO }",
        "overwrite { rank: 1 at { step: 3 phase: BACKWARD } target: ACTIVATION tensor: \"blocks.1.probs\" index: 0 "
        "with: "
        "MINUS_INFINITY }",
        "spike { rank: 1 at { step: 3 phase: REDUCE probability: 0.25 until_step: 20 } of: LOSS factor: -2 }",
        "lr_spike { at { step: 3 every: 4 phase: OPTIMIZER } factor: 10 }",
        "program { rank: 2 at { step: 3 phase: GATHER } kind: ORDER }",
        "straggler { rank: 2 factor: 1.25 from_step: 3 until_step: 3 }"}) {
    EXPECT_EQ(refusal_of(faults), "no error") << faults;
  }
}

TEST(FaultPlaces, WhatNeverComesIsRefused) {
  for (const Bad& bad : {
           Bad{"crash { rank: 1 at { step: 3 until_step: 2 phase: DATA } }",
               "faults.crash[0].at.until_step: found 2; allowed: at least at.step, which is 3"},
           Bad{"crash { rank: 1 at { step: 3 until_step: 21 phase: DATA } }",
               "faults.crash[0].at.until_step: found 21; allowed: a step of the run, 1 to train.steps, which is 20"},
           Bad{"crash { rank: 1 at { step: 3 phase: DATA always: true count: 2 } }",
               "faults.crash[0].at.count: found 2 with always, which has no limit; allowed: one or the other"},
           Bad{"crash { rank: 1 at { step: 3 phase: DATA probability: 0.1234567891 } }",
               "faults.crash[0].at.probability: found more than 9 decimals; allowed: at most 9"},
           Bad{"crash { rank: 1 at { step: 3 phase: DATA probability: 0 } }",
               "faults.crash[0].at.probability: found '0'; allowed: numbers above 0 up to 1"},
           Bad{"overwrite { rank: 1 at { step: 3 phase: REDUCE message: 2 } target: GRADIENT tensor: \"head.weight\" "
               "index: 0 with: ZERO }",
               "faults.overwrite[0].at.message: found 2; allowed only for crash and hang"},
           Bad{"overwrite { rank: 1 at { step: 3 phase: REDUCE } target: GRADIENT tensor: \"head.weight\" index: 2047 "
               "elements: 2 with: ZERO }",
               "faults.overwrite[0].elements: found 2; allowed: 1 to 1, as head.weight has 2048 elements"},
           Bad{"overwrite { rank: 1 at { step: 3 phase: REDUCE } target: ACTIVATION tensor: \"logits\" index: 0 with: "
               "ZERO }",
               "faults.overwrite[0].at.phase: found REDUCE for an ACTIVATION; allowed: BACKWARD"},
           Bad{"overwrite { rank: 3 at { step: 3 phase: OPTIMIZER } target: MASTER tensor: \"tok_embed.weight\" index: "
               "0 "
               "elements: 3 with: ZERO }",
               "faults.overwrite[0].index: found 0..2; rank 3 updates nothing of it, rank 0 that element; allowed: an "
               "element that the rank updates"},
           Bad{"spike { rank: 1 at { step: 3 phase: FORWARD } of: LOSS factor: 2 }",
               "faults.spike[0].at.phase: found FORWARD; allowed for this kind of fault: REDUCE"},
           Bad{"lr_spike { at { step: 3 phase: GATHER } factor: 2 }",
               "faults.lr_spike[0].at.phase: found GATHER; allowed for this kind of fault: OPTIMIZER"},
           Bad{"program { rank: 1 at { step: 3 phase: DATA } kind: SKIP }",
               "faults.program[0].at.phase: found DATA; allowed for this kind of fault: REDUCE, GATHER"},
           Bad{"straggler { rank: 4 factor: 2 }",
               "faults.straggler[0].rank: found 4; allowed: 0 to cluster.ranks - 1 = 3"},
           Bad{"straggler { rank: 1 factor: 2 from_step: 21 }",
               "faults.straggler[0].from_step: found 21; allowed: 1 to train.steps, which is 20"},
           Bad{"straggler { rank: 1 factor: 2 from_step: 5 until_step: 4 }",
               "faults.straggler[0].until_step: found 4; allowed: at least from_step, which is 5"},
           Bad{"hang { rank: 1 }", "faults.hang[0]: says not when; allowed: at { step phase }, or time"},
           Bad{"crash { rank: 1 time: \"1ms\" } hang { rank: 1 time: \"1ms\" }",
               "faults.hang[0]: found a second end of rank 1 at the same place; allowed: one crash or hang"},
       }) {
    EXPECT_EQ(refusal_of(bad.faults), bad.error);
  }
}

TEST(FaultPlaces, AMisspelledActivationIsCorrected) {
  EXPECT_EQ(refusal_of("overwrite { rank: 1 at { step: 3 phase: BACKWARD } target: ACTIVATION tensor: \"block.1.gelu\" "
                       "index: 0 with: ZERO }"),
            "faults.overwrite[0].tensor: found \"block.1.gelu\"; did you mean 'blocks.1.gelu'?");
}

TEST(FaultPlaces, GatherHasNoCollectiveWithoutShards) {
  const std::string scenario =
      kGoodScenario + "faults { program { rank: 1 at { step: 3 phase: GATHER } kind: SKIP } }\n";
  EXPECT_EQ(error_of(scenario), "no error");
  for (const char* without : {"train.zero_stage=0", "train.zero_stage=3"}) {
    EXPECT_THAT(error_of(scenario, {without}), ::testing::EndsWith("allowed for this kind of fault: REDUCE"));
  }
  EXPECT_EQ(error_of(scenario, {"train.zero_stage=2"}), "no error");
}

// Where units are reduced while backward runs, only a step that computes its gradients twice has them whole.
TEST(FaultPlaces, AGradientThatIsBeingReducedCannotBeStruckAtReduce) {
  const auto flip = [](const std::string& at) {
    return kGoodScenario + "faults { flip { rank: 1 at { " + at +
           " phase: REDUCE } target: GRADIENT tensor: \"head.weight\" index: 0 bit: 3 } }\n";
  };
  const std::string spike =
      kGoodScenario + "faults { spike { rank: 1 at { step: 3 phase: REDUCE } of: GRADIENT factor: 2 } }\n";
  const std::string loss_spike =
      kGoodScenario + "faults { spike { rank: 1 at { step: 3 phase: REDUCE } of: LOSS factor: 2 } }\n";
  for (const std::string early : {"train.overlap=true", "train.zero_stage=2", "train.zero_stage=3"}) {
    EXPECT_THAT(error_of(flip("step: 3"), {early}), ::testing::HasSubstr("at.phase: found REDUCE for a gradient"));
    EXPECT_THAT(error_of(spike, {early}), ::testing::HasSubstr("at.phase: found REDUCE for a gradient"));
    EXPECT_EQ(error_of(loss_spike, {early}), "no error");
    const std::vector<std::string> twice = {early, "train.guards.corruption=ROLLBACK",
                                            "train.guards.recompute_every=3"};
    EXPECT_EQ(error_of(flip("step: 6"), twice), "no error");
    EXPECT_EQ(error_of(flip("step: 20"), twice), "no error");  // the last
    EXPECT_EQ(error_of(flip("step: 3 every: 6 until_step: 18"), twice), "no error");
    for (const char* at : {"step: 4", "step: 6 until_step: 9", "step: 3 every: 2 until_step: 18"}) {
      EXPECT_THAT(error_of(flip(at), twice), ::testing::HasSubstr("found REDUCE for a gradient")) << at;
    }
  }
}

// What forward left of other blocks is gone when backward begins.
TEST(FaultPlaces, ActivationsOfBlocksThatAreRecomputedAreThoseOfTheLast) {
  const auto flip = [](const std::string& name) {
    return error_of(kGoodScenario +
                        "faults { flip { rank: 1 at { step: 3 phase: BACKWARD } target: ACTIVATION tensor: \"" + name +
                        "\" index: 0 bit: 3 } }\n",
                    {"train.recompute_blocks=true"});
  };
  EXPECT_EQ(flip("blocks.1.gelu"), "no error");
  EXPECT_EQ(flip("stream.0"), "no error");
  EXPECT_THAT(flip("blocks.0.gelu"), ::testing::HasSubstr("found \"blocks.0.gelu\""));
}

// Of a sharded parameter a rank has its own part alone.
TEST(FaultPlaces, AShardedParameterIsStruckWhereItIs) {
  const std::string scenario = kGoodScenario +
                               "faults { flip { rank: 1 at { step: 3 phase: FORWARD } target: PARAMETER tensor: "
                               "\"tok_embed.weight\" index: 0 bit: 3 } }\n";
  EXPECT_EQ(error_of(scenario, {"train.zero_stage=2"}), "no error");
  EXPECT_THAT(error_of(scenario, {"train.zero_stage=3"}), ::testing::HasSubstr("rank 0 that element"));
}

TEST(FaultPlaces, LoadsComeWithCheckpointsAlone) {
  const std::string scenario = kGoodScenario + "faults { crash { rank: 1 at { step: 1 phase: LOAD } } }\n";
  EXPECT_EQ(error_of(scenario), "no error");
}

}  // namespace
}  // namespace rehearse
