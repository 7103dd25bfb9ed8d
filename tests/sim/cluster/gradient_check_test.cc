// Gradients that change by themselves: in the steps in which they are computed twice, none gets into the weights, and
// the rank that is wrong is named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/model/cost.h"
#include "sim/cluster/training_run.h"
#include "sim/config/reshard.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Words kThree = {"cluster.ranks=3"};

Words checked(const std::string& policy, int every) {
  return {"train.guards.corruption=" + policy, "train.guards.recompute_every=" + std::to_string(every)};
}

std::string flip(const std::string& target, int rank, int step, const std::string& phase, const std::string& tensor,
                 int index, int bit, const std::string& more = "") {
  return "flip { rank: " + std::to_string(rank) + " at { step: " + std::to_string(step) + " phase: " + phase + more +
         " } target: " + target + " tensor: \"" + tensor + "\" index: " + std::to_string(index) +
         " bit: " + std::to_string(bit) + " }\n";
}

std::string flip_gradient(int rank, int step, const std::string& more = "") {
  return flip("GRADIENT", rank, step, "REDUCE", "blocks.0.mlp.0.weight", 11, 20, more);
}

std::string faults(const std::string& all) { return "faults {\n" + all + "}\n"; }

TrainingRecord run_tiny(const std::string& more, const Words& overrides) {
  return run_training(tiny_training(more, overrides));
}

struct Place {
  const char* tensor;
  int index;
  int bit;  // of a float; of a double, as many from the top
};

// The least bit of an element that no token may have touched, a sign, a bit of an exponent, and the last element.
constexpr Place kPlaces[] = {{"tok_embed.weight", 0, 0},
                             {"blocks.0.ln1.bias", 7, 31},
                             {"blocks.0.attn.qkv.weight", 100, 27},
                             {"head.weight", 63, 1}};

int bit_of(const Place& place, bool wide) { return wide && place.bit > 22 ? place.bit + 32 : place.bit; }

// Every rank, element and bit, with the optimizer whole and sharded, in both types, with and without accumulation.
int flip_everywhere(const std::string& policy, bool by_units) {
  int runs = 0;
  for (const std::string stage : {"0", "1"}) {
    for (const bool wide : {false, true}) {
      for (const std::string microbatches : {"1", "2"}) {
        Words job = kThree + checked(policy, 2) +
                    Words{"train.zero_stage=" + stage, "train.batch=2", "train.accumulate=" + microbatches};
        if (wide) job.emplace_back("model.dtype=FLOAT64");
        if (by_units) job.emplace_back("train.bucket=512B");
        const std::string right = run_tiny("", job).weights_sha256;
        for (int rank = 0; rank < 3; ++rank) {
          for (const Place& place : kPlaces) {
            const std::string fault =
                flip("GRADIENT", rank, 4, "REDUCE", place.tensor, place.index, bit_of(place, wide));
            SCOPED_TRACE(stage + ", " + microbatches + ": " + fault);
            const TrainingRecord record = run_tiny(faults(fault), job);
            EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
            EXPECT_EQ(record.weights_sha256, right);
            EXPECT_EQ(record.faults.size(), 1u);
            EXPECT_EQ(record.recoveries.size(), 1u);
            EXPECT_EQ(record.guards.size(), 1u);
            if (record.guards.size() != 1) continue;
            const GuardReport& guard = record.guards[0].report;
            EXPECT_EQ(guard.step, 4);
            EXPECT_THAT(guard.reason, HasSubstr("the gradient of rank " + std::to_string(rank) + " is not what ranks"));
            if (policy == "EVICT") {
              EXPECT_THAT(guard.evicted, ElementsAre(rank));
            }
            ++runs;
          }
        }
      }
    }
  }
  return runs;
}

TEST(GradientCheck, AFlipAnywhereCostsARollbackAndNoBit) {
  EXPECT_EQ(flip_everywhere("ROLLBACK", false), 2 * 2 * 2 * 3 * 4);
}

TEST(GradientCheck, OrAnEvictionOfTheRightRank) { EXPECT_EQ(flip_everywhere("EVICT", true), 2 * 2 * 2 * 3 * 4); }

TEST(GradientCheck, TheUnitIsNamed) {
  const Words job = kThree + checked("ROLLBACK", 1) + Words{"train.bucket=512B"};
  // Units are filled from the end: the head is unit 0.
  const TrainingRecord head = run_tiny(faults(flip("GRADIENT", 1, 3, "REDUCE", "head.weight", 63, 1)), job);
  ASSERT_EQ(head.guards.size(), 1u);
  EXPECT_THAT(head.guards[0].report.reason, HasSubstr("make of its tokens (unit 0)"));
  const TrainingRecord embedding = run_tiny(faults(flip("GRADIENT", 1, 3, "REDUCE", "tok_embed.weight", 0, 1)), job);
  ASSERT_EQ(embedding.guards.size(), 1u);
  EXPECT_THAT(embedding.guards[0].report.reason, ::testing::Not(HasSubstr("(unit 0)")));
}

// Same parameters, tokens and code: same bits, on whichever rank and however the job is cut.
TEST(GradientCheck, WithoutAFaultItChangesNothingButTime) {
  for (const std::string ranks : {"2", "3", "4"}) {
    for (const Words& cut :
         {Words{"train.zero_stage=0"}, Words{"train.zero_stage=1", "train.bucket=512B"},
          Words{"train.batch=4", "train.accumulate=2", "train.clip_norm=0.1"},
          Words{"model.dtype=FLOAT64", "train.batch=2", "train.accumulate=2", "train.eval_every=1"}}) {
      const Words job = cut + Words{"cluster.ranks=" + ranks};
      const TrainingRecord plain = run_tiny("", job);
      for (const int every : {1, 4}) {
        SCOPED_TRACE(ranks + ", " + cut.back() + ", " + std::to_string(every));
        const TrainingRecord looked = run_tiny("", job + checked("EVICT", every));
        EXPECT_EQ(looked.outcome, Outcome::kDone) << looked.failure;
        EXPECT_THAT(looked.guards, IsEmpty());
        EXPECT_THAT(looked.violations, IsEmpty());
        EXPECT_EQ(looked.weights_sha256, plain.weights_sha256);
        EXPECT_GT(looked.simulated, plain.simulated);
        ASSERT_EQ(looked.steps.size(), plain.steps.size());
        for (std::size_t i = 0; i < plain.steps.size(); ++i) {
          EXPECT_EQ(looked.steps[i].report.loss, plain.steps[i].report.loss);
          EXPECT_EQ(looked.steps[i].report.grad_norm, plain.steps[i].report.grad_norm);
        }
      }
    }
  }
}

// A rank's part of the batch is then not that of a planned rank.
TEST(GradientCheck, AJobThatIsCutForOtherRanksHasNoFalseAlarmAndFindsAFlip) {
  const Words planned = {"cluster.ranks=4", "train.batch=3"};
  const Scenario four = tiny_training("", planned + checked("EVICT", 2));
  const Scenario struck = tiny_training(faults(flip_gradient(1, 4)), planned + checked("EVICT", 2));
  for (const std::string ranks : {"2", "3", "6", "12"}) {
    SCOPED_TRACE(ranks);
    const Words cut = {"cluster.ranks=" + ranks};
    const TrainingRecord calm = run_training(reshard_scenario(four, cut));
    EXPECT_EQ(calm.outcome, Outcome::kDone) << calm.failure;
    EXPECT_THAT(calm.guards, IsEmpty());
    const TrainingRecord record = run_training(reshard_scenario(struck, cut));
    EXPECT_EQ(record.weights_sha256, calm.weights_sha256);
    ASSERT_EQ(record.guards.size(), 1u);
    if (ranks == "2") {
      EXPECT_TRUE(record.guards[0].report.goes_back);
    } else {
      EXPECT_THAT(record.guards[0].report.evicted, ElementsAre(1));
    }
  }
}

TEST(GradientCheck, OfTwoRanksNobodyIsConvictedAndAnEvictionIsARollback) {
  const Words job = checked("EVICT", 2);
  const TrainingRecord record = run_tiny(faults(flip_gradient(1, 4)), job);
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.guards.size(), 1u);
  EXPECT_EQ(record.guards[0].report.reaction, "ROLLBACK");
  EXPECT_THAT(record.guards[0].report.evicted, IsEmpty());
  EXPECT_THAT(record.guards[0].report.reason,
              HasSubstr("ranks 1 and 0 make two gradients of the tokens of rank 1 (unit 0), and no third rank can say "
                        "which is right"));
  EXPECT_EQ(record.weights_sha256, run_tiny("", job).weights_sha256);
}

TEST(GradientCheck, StopStops) {
  const TrainingRecord record = run_tiny(faults(flip_gradient(2, 4)), kThree + checked("STOP", 2));
  EXPECT_EQ(record.outcome, Outcome::kStopped);
  EXPECT_THAT(record.failure, HasSubstr("the gradient of rank 2 is not what ranks"));
  EXPECT_EQ(record.steps.size(), 3u);
}

TEST(GradientCheck, BatchesAreSkippedWhereThePolicySaysSo) {
  const TrainingRecord record = run_tiny(faults(flip_gradient(2, 4)), kThree + checked("ROLLBACK_AND_SKIP_BATCHES", 2));
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 1u);
  EXPECT_EQ(record.recoveries[0].resumed_step, 2);
  EXPECT_EQ(record.recoveries[0].skipped_batches, 2);
  EXPECT_EQ(record.steps.back().report.batch_index, 7);
}

// The limit that `recompute_every` sets: what flips once in a step between is in the weights, and nothing says so.
TEST(GradientCheck, AFlipInAStepBetweenIsNotNoticed) {
  const Words job = kThree + checked("ROLLBACK", 2);
  const TrainingRecord record =
      run_tiny(faults(flip("GRADIENT", 1, 3, "REDUCE", "blocks.0.mlp.0.weight", 11, 27)), job);
  EXPECT_EQ(record.outcome, Outcome::kDone);
  EXPECT_EQ(record.faults.size(), 1u);
  EXPECT_THAT(record.guards, IsEmpty());
  EXPECT_NE(record.weights_sha256, run_tiny("", job).weights_sha256);
}

// Nor what flips after the sum, where one rank alone updates the element and all take it over.
TEST(GradientCheck, AFlipInTheSumOfAShardIsNotNoticed) {
  const Words job = kThree + checked("ROLLBACK", 1);
  const TrainingRecord record =
      run_tiny(faults(flip("GRADIENT", 1, 3, "OPTIMIZER", "blocks.0.mlp.0.weight", 11, 27)), job);
  EXPECT_EQ(record.faults.size(), 1u);
  EXPECT_THAT(record.guards, IsEmpty());
  EXPECT_NE(record.weights_sha256, run_tiny("", job).weights_sha256);
}

// Where every rank updates all, the one whose sum flipped goes another way, and the next check shows it.
TEST(GradientCheck, AReplicaThatHasGoneAnotherWayIsFoundInTheNextStep) {
  const Words job = kThree + checked("EVICT", 1) + Words{"train.zero_stage=0"};
  const TrainingRecord record =
      run_tiny(faults(flip("GRADIENT", 1, 3, "OPTIMIZER", "blocks.0.mlp.0.weight", 11, 27)), job);
  ASSERT_EQ(record.guards.size(), 1u);
  EXPECT_EQ(record.guards[0].report.step, 4);
  EXPECT_THAT(record.guards[0].report.evicted, ElementsAre(1));
  EXPECT_EQ(record.weights_sha256, run_tiny("", job).weights_sha256);
}

TEST(GradientCheck, TheLastStepIsLookedAtWhateverItsNumber) {
  const Words job = kThree + checked("ROLLBACK", 4);
  const TrainingRecord record = run_tiny(faults(flip_gradient(0, 6)), job);
  ASSERT_EQ(record.guards.size(), 1u);
  EXPECT_EQ(record.guards[0].report.step, 6);
  EXPECT_EQ(record.weights_sha256, run_tiny("", job).weights_sha256);
}

// A machine that computes wrong from some step on, and is asked at some later one: the job goes back behind the last
// step in which it was known to be right, whatever was saved meanwhile.
TEST(GradientCheck, AMachineThatKeepsComputingWrongIsReplacedAndNothingOfItStays) {
  for (const int every : {1, 2, 3, 5, 6}) {
    for (const int first : {1, 2, 3, 4, 5, 6}) {
      SCOPED_TRACE(std::to_string(every) + ", " + std::to_string(first));
      const Words job = kThree + checked("EVICT", every) + Words{"checkpoint.every_steps=1"};
      const TrainingRecord record = run_tiny(faults(flip_gradient(2, first, " until_step: 6 always: true")), job);
      EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
      ASSERT_EQ(record.guards.size(), 1u);
      EXPECT_THAT(record.guards[0].report.evicted, ElementsAre(2));
      ASSERT_EQ(record.recoveries.size(), 1u);
      EXPECT_LT(record.recoveries[0].resumed_step, first);
      EXPECT_EQ(record.weights_sha256, run_tiny("", job).weights_sha256);
    }
  }
}

TEST(GradientCheck, RollbacksAloneDoNotHelpAgainstSuchAMachine) {
  const TrainingRecord record =
      run_tiny(faults(flip_gradient(2, 3, " until_step: 6 always: true")), kThree + checked("ROLLBACK", 1));
  EXPECT_EQ(record.outcome, Outcome::kStopped);
  EXPECT_THAT(record.failure, HasSubstr("3 rollbacks that are allowed are used"));
}

TEST(GradientCheck, CheckpointsWaitForTheNextCheckToBeTrusted) {
  const Words job = kThree + checked("ROLLBACK", 5) + Words{"checkpoint.every_steps=1", "train.steps=12"};
  // Found in step 10; the last check before it was in step 5.
  const TrainingRecord record = run_tiny(faults(flip_gradient(0, 10)), job);
  ASSERT_EQ(record.recoveries.size(), 1u);
  EXPECT_EQ(record.recoveries[0].resumed_step, 5);
  EXPECT_EQ(record.weights_sha256, run_tiny("", job).weights_sha256);
}

// Activations that flip between the passes make a gradient that nobody else makes.
TEST(GradientCheck, FindsWhatFlipsInActivations) {
  const Words job = kThree + checked("EVICT", 2) + Words{"train.batch=2", "train.accumulate=2"};
  const std::string right = run_tiny("", job).weights_sha256;
  for (const char* tensor : {"stream.0", "blocks.0.ln1", "blocks.0.probs", "blocks.0.gelu", "logits"}) {
    SCOPED_TRACE(tensor);
    const TrainingRecord record = run_tiny(faults(flip("ACTIVATION", 1, 4, "BACKWARD", tensor, 0, 29)), job);
    ASSERT_EQ(record.guards.size(), 1u);
    EXPECT_THAT(record.guards[0].report.evicted, ElementsAre(1));
    EXPECT_EQ(record.weights_sha256, right);
  }
}

TEST(GradientCheck, FindsGradientsThatAreOverwrittenOrSpike) {
  const Words job = kThree + checked("EVICT", 2);
  const std::string right = run_tiny("", job).weights_sha256;
  const std::string at = "rank: 1 at { step: 4 phase: REDUCE } ";
  for (const std::string& fault :
       {"overwrite { " + at + "target: GRADIENT tensor: \"head.weight\" index: 5 with: QUIET_NAN }",
        "overwrite { " + at + "target: GRADIENT tensor: \"head.weight\" index: 5 with: PLUS_INFINITY }",
        "overwrite { " + at + "target: GRADIENT tensor: \"blocks.0.mlp.0.weight\" index: 0 elements: 64 with: ZERO }",
        "spike { " + at + "of: GRADIENT factor: 1000 }"}) {
    SCOPED_TRACE(fault);
    const TrainingRecord record = run_tiny(faults(fault), job);
    ASSERT_EQ(record.guards.size(), 1u);
    EXPECT_THAT(record.guards[0].report.evicted, ElementsAre(1));
    EXPECT_EQ(record.weights_sha256, right);
  }
}

// What a rank says of its loss is no gradient, and one that is NaN everywhere is nobody's fault.
TEST(GradientCheck, DoesNotFindALossThatSpikesNorABatchThatIsBadForAll) {
  const Words job = kThree + checked("EVICT", 1);
  const TrainingRecord loss =
      run_tiny(faults("spike { rank: 1 at { step: 4 phase: REDUCE } of: LOSS factor: 1000 }"), job);
  EXPECT_EQ(loss.faults.size(), 1u);
  EXPECT_THAT(loss.guards, IsEmpty());
  const TrainingRecord nan = run_tiny("", job + Words{"train.adam.lr=1e30", "model.dtype=FLOAT32"});
  EXPECT_FALSE(nan.steps.empty());
  EXPECT_THAT(nan.guards, IsEmpty());
}

// A parameter that flips after the rank's own passes makes what it computes for another wrong.
TEST(GradientCheck, TheRankThatComputesAgainMayBeTheOneThatIsWrong) {
  const Words job = kThree + checked("EVICT", 1);
  const TrainingRecord record =
      run_tiny(faults(flip("PARAMETER", 1, 4, "REDUCE", "blocks.0.mlp.0.weight", 11, 27)), job);
  ASSERT_EQ(record.guards.size(), 1u);
  EXPECT_THAT(record.guards[0].report.evicted, ElementsAre(1));
  EXPECT_THAT(record.guards[0].report.reason,
              HasSubstr("the parameters of rank 1 are not what the last update left; rank 1 does not make of the "
                        "tokens of rank"));
  EXPECT_EQ(record.weights_sha256, run_tiny("", job).weights_sha256);
}

TEST(GradientCheck, TwoRanksThatAreWrongInOneStepAreBothReplaced) {
  const Words job = checked("EVICT", 2);
  for (const std::string ranks : {"3", "5"}) {
    const Words of = job + Words{"cluster.ranks=" + ranks};
    const TrainingRecord record = run_tiny(faults(flip_gradient(0, 4) + flip_gradient(1, 4)), of);
    ASSERT_EQ(record.guards.size(), 1u);
    EXPECT_THAT(record.guards[0].report.evicted, ElementsAre(0, 1)) << ranks;
    EXPECT_EQ(record.weights_sha256, run_tiny("", of).weights_sha256);
  }
}

// A rank that dies in the middle of it, at any message of the check and of what settles a dispute.
TEST(GradientCheck, ACrashInTheMiddleOfACheckIsACrashLikeAnyOther) {
  const Words job = kThree + checked("EVICT", 2);
  const std::string right = run_tiny("", job).weights_sha256;
  int struck = 0;
  for (int rank = 0; rank < 3; ++rank) {
    for (int message = 1; message <= 7; ++message) {
      const std::string crash = "crash { rank: " + std::to_string(rank) +
                                " at { step: 4 phase: REDUCE message: " + std::to_string(message) + " } }\n";
      const TrainingRecord record = run_tiny(faults(flip_gradient(1, 4) + crash), job);
      EXPECT_EQ(record.outcome, Outcome::kDone) << crash << record.failure;
      EXPECT_EQ(record.weights_sha256, right) << crash;
      struck += record.faults.size() == 2 ? 1 : 0;
    }
  }
  EXPECT_GT(struck, 12);
}

TEST(GradientCheck, AJobThatIsDownToOneRankGoesOnWithout) {
  const std::string lost = "crash { kind: HOST rank: 0 at { step: 4 phase: BACKWARD } }\n";
  const TrainingRecord record = run_tiny(faults(lost), checked("EVICT", 1) + Words{"recovery.mode=ELASTIC"});
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_EQ(record.recoveries.size(), 1u);
  EXPECT_EQ(record.recoveries[0].ranks, 1);
  EXPECT_EQ(record.recoveries[0].resumed_step, 2);
}

// A second gradient of the same size; activations are used again.
TEST(GradientCheck, TakesTheMemoryOfASecondGradient) {
  const TrainingRecord plain = run_tiny("", kThree + Words{"train.guards.corruption=EVICT", "train.bucket=512B"});
  const TrainingRecord looked = run_tiny("", kThree + checked("EVICT", 3) + Words{"train.bucket=512B"});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(looked.memory[rank].gradients.count(), 2 * plain.memory[rank].gradients.count());
    EXPECT_EQ(looked.memory[rank].activations_peak, plain.memory[rank].activations_peak);
    EXPECT_EQ(looked.memory[rank].parameters, plain.memory[rank].parameters);
    EXPECT_EQ(looked.memory[rank].optimizer, plain.memory[rank].optimizer);
  }
}

// A rank's own passes once more and the ring of digests, to the picosecond; 32 bytes a rank and unit.
TEST(GradientCheck, TakesTheTimeOfTheRanksOwnPassesAndOfTheDigests) {
  const Words job = {"cluster.device.flops=1GFLOPS", "cluster.network.bandwidth=1Gbps", "train.batch=2",
                     "train.accumulate=2",           "checkpoint.every_steps=6",        "cluster.ranks=3"};
  const Scenario scenario = tiny_training("", job + checked("EVICT", 2));
  const TrainingRecord record = run_training(scenario);
  ASSERT_EQ(record.steps.size(), 6u);
  std::int64_t passes = 0;
  for (int stage = 0; stage < 3; ++stage) {
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      const Flops flops = stage_cost(scenario.train.model, 1, stage, direction, DType::kFloat32).flops;
      passes += 2 * flops.count() * 1000;  // a floating-point operation takes 1 ns
    }
  }
  const std::int64_t ring = 2 * (5'000'000 + 32 * 8 * 1000);
  const auto seconds = [&](std::size_t step) { return record.steps[step - 1].step_seconds.ps(); };
  // The first steps are still uneven: ranks come to them one after the other.
  EXPECT_EQ(seconds(4) - seconds(5), passes + ring);
}

}  // namespace
}  // namespace rehearse
