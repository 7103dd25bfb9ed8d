// Reductions beside backward take just the time that the recurrence says, to the picosecond.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/model/cost.h"
#include "core/parallel/stage_units.h"
#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using Words = std::vector<std::string>;

Scenario job(int stage, bool overlap, const Words& more) {
  Words words = {"mode=COST",
                 "cluster.ranks=4",
                 "cluster.device.flops=1GFLOPS",
                 "model.layers=3",
                 "train.steps=2",
                 "train.batch=2",
                 "train.zero_stage=" + std::to_string(stage),
                 std::string("train.overlap=") + (overlap ? "true" : "false")};
  words.insert(words.end(), more.begin(), more.end());
  return tiny_training("", words);
}

Duration step_time(const Scenario& scenario) {
  const TrainingRecord record = run_training(scenario);
  EXPECT_EQ(record.outcome, Outcome::kDone) << record.failure;
  return record.steps.front().step_seconds;
}

// What a step of a job is made of, from formulas.
struct Model {
  explicit Model(const Scenario& scenario)
      : config(scenario.train),
        layout(config.model),
        plan(layout, config.bucket_bytes / 4, scenario.ranks),
        units(layout, plan),
        link(scenario.network),
        rate(scenario.device.rate),
        ranks(scenario.ranks) {}

  Duration compute(int stage, Direction direction) const {
    return compute_time(stage_cost(config.model, config.batch, stage, direction).flops, rate);
  }
  // A ring over each unit in turn: N - 1 messages of a chunk in a row to reduce and scatter, as many again to gather.
  Duration reduce(UnitRange range) const {
    Duration sum;
    for (int unit = range.first; unit < range.end; ++unit) {
      const Bytes chunk(4 * plan.units()[static_cast<std::size_t>(unit)].chunk);
      const Duration one = link.latency + transfer_time(chunk, link.bandwidth);
      sum = sum + one * ((ranks - 1) * (config.zero_stage == 0 ? 2 : 1));
    }
    return sum;
  }

  // From the beginning of backward until all is reduced. One after the other: the sum of all. With overlap, the units
  // that are final after a stage are reduced from when the stage and those before them are done; with zero_stage 2
  // backward waits, after each stage, for the units of the stage before.
  Duration backward() const {
    Duration now;
    Duration reduced;
    for (int stage = layout.stages() - 1; stage >= 0; --stage) {
      now = now + compute(stage, Direction::kBackward);
      const UnitRange final = units.final_after(stage);
      if (final.empty() && stage > 0) continue;
      if (!config.overlap) {
        now = now + reduce(final);
        continue;
      }
      if (config.zero_stage >= 2) now = std::max(now, reduced);
      reduced = std::max(now, reduced) + reduce(final);
    }
    return std::max(now, reduced);
  }

  const TrainConfig& config;
  ParameterLayout layout;
  UnitPlan plan;
  StageUnits units;
  const NetworkConfig& link;
  FlopRate rate;
  int ranks;
};

// Slow and fast networks beside the same computation: hidden whole, in part, or hardly.
const std::vector<std::string> kBandwidths = {"1Mbps", "100Mbps", "400Mbps", "1Gbps", "100Gbps"};

TEST(Overlap, HidesWhatTheRecurrenceSays) {
  for (const int stage : {0, 1, 2}) {
    for (const std::string& bandwidth : kBandwidths) {
      for (const char* bucket : {"1GB", "1500B", "600B", "4B"}) {
        const Words more = {"cluster.network.bandwidth=" + bandwidth, std::string("train.bucket=") + bucket};
        const Scenario plain = job(stage, false, more);
        const Scenario overlapping = job(stage, true, more);
        EXPECT_EQ(step_time(plain) - step_time(overlapping), Model(plain).backward() - Model(overlapping).backward())
            << stage << ", " << bandwidth << ", " << bucket;
      }
    }
  }
}

// One unit is final with the last gradient.
TEST(Overlap, OfOneUnitHidesNothing) {
  for (const int stage : {0, 1, 2, 3}) {
    EXPECT_EQ(step_time(job(stage, true, {"train.bucket=1GB"})), step_time(job(stage, false, {"train.bucket=1GB"})));
  }
}

TEST(Overlap, ExposedTimeFalls) {
  const auto exposed = [](int stage, bool overlap) {
    return exposed_of(run_training(job(stage, overlap, {"cluster.device.flops=100MFLOPS", "train.bucket=600B"})));
  };
  for (const int stage : {0, 1, 2, 3}) {
    EXPECT_LT(exposed(stage, true), 0.8 * exposed(stage, false)) << stage;
    EXPECT_GT(exposed(stage, true), 0) << stage;
  }
}

TEST(Overlap, ExposedTimeIsJudged) {
  const auto held = [](const std::string& expectation) {
    const Scenario scenario = job(0, false, {"expect." + expectation});
    const TrainingRecord record = run_training(scenario);
    bool all = true;
    for (const Verdict& verdict : judge(scenario, record, TrainingHooks())) all = all && verdict.held;
    return all;
  };
  const double exposed = exposed_of(run_training(job(0, false, {})));
  ASSERT_GT(exposed, 0.01);
  ASSERT_LT(exposed, 0.99);
  const std::string less = std::to_string(exposed - 0.01);
  const std::string more = std::to_string(exposed + 0.01);
  EXPECT_TRUE(held("exposed_above=" + less));
  EXPECT_FALSE(held("exposed_above=" + more));
  EXPECT_TRUE(held("exposed_below=" + more));
  EXPECT_FALSE(held("exposed_below=" + less));
}

// Forward computes a stage while the next one's units come, and no longer: units of a tensor each, a network on which
// one block's take longer than the computation of one. With N ranks a gather of a unit takes (N - 1) (alpha + t(S/N)).
TEST(Overlap, GathersTheNextStageBesideForward) {
  for (const std::string& bandwidth : kBandwidths) {
    const Words more = {"train.bucket=4B", "train.eval_every=1", "cluster.network.bandwidth=" + bandwidth};
    const auto forward = [&](bool overlap) {
      const Scenario scenario = job(3, overlap, more);
      const Model model(scenario);
      Duration now;
      Duration gathered;
      for (int stage = 0; stage < model.layout.stages(); ++stage) {
        const Duration gather = model.reduce(model.units.of(stage));
        if (!overlap || stage == 0) {
          now = now + gather;
        } else {
          now = std::max(now, gathered);
        }
        if (stage + 1 < model.layout.stages()) gathered = now + model.reduce(model.units.of(stage + 1));
        now = now + model.compute(stage, Direction::kForward);
      }
      return now;
    };
    // An evaluation is a forward pass: what it adds to the start differs by what forward does.
    const auto started = [&](bool overlap) {
      return run_training(job(3, overlap, more)).steps.front().report.began.since_start();
    };
    EXPECT_EQ(started(false) - started(true), forward(false) - forward(true)) << bandwidth;
  }
}

}  // namespace
}  // namespace rehearse
