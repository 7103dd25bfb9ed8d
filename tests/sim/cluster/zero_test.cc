// ZeRO's stages and overlap: they decide memory and times, and not one bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/checkpoint/names.h"
#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using ::testing::IsEmpty;
using Words = std::vector<std::string>;

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Two blocks; units of about 400 bytes, some within a block and some across two, some with padding.
const Words kJob = {"model.layers=2", "train.batch=2", "train.bucket=400B"};

Words kind(int stage, bool overlap) {
  return {"train.zero_stage=" + std::to_string(stage), std::string("train.overlap=") + (overlap ? "true" : "false")};
}

TrainingRecord run(const Words& overrides, const std::string& more = "") {
  const Scenario scenario = tiny_training(more, overrides);
  TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_THAT(record.violations, IsEmpty());
  return record;
}

// Calls look(stage, overlap) for all eight.
template <class Look>
void for_all_kinds(const Look& look) {
  for (const bool overlap : {false, true}) {
    for (int stage = 0; stage <= 3; ++stage) {
      SCOPED_TRACE("stage " + std::to_string(stage) + (overlap ? ", overlap" : ""));
      look(stage, overlap);
    }
  }
}

// Equal, or both no number.
void expect_same(double one, double other, std::size_t index) {
  EXPECT_TRUE(one == other || (std::isnan(one) && std::isnan(other))) << one << " and " << other << " at " << index;
}

void expect_same_numbers(const TrainingRecord& one, const TrainingRecord& other) {
  EXPECT_EQ(one.weights_sha256, other.weights_sha256);
  ASSERT_EQ(one.steps.size(), other.steps.size());
  for (std::size_t i = 0; i < one.steps.size(); ++i) {
    expect_same(one.steps[i].report.loss, other.steps[i].report.loss, i);
    expect_same(one.steps[i].report.grad_norm, other.steps[i].report.grad_norm, i);
    expect_same(one.steps[i].param_norm, other.steps[i].param_norm, i);
    EXPECT_EQ(one.steps[i].parameters, other.steps[i].parameters) << i;
  }
  ASSERT_EQ(one.evals.size(), other.evals.size());
  for (std::size_t i = 0; i < one.evals.size(); ++i) EXPECT_EQ(one.evals[i].loss, other.evals[i].loss) << i;
}

TEST(Zero, AllStagesHaveTheSameBitsWithAndWithoutOverlap) {
  for (const Words& job : {Words{"cluster.ranks=1"}, Words{"cluster.ranks=2", "train.accumulate=2"},
                           Words{"cluster.ranks=3", "train.eval_every=2", "train.clip_norm=0.1"},
                           Words{"cluster.ranks=5", "model.dtype=FLOAT64"}}) {
    const TrainingRecord plain = run(with(with(kJob, job), kind(0, false)));
    for_all_kinds(
        [&](int stage, bool overlap) { expect_same_numbers(run(with(with(kJob, job), kind(stage, overlap))), plain); });
  }
}

// The capstone's 29,824 parameters on four ranks: no padding in one unit. 4 bytes each of P, P / N of what is sharded.
TEST(Zero, WhatARankKeepsIsTheTableOfThePaper) {
  const Words capstone = {"cluster.ranks=4", "model.layers=2",   "model.embed=32", "model.heads=4",
                          "model.vocab=64",  "model.context=16", "train.steps=2",  "train.bucket=1GB"};
  const std::int64_t whole = 4 * 29'824;
  for_all_kinds([&](int stage, bool overlap) {
    const TrainingRecord record = run(with(capstone, kind(stage, overlap)));
    ASSERT_TRUE(record.state_checked);
    for (const RankMemory& rank : record.memory) {
      EXPECT_EQ(rank.parameters_kept.count(), stage == 3 ? whole / 4 : whole);
      EXPECT_EQ(rank.gradients_kept.count(), stage >= 2 ? whole / 4 : whole);
      EXPECT_EQ(rank.optimizer.count(), stage >= 1 ? 3 * whole / 4 : 3 * whole);
      // The one unit passes as a whole.
      EXPECT_EQ(rank.parameters.count(), stage == 3 ? whole / 4 + whole : whole);
      EXPECT_EQ(rank.gradients.count(), stage >= 2 ? whole / 4 + whole : whole);
    }
  });
}

// The embeddings and the head are the largest stages here, and far apart: an evaluation's microbatches end with one and
// begin with the other.
TEST(Zero, AnEvaluationHoldsNoMoreThanAStep) {
  const Words job = with(kJob, {"model.vocab=256", "train.accumulate=2", "train.eval_every=2"});
  const TrainingRecord plain = run(with(job, kind(0, false)));
  for_all_kinds([&](int stage, bool overlap) {
    const TrainingRecord record = run(with(job, kind(stage, overlap)));
    EXPECT_TRUE(record.state_checked);
    expect_same_numbers(record, plain);
  });
}

TEST(Zero, CollectivesThatSendOtherMessagesServeItToo) {
  const Words job = with(kJob, {"cluster.ranks=4"});
  const TrainingRecord plain = run(with(job, kind(1, false)));
  const TrainingRecord halving =
      run(with(with(job, kind(1, false)), {"train.collectives.reduce_scatter=RECURSIVE_HALVING"}));
  for (const int stage : {2, 3}) {
    for (const char* gather : {"RECURSIVE_DOUBLING", "DIRECT"}) {
      const Words it = with(with(job, kind(stage, true)), {std::string("train.collectives.all_gather=") + gather});
      expect_same_numbers(run(it), plain);
      expect_same_numbers(run(with(it, {"train.collectives.reduce_scatter=RECURSIVE_HALVING"})), halving);
    }
  }
}

TEST(Zero, CostModeTakesTheTimesAndTheMemoryOfEach) {
  for (const Words& more : {Words{}, Words{"train.accumulate=2", "train.eval_every=3"}}) {
    for_all_kinds([&](int stage, bool overlap) {
      const Words job = with(with(kJob, more), kind(stage, overlap));
      const TrainingRecord real = run(job);
      const TrainingRecord cost = run(with(job, {"mode=COST"}));
      EXPECT_EQ(cost.simulated, real.simulated);
      EXPECT_EQ(cost.events, real.events);
      EXPECT_EQ(cost.messages, real.messages);
      EXPECT_EQ(cost.bytes_on_wire, real.bytes_on_wire);
      for (std::size_t rank = 0; rank < real.memory.size(); ++rank) {
        EXPECT_EQ(cost.memory[rank].parameters, real.memory[rank].parameters);
        EXPECT_EQ(cost.memory[rank].gradients, real.memory[rank].gradients);
        EXPECT_EQ(cost.memory[rank].parameters_kept, real.memory[rank].parameters_kept);
        EXPECT_EQ(cost.memory[rank].gradients_kept, real.memory[rank].gradients_kept);
      }
    });
  }
}

TEST(Zero, ACrashInAnyPhaseEndsWithTheBytesOfTheCalmRun) {
  for_all_kinds([](int stage, bool overlap) {
    const Words job = with(kJob, with({"cluster.ranks=3"}, kind(stage, overlap)));
    const TrainingRecord calm = run(job);
    for (const char* phase : {"FORWARD", "BACKWARD", "REDUCE", "OPTIMIZER", "GATHER", "CHECKPOINT"}) {
      const TrainingRecord record =
          run(job, std::string("faults { crash { rank: 1 at { step: 4 phase: ") + phase + " } } }\n");
      EXPECT_EQ(record.recoveries.size(), 1U) << phase;
      expect_same_numbers(record, calm);
    }
  });
}

// After the rank's n-th message of the phase: in the midst of gathering and reducing beside the computation.
TEST(Zero, ACrashAfterAnyMessageOfBackwardDoesToo) {
  for (const int stage : {0, 2, 3}) {
    // Slow enough that backward lasts longer than the first units' messages.
    const Words job = with(kJob, with({"cluster.device.flops=100MFLOPS"}, kind(stage, true)));
    const TrainingRecord calm = run(job);
    int struck = 0;
    for (int message = 1; message <= 40; ++message) {
      const TrainingRecord record =
          run(job,
              "faults { crash { rank: 1 at { step: 3 phase: BACKWARD message: " + std::to_string(message) + " } } }\n");
      struck += record.faults_not_struck.empty() ? 1 : 0;
      expect_same_numbers(record, calm);
    }
    EXPECT_GT(struck, 5) << stage;
  }
}

// Whoever is late: calls meet in the same order, and as much memory is held.
TEST(Zero, TimesDecideNoBitAndNoByteOfMemory) {
  const Words job = with(kJob, {"cluster.ranks=3", "cluster.device.flops=100MFLOPS"});
  const TrainingRecord plain = run(with(job, kind(0, false)));
  for_all_kinds([&](int stage, bool overlap) {
    const Words it = with(job, kind(stage, overlap));
    for (const Words& network : {Words{"cluster.network.jitter=300us"}, Words{"cluster.network.bandwidth=10Mbps"},
                                 Words{"cluster.network.fabric=IDEAL"}, Words{"cluster.device.flops=1PFLOPS"}}) {
      expect_same_numbers(run(with(it, network)), plain);
    }
    for (const char* rank : {"0", "1", "2"}) {
      expect_same_numbers(run(it, std::string("faults { straggler { rank: ") + rank + " factor: 9 } }\n"), plain);
    }
  });
}

TEST(Zero, GuardsJudgeTheSameSteps) {
  const std::string spike = "faults { lr_spike { at { step: 3 phase: OPTIMIZER } factor: 1e30 } }\n";
  for (const char* reaction : {"SKIP_STEP", "ROLLBACK"}) {
    const Words job = with(kJob, {std::string("train.guards.nonfinite=") + reaction});
    const TrainingRecord plain = run(with(job, kind(0, false)), spike);
    EXPECT_GT(plain.guards.size(), 0U);
    for_all_kinds([&](int stage, bool overlap) {
      const TrainingRecord record = run(with(job, kind(stage, overlap)), spike);
      ASSERT_EQ(record.guards.size(), plain.guards.size());
      expect_same_numbers(record, plain);
    });
  }
}

// In a step that computes its gradients twice they are whole until all agree on them.
TEST(Zero, AGradientThatWasStruckIsFoundByComputingItAgain) {
  const std::string flip =
      "faults { flip { rank: 1 at { step: 4 phase: REDUCE } target: GRADIENT tensor: \"blocks.0.mlp.0.weight\" "
      "index: 3 bit: 27 } }\n";
  const Words job =
      with(kJob, {"cluster.ranks=3", "train.guards.corruption=ROLLBACK", "train.guards.recompute_every=2"});
  const TrainingRecord calm = run(with(job, kind(1, false)));
  for_all_kinds([&](int stage, bool overlap) {
    const TrainingRecord record = run(with(job, kind(stage, overlap)), flip);
    ASSERT_EQ(record.guards.size(), 1U);
    EXPECT_EQ(record.guards[0].report.step, 4);
    EXPECT_THAT(record.guards[0].report.reason, ::testing::HasSubstr("the gradient of rank 1"));
    expect_same_numbers(record, calm);
  });
}

// Element 0 of the head's weight is rank 0's in all stages.
TEST(Zero, AParameterThatWasStruckIsFoundByItsSeal) {
  const std::string flip =
      "faults { flip { rank: 0 at { step: 4 phase: FORWARD } target: PARAMETER tensor: \"ln_f.weight\" index: 0 "
      "bit: 20 } }\n";
  const Words job = with(kJob, {"train.guards.corruption=ROLLBACK"});
  const TrainingRecord calm = run(with(job, kind(1, false)));
  for_all_kinds([&](int stage, bool overlap) {
    const TrainingRecord record = run(with(job, kind(stage, overlap)), flip);
    ASSERT_EQ(record.guards.size(), 1U);
    EXPECT_THAT(record.guards[0].report.reason, ::testing::HasSubstr("parameters"));
    expect_same_numbers(record, calm);
  });
}

TEST(Zero, CheckpointsHoldTheSameStateAndContinueTheRun) {
  const TrainingRecord plain = run(with(kJob, kind(1, false)));
  const auto files = [](const TrainingRecord& record) { return record.checkpoints.front().files; };
  for_all_kinds([&](int stage, bool overlap) {
    const Scenario scenario = tiny_training("", with(kJob, kind(stage, overlap)));
    const TrainingRecord record = run_training(scenario);
    ASSERT_EQ(record.checkpoints.front().step, 4);
    for (const auto& [name, data] : files(record)) {
      if (!name.ends_with(".safetensors")) continue;
      EXPECT_EQ(data.text(), files(plain).at(name).text()) << name;
    }
    ResumeFrom resume;
    resume.step = 4;
    resume.files = files(record);
    const TrainingRecord continued = run_training(scenario, resume);
    EXPECT_EQ(continued.outcome, Outcome::kDone) << continued.failure;
    EXPECT_THAT(continued.violations, IsEmpty());
    EXPECT_EQ(continued.weights_sha256, record.weights_sha256);
  });
}

// Overlap is no part of what decides bits: the job continues with it what it began without.
TEST(Zero, AJobContinuesWithOverlapWhatItBeganWithout) {
  const TrainingRecord record = run(with(kJob, kind(2, false)));
  ResumeFrom resume;
  resume.step = 4;
  resume.files = record.checkpoints.front().files;
  const Scenario scenario = tiny_training("", with(kJob, kind(2, true)));
  const TrainingRecord continued = run_training(scenario, resume);
  EXPECT_EQ(continued.outcome, Outcome::kDone) << continued.failure;
  EXPECT_EQ(continued.weights_sha256, record.weights_sha256);
}

TEST(Zero, AHangIsFoundWhileUnitsAreReducedBesideBackward) {
  for (const int stage : {0, 2, 3}) {
    const Words job = with(kJob, kind(stage, true));
    const TrainingRecord calm = run(job);
    for (const char* phase : {"BACKWARD", "REDUCE"}) {
      const TrainingRecord record =
          run(with(job, {"recovery.collective_timeout=5ms"}),
              std::string("faults { hang { rank: 1 at { step: 4 phase: ") + phase + " } } }\n");
      ASSERT_EQ(record.recoveries.size(), 1U) << stage << phase;
      EXPECT_THAT(record.recoveries[0].cause, ::testing::HasSubstr("the deadline has passed")) << stage << phase;
      expect_same_numbers(record, calm);
    }
  }
}

}  // namespace
}  // namespace rehearse
