#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/formats/json.h"
#include "tests/tools/rehearse/diff_fixture.h"
#include "tests/tools/rehearse/event_file.h"

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Diff, ARunIsIdenticalToItselfAndToItsRepetition) {
  const std::string a = record_small("a");
  EXPECT_EQ(difference(a, a)["identical"], true);
  EXPECT_EQ(difference(a, record_small("b"))["identical"], true);
  EXPECT_THAT(text_, HasSubstr("every event is the same: " +
                               std::to_string(read_events(a + "/events.bin").records.size()) + " records"));
}

std::string flip(int rank, const std::string& phase, int bit) {
  return "faults { flip { rank: " + std::to_string(rank) + " at { step: 7 phase: " + phase +
         " } target: GRADIENT tensor: \"blocks.1.mlp.0.weight\" index: 37 bit: " + std::to_string(bit) + " } }\n";
}

TEST_F(Diff, AFlipOfASummedGradientIsNamedToTheElement) {
  const Json found = difference(record_capstone("a"), record_capstone("b", flip(2, "OPTIMIZER", 12)));
  EXPECT_EQ(found["state"]["step"], 7);
  EXPECT_EQ(found["state"]["rank"], 2);
  EXPECT_EQ(found["state"]["component"], "gradients");
  EXPECT_EQ(found["state"]["tensor"], "blocks.1.mlp.0.weight");
  EXPECT_EQ(found["state"]["index"], 37);
  EXPECT_EQ(found["state"]["differing"], 1);
  // The lowest 16 bits: the 12th is inverted, the others are not.
  const std::string a = found["state"]["a"];
  const std::string b = found["state"]["b"];
  EXPECT_EQ(std::stoul(a.substr(a.find("0x"), 10), nullptr, 16) ^ std::stoul(b.substr(b.find("0x"), 10), nullptr, 16),
            1UL << 12);
  EXPECT_EQ(found["state"]["distance"], "4096 units in the last place");
  EXPECT_FALSE(found.contains("own_gradient"));
  EXPECT_THAT(text_, HasSubstr("note: in B, "));
  EXPECT_THAT(text_, HasSubstr("step 7, rank 2: gradients of blocks.1.mlp.0.weight"));
  EXPECT_THAT(text_, HasSubstr("blocks.1.mlp.0.weight[1, 5], element 37"));
}

TEST_F(Diff, AFlipThatTheSumAbsorbsIsNamedInTheRanksOwnGradient) {
  const Json found = difference(record_capstone("a"), record_capstone("b", flip(0, "REDUCE", 0)));
  EXPECT_EQ(found["own_gradient"]["step"], 7);
  EXPECT_EQ(found["own_gradient"]["rank"], 0);
  EXPECT_EQ(found["own_gradient"]["tensor"], "blocks.1.mlp.0.weight");
  EXPECT_EQ(found["own_gradient"]["index"], 37);
  EXPECT_EQ(found["own_gradient"]["absorbed"], true);
  EXPECT_TRUE(found["state"].is_null());
  EXPECT_THAT(text_, HasSubstr("rank 0 had put in another gradient of its own"));
  EXPECT_THAT(text_, HasSubstr("the sum over the ranks absorbs it"));
  EXPECT_THAT(text_, HasSubstr("No state differs"));
}

TEST_F(Diff, AFlipThatTheSumKeepsIsNamedInBoth) {
  const Json found = difference(record_capstone("a"), record_capstone("b", flip(0, "REDUCE", 12)));
  EXPECT_EQ(found["own_gradient"]["rank"], 0);
  EXPECT_EQ(found["own_gradient"]["tensor"], "blocks.1.mlp.0.weight");
  EXPECT_EQ(found["own_gradient"]["index"], 37);
  EXPECT_EQ(found["own_gradient"]["absorbed"], false);
  EXPECT_EQ(found["state"]["step"], 7);
  EXPECT_EQ(found["state"]["rank"], 2);
  EXPECT_EQ(found["state"]["component"], "gradients");
  EXPECT_EQ(found["state"]["index"], 37);
  EXPECT_THAT(text_, Not(HasSubstr("absorbs")));
}

// Memory between steps: seen where it is read first.
TEST_F(Diff, FlipsOfParametersAndMomentsAreNamedByWhatTheyAre) {
  const std::string a = record_capstone("a");
  const auto flip_of = [](const char* target, const char* phase) {
    return std::string("faults { flip { rank: 2 at { step: 7 phase: ") + phase + " } target: " + target +
           " tensor: \"blocks.1.mlp.0.weight\" index: 37 bit: 20 } }\n";
  };
  const Json first = difference(a, record_capstone("first", flip_of("FIRST_MOMENT", "OPTIMIZER")));
  EXPECT_EQ(first["state"]["component"], "m");
  const Json second = difference(a, record_capstone("second", flip_of("SECOND_MOMENT", "GATHER")));
  EXPECT_EQ(second["state"]["component"], "v");
  const Json master = difference(a, record_capstone("master", flip_of("MASTER", "OPTIMIZER")));
  EXPECT_EQ(master["state"]["component"], "parameters");
  for (const Json& found : {first, second, master}) {
    EXPECT_EQ(found["state"]["step"], 7) << found;
    EXPECT_EQ(found["state"]["tensor"], "blocks.1.mlp.0.weight") << found;
    EXPECT_EQ(found["state"]["index"], 37) << found;
    EXPECT_EQ(found["state"]["differing"], 1) << found;
  }
  EXPECT_EQ(first["state"]["rank"], 2);
  EXPECT_EQ(second["state"]["rank"], 2);
  EXPECT_EQ(master["state"]["rank"], 0) << "all ranks gather it";
}

TEST_F(Diff, AnotherSeedIsNotedAndDiffersBeforeTheFirstStep) {
  const Json found = difference(record_small("a"), record_small("b", {"--seed", "4"}));
  EXPECT_THAT(text_, HasSubstr("note: another seed: 3 and 4"));
  EXPECT_EQ(found["state"]["step"], 0);
  EXPECT_EQ(found["state"]["component"], "parameters");
  EXPECT_EQ(found["state"]["tensor"], "tok_embed.weight");
  EXPECT_EQ(found["state"]["index"], 0);
}

TEST_F(Diff, AnotherWorldSizeIsNotedAndNamed) {
  const Json found = difference(record_small("a"), record_small("b", {"--set", "cluster.ranks=4"}));
  EXPECT_THAT(text_, HasSubstr("note: another number of ranks: 2 and 4"));
  EXPECT_THAT(text_, HasSubstr("only B has it"));
  EXPECT_EQ(found["state"]["rank"], 2);
}

TEST_F(Diff, AnotherModelIsNamed) {
  const Json found = difference(record_small("a"), record_small("b", {"--set", "model.embed=16"}));
  EXPECT_EQ(found["state"]["tensor"], "tok_embed.weight");
  EXPECT_THAT(text_, HasSubstr("bytes of it"));
}

TEST_F(Diff, AnotherLearningRateIsItsOwnCause) {
  const Json found = difference(record_small("a"), record_small("b", {"--set", "train.adam.lr=0.02"}));
  EXPECT_EQ(found["state"]["step"], 1);
  EXPECT_EQ(found["state"]["component"], "learning rate");
  EXPECT_THAT(found["state"]["a"].get<std::string>(), HasSubstr("0.01 ("));
  EXPECT_THAT(found["state"]["b"].get<std::string>(), HasSubstr("0.02 ("));
}

TEST_F(Diff, AnotherLatencyIsNoDifferenceOfState) {
  const Json found = difference(record_small("a"), record_small("b", {"--set", "cluster.network.latency=6us"}));
  EXPECT_TRUE(found["state"].is_null());
  EXPECT_GT(found["event"]["event"], 0);
  EXPECT_THAT(text_, HasSubstr("differs in time"));
  EXPECT_THAT(text_, HasSubstr("No state differs"));
}

TEST_F(Diff, ARunAndItsContinuationDifferFromTheFirstStateOn) {
  const std::string a = record_small("a");
  ASSERT_EQ(rehearse({"resume", a + "/checkpoints/step_000004", "--out", folder_ / "b"}).code, 0);
  const Json found = difference(a, folder_ / "b");
  EXPECT_EQ(found["identical"], false);
  EXPECT_THAT(text_, HasSubstr("First differing event"));
  EXPECT_EQ(difference(folder_ / "b", folder_ / "b")["identical"], true);
}

// Who changed a log must not be believed: what the run gives is compared with what the log says.
TEST_F(Diff, ALogWithAStateThatItsRunDoesNotGiveHasNoValues) {
  const std::string a = record_small("a");
  const std::string b = record_small("b");
  EventFile file = read_events(b + "/events.bin");
  std::size_t at = file.records.size() / 2;
  while (file.records[at].component != StateComponent::kFirstMoment) ++at;
  file.records[at].digest.low ^= 1;
  write_events(b + "/events.bin", file);
  const Json found = difference(a, b);
  EXPECT_EQ(found["state"]["component"], "m");
  EXPECT_EQ(found["state"]["step"], file.records[at].step);
  EXPECT_EQ(found["state"]["rank"], file.records[at].rank);
  EXPECT_EQ(found["state"]["not_reproduced"], Json::array({"B"}));
  EXPECT_FALSE(found["state"].contains("a"));
  EXPECT_EQ(found["event"]["event"], file.records[at].sequence);
}

TEST_F(Diff, TwoOfDifferentKindsAreRefused) {
  const std::string run = record_small("run");
  const std::string checkpoint = run + "/checkpoints/step_000004";
  const std::string tensors = checkpoint + "/model.safetensors";
  int refused = 0;
  for (const std::string& a : {run, checkpoint, tensors}) {
    for (const std::string& b : {run, checkpoint, tensors}) {
      if (a == b) continue;
      EXPECT_THAT(refusal_of(a, b), HasSubstr("allowed: two of a kind")) << a << " " << b;
      ++refused;
    }
  }
  EXPECT_EQ(refused, 6);
}

TEST_F(Diff, WhatIsNeitherIsRefusedByName) {
  const std::string run = record_small("run");
  EXPECT_THAT(refusal_of(run, folder_ / "nowhere"), HasSubstr(folder_ / "nowhere"));
  EXPECT_THAT(refusal_of(folder_ / "nowhere", run), HasSubstr("no such file or directory"));
  fs::create_directory(folder_ / "empty");
  EXPECT_THAT(refusal_of(folder_ / "empty", run), HasSubstr("neither events.bin nor manifest.json"));
  write_file(folder_ / "text", "once upon a time\n");
  EXPECT_THAT(refusal_of(folder_ / "text", folder_ / "text"), HasSubstr(folder_ / "text"));
  EXPECT_THAT(refusal_of("/dev/null", run), HasSubstr("/dev/null"));
}

// A job that went back has every step from its last attempt; values are those of the attempt that differs.
TEST_F(Diff, ARunThatWentBackIsComparedByItsLastAttempts) {
  const std::string clean = record_capstone("clean");
  const std::string crash = "faults { crash { rank: 2 at { step: 13 phase: BACKWARD } } }\n";
  EXPECT_TRUE(difference(clean, record_capstone("crashed", crash))["state"].is_null());
  // Undone by the rollback in one run, there for good in the other.
  const std::string late_flip =
      "faults { flip { rank: 2 at { step: 12 phase: OPTIMIZER } target: GRADIENT tensor: \"blocks.1.mlp.0.weight\" "
      "index: 37 bit: 12 }";
  const std::string undone =
      record_capstone("undone", late_flip + " crash { rank: 2 at { step: 13 phase: BACKWARD } } }\n");
  EXPECT_TRUE(difference(clean, undone)["state"].is_null());
  const Json found = difference(record_capstone("flipped", late_flip + " }\n"), undone);
  EXPECT_EQ(found["state"]["step"], 12);
  EXPECT_EQ(found["state"]["rank"], 2);
  EXPECT_EQ(found["state"]["index"], 37);
  EXPECT_FALSE(found["state"].contains("not_reproduced"));
}

// A log whose records were changed is read all the same; whatever they say, nothing is read where nothing is.
TEST_F(Diff, AChangedTensorNumberIsNoPlaceToReadFrom) {
  const std::string a = record_small("a");
  int tried = 0;
  for (const std::int32_t tensor : {-2, 1000, 100000, 2000000000}) {
    const std::string b = folder_ / ("b" + std::to_string(++tried));
    const std::string c = folder_ / ("c" + std::to_string(tried));
    for (const std::string& copy : {b, c}) {
      fs::copy(a, copy, fs::copy_options::recursive);
      EventFile file = read_events(copy + "/events.bin");
      const auto state = std::find_if(file.records.begin(), file.records.end(), [](const EventRecord& record) {
        return record.component == StateComponent::kParameters;
      });
      ASSERT_NE(state, file.records.end());
      state->index = tensor;
      state->digest.low = copy == b ? 1 : 2;
      write_events(copy + "/events.bin", file);
    }
    EXPECT_EQ(difference(b, c)["identical"], false) << tensor;
  }
  std::printf("%d tensors that are not there\n", tried);
}

}  // namespace
}  // namespace rehearse::testing_command
