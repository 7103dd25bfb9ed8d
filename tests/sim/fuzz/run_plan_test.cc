// What is found in a plan's run, and with what its weights are compared.

#include "sim/fuzz/run_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace rehearse {
namespace {

// A job of four ranks that takes about a millisecond.
std::string job(const std::string& guards, const std::string& more, const std::string& batch = "batch: 1") {
  return "name: \"plan\" seed: 5\n"
         "cluster { ranks: 4 network { latency: \"5us\" } storage { latency: \"10us\" } }\n"
         "model { layers: 1 embed: 8 heads: 1 vocab: 8 context: 4 }\n"
         "data { synthetic { kind: MARKOV states: 4 } }\n"
         "train { steps: 6 " +
         batch + " adam { lr: 0.01 } " + guards +
         " }\n"
         "checkpoint { every_steps: 2 keep: 2 }\n" +
         more;
}

const std::string kRecovery = "recovery { max_restarts: 200 restart_delay: \"1ms\" heartbeat_timeout: \"2ms\" ";

std::string findings_of(const PlanResult& result) {
  std::string text;
  for (const Finding& finding : result.findings) text += finding.invariant + ": " + finding.detail + "\n";
  return text;
}

TEST(RunPlan, TheFirst300SeedsFindNothing) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Plan plan = draw_plan(seed);
    const PlanResult result = run_plan(plan);
    ASSERT_TRUE(result.findings.empty()) << "seed " << seed << ": " << findings_of(result) << plan.text();
  }
}

TEST(RunPlan, APlanThatDoesNotLoadIsFound) {
  const PlanResult result = run_plan_text("name: \"plan\"", "plan");
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings.front().invariant, "refused");
}

TEST(RunPlan, WeightsThatASilentFaultChangedAreFound) {
  const PlanResult result = run_plan_text(
      job("",
          "faults { flip { rank: 1 at { step: 3 phase: REDUCE } target: GRADIENT tensor: \"blocks.0.mlp.0.weight\" "
          "index: 3 bit: 30 } }"),
      "plan");
  ASSERT_EQ(result.findings.size(), 1u) << findings_of(result);
  EXPECT_EQ(result.findings.front().invariant, "weights");
  EXPECT_NE(result.findings.front().detail.find("after step 3"), std::string::npos) << findings_of(result);
}

TEST(RunPlan, AJobThatIsGivenUpWithAmpleRestartsIsFound) {
  const PlanResult result = run_plan_text(
      job("", kRecovery + "collective_timeout: \"1ms\" }\nfaults { link_down { from: 0 from_time: \"300us\" } }"),
      "plan");
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings.front().invariant, "outcome");
}

TEST(RunPlan, ASkippedStepHasTheSameJobWithoutThatStepAsReference) {
  const PlanResult result =
      run_plan_text(job("guards { nonfinite: SKIP_STEP }",
                        "faults { overwrite { rank: 1 at { step: 3 phase: REDUCE } target: GRADIENT tensor: "
                        "\"blocks.0.mlp.0.weight\" index: 3 with: QUIET_NAN } }"),
                    "plan");
  EXPECT_TRUE(result.findings.empty()) << findings_of(result);
  EXPECT_EQ(result.reference, "the same steps skipped");
}

TEST(RunPlan, BatchesThatWereLeftOutAreLeftOutInTheReference) {
  const PlanResult result = run_plan_text(
      job("guards { nonfinite: ROLLBACK_AND_SKIP_BATCHES }",
          "faults { overwrite { rank: 1 at { step: 5 until_step: 6 phase: REDUCE } target: GRADIENT tensor: "
          "\"blocks.0.mlp.0.weight\" index: 3 with: QUIET_NAN } }"),
      "plan");
  EXPECT_TRUE(result.findings.empty()) << findings_of(result);
  EXPECT_EQ(result.reference, "the same batches left out");
  EXPECT_EQ(result.reached.paths.count("SKIP_BATCHES"), 1u);
}

TEST(RunPlan, ALearningRateThatAFaultMultipliedIsThatOfTheReference) {
  const PlanResult result =
      run_plan_text(job("", "faults { lr_spike { at { step: 3 phase: OPTIMIZER } factor: 10 } }"), "plan");
  EXPECT_TRUE(result.findings.empty()) << findings_of(result);
  EXPECT_EQ(result.reference, "the same learning rates");
}

TEST(RunPlan, AJobWithFewerRanksHasTheReshardedJobAsReference) {
  const PlanResult result = run_plan_text(
      job("", kRecovery + "mode: ELASTIC }\nfaults { crash { rank: 3 at { step: 4 phase: FORWARD } kind: HOST } }",
          "batch: 3"),
      "plan");
  EXPECT_TRUE(result.findings.empty()) << findings_of(result);
  EXPECT_EQ(result.reference, "resharded from the same steps on");
  EXPECT_EQ(result.reached.paths.count("FEWER_RANKS"), 1u);
}

// The job comes to step 2 with other batches than at first, goes back to it, and one rank sees the disk as it was some
// time ago: with the checkpoint of the past that was given up. Found by seed 889.
TEST(RunPlan, RanksNeverMixCheckpointsOfTwoPasts) {
  int refused = 0;
  for (int delay = 20; delay <= 400; delay += 10) {
    const std::string text =
        "name: \"two-pasts\" seed: 1\n"
        "cluster { ranks: 2 storage { latency: \"0us\" } }\n"
        "model { layers: 1 embed: 1 heads: 1 vocab: 2 context: 1 dtype: FLOAT64 }\n"
        "data { synthetic { kind: MARKOV states: 2 } }\n"
        "train { steps: 4 batch: 1 adam { lr: 0.001 } guards { corruption: ROLLBACK_AND_SKIP_BATCHES "
        "recompute_every: 1 } }\n"
        "checkpoint { every: \"1us\" }\n"
        "faults {\n"
        "  flip { rank: 0 at { step: 3 phase: REDUCE until_step: 4 } target: GRADIENT tensor: "
        "\"blocks.0.mlp.2.bias\" index: 0 bit: 36 }\n"
        "  stale_view { rank: 1 delay: \"" +
        std::to_string(delay) +
        "us\" }\n"
        "}\n";
    const PlanResult result = run_plan_text(text, "plan");
    EXPECT_TRUE(result.findings.empty()) << delay << " us: " << findings_of(result);
    refused += static_cast<int>(result.reached.paths.count("REFUSED_CHECKPOINT"));
  }
  EXPECT_GT(refused, 5);
}

TEST(RunPlan, SaysWhatStruckWhereAndWhatWasDone) {
  const PlanResult result =
      run_plan_text(job("", kRecovery + "}\nfaults { crash { rank: 3 at { step: 4 phase: FORWARD } } }"), "plan");
  EXPECT_TRUE(result.findings.empty()) << findings_of(result);
  EXPECT_EQ(result.reached.strikes, (std::set<std::pair<std::string, std::string>>{{"crash", "FORWARD"}}));
  EXPECT_EQ(result.reached.paths, std::set<std::string>{"RESTART"});
  EXPECT_EQ(result.reference, "fault-free");
}

}  // namespace
}  // namespace rehearse
