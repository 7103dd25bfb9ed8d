// What each kind of fault does, and to whom.

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "tests/sim/fault/rank_memory.h"

namespace rehearse {
namespace {

TEST(Injector, OverwritesARangeWithEachValue) {
  for (const auto& [value, expected] :
       {std::pair(WrittenValue::kZero, 0.0F),
        std::pair(WrittenValue::kInfinity, std::numeric_limits<float>::infinity()),
        std::pair(WrittenValue::kNegativeInfinity, -std::numeric_limits<float>::infinity()),
        std::pair(WrittenValue::kNan, std::numeric_limits<float>::quiet_NaN())}) {
    RankMemory<float> rank;
    OverwriteFault overwrite;
    overwrite.elements = some_elements();
    overwrite.elements.count = 4;
    overwrite.value = value;
    FaultPlan plan;
    plan.faults.push_back(fault_of(overwrite));
    const std::vector<float> before = rank.contents();
    injector_of(plan, no_hooks()).strike(moment_of(2, 5, Phase::kReduce), rank.memory());
    const std::vector<float> after = rank.contents();
    int changed = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (std::bit_cast<std::uint32_t>(before[i]) == std::bit_cast<std::uint32_t>(after[i])) continue;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(after[i]), std::bit_cast<std::uint32_t>(expected));
      ++changed;
    }
    EXPECT_EQ(changed, 4);
  }
}

TEST(Injector, MultipliesTheWholeGradientAndNothingElse) {
  RankMemory<double> rank;
  SpikeFault spike;
  spike.factor = 8;
  FaultPlan plan;
  plan.faults.push_back(fault_of(spike));
  const std::vector<double> before = rank.contents();
  FaultElements at = some_elements();
  const double element = rank.element(at);
  injector_of(plan, no_hooks()).strike(moment_of(2, 5, Phase::kReduce), rank.memory());
  EXPECT_EQ(rank.element(at), 8 * element);
  const std::vector<double> after = rank.contents();
  std::int64_t multiplied = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(after[i] == before[i] || after[i] == 8 * before[i]);
    multiplied += after[i] != before[i] ? 1 : 0;
  }
  EXPECT_EQ(multiplied, ParameterLayout(small_model()).total());
}

// One learning rate for all ranks of an attempt, whoever comes first; a rank that had not come when the attempt ended
// does not get it in the next.
TEST(Injector, ALearningRateSpikeIsOneForAllRanksOfAnAttempt) {
  LrSpikeFault spike;
  spike.factor = 10;
  FaultWhen when = some_time();
  when.at.rank = kAllRanks;
  when.at.phase = Phase::kOptimizer;
  FaultPlan plan;
  plan.faults.push_back(fault_of(spike, when));
  RankMemory<float> rank;
  FaultInjector injector = injector_of(plan, no_hooks());
  const auto factor = [&](int r, std::int64_t step, std::uint64_t attempt) {
    const TrainMoment moment = moment_of(r, step, Phase::kOptimizer, attempt);
    injector.strike(moment, rank.memory());
    return injector.lr_factor(moment);
  };
  EXPECT_EQ(factor(1, 4, 0), 1);
  EXPECT_EQ(factor(1, 5, 0), 10);
  EXPECT_EQ(factor(0, 5, 0), 10);
  EXPECT_EQ(factor(0, 6, 0), 1);
  EXPECT_EQ(factor(3, 5, 1), 1);
  EXPECT_EQ(factor(1, 5, 1), 1);
}

TEST(Injector, ACrashAfterAMessageCountsThoseOfThePhase) {
  CrashFault crash;
  FaultWhen when = some_time();
  when.message = 3;
  FaultPlan plan;
  plan.faults.push_back(fault_of(crash, when));
  RankMemory<float> rank;
  std::vector<std::string> words;
  FaultInjector::Hooks hooks = hooks_of([&words](const FaultRecord& record) { words.push_back(record.what); });
  int crashes = 0;
  hooks.crash = [&crashes](int) { ++crashes; };
  FaultInjector injector = injector_of(plan, hooks);
  const auto phase_with_messages = [&](std::int64_t step, Phase phase, int messages) {
    injector.strike(moment_of(2, step, phase), rank.memory());
    for (int i = 0; i < messages; ++i) injector.on_message(2);
  };
  phase_with_messages(4, Phase::kReduce, 5);
  phase_with_messages(5, Phase::kForward, 5);
  phase_with_messages(5, Phase::kReduce, 2);
  EXPECT_EQ(crashes, 0);
  injector.on_message(2);
  EXPECT_EQ(crashes, 1);
  EXPECT_EQ(words, std::vector<std::string>{"the process crashes, after message 3 of the phase"});
  phase_with_messages(5, Phase::kReduce, 5);
  EXPECT_EQ(crashes, 1);
}

// A load has no step: its number takes that place, one for all ranks of an attempt.
TEST(Injector, LoadsAreCounted) {
  FaultWhen when = some_time();
  when.at.step = 2;
  when.at.phase = Phase::kLoad;
  FaultPlan plan;
  plan.faults.push_back(fault_of(CrashFault(), when));
  RankMemory<float> rank;
  FaultInjector::Hooks hooks = no_hooks();
  int crashes = 0;
  hooks.crash = [&crashes](int) { ++crashes; };
  FaultInjector injector = injector_of(plan, hooks);
  for (int r = 0; r < 4; ++r) injector.strike(moment_of(r, 0, Phase::kLoad, 1), rank.memory());
  EXPECT_EQ(crashes, 0);
  for (int r = 0; r < 4; ++r) injector.strike(moment_of(r, 0, Phase::kLoad, 2), rank.memory());
  EXPECT_EQ(crashes, 1);
}

TEST(Injector, ASlowDeviceIsSlowInItsStepsAndInThoseDoneAgain) {
  StragglerFault straggler;
  straggler.numerator = 3;
  straggler.denominator = 2;
  FaultWhen when;
  when.at.rank = 2;
  when.at.step = 3;
  when.until_step = 4;
  FaultPlan plan;
  plan.faults.push_back(fault_of(straggler, when));
  RankMemory<float> rank;
  FaultInjector::Hooks hooks = no_hooks();
  std::string speeds;
  std::string here;
  hooks.slow_down = [&](int, std::int64_t numerator, std::int64_t denominator) {
    speeds += " " + here + ":" + std::to_string(numerator) + "/" + std::to_string(denominator);
  };
  FaultInjector injector = injector_of(plan, hooks);
  for (const std::int64_t step : {1, 2, 3, 4, 5, 6, 3, 4, 5}) {
    here = std::to_string(step);
    injector.strike(moment_of(2, step, Phase::kData), rank.memory());
    injector.strike(moment_of(1, step, Phase::kData), rank.memory());
  }
  EXPECT_EQ(speeds, " 3:3/2 5:1/1 3:3/2 5:1/1");
}

}  // namespace
}  // namespace rehearse
