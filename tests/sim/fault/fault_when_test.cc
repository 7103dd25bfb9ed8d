#include "sim/fault/fault_when.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/fault/rank_memory.h"

namespace rehearse {
namespace {

// Where a fault with this `when` strikes in three attempts at steps 1 to 10: "attempt.step".
std::string strikes_of(const FaultWhen& when, std::int64_t last = 10, int attempts = 3) {
  FaultPlan plan;
  plan.faults.push_back(fault_of(some_flip(), when));
  RankMemory<float> rank;
  std::string text;
  std::string here;
  FaultInjector injector = injector_of(plan, hooks_of([&](const FaultRecord&) { text += " " + here; }));
  for (int attempt = 0; attempt < attempts; ++attempt) {
    for (std::int64_t step = 1; step <= last; ++step) {
      here = std::to_string(attempt) + "." + std::to_string(step);
      injector.strike(moment_of(2, step, Phase::kReduce, static_cast<std::uint64_t>(attempt)), rank.memory());
    }
  }
  return text;
}

TEST(FaultWhen, StrikesOnceInAllAttempts) { EXPECT_EQ(strikes_of(some_time()), " 0.5"); }

TEST(FaultWhen, EveryStrikesAgainButNotWhatWasStruck) {
  FaultWhen when = some_time();
  when.every = 3;
  when.count = 0;
  EXPECT_EQ(strikes_of(when), " 0.5 0.8");
}

TEST(FaultWhen, AWindowEndsWithItsLastStep) {
  FaultWhen when = some_time();
  when.until_step = 7;
  when.count = 0;
  EXPECT_EQ(strikes_of(when), " 0.5 0.6 0.7");
  when.count = 2;
  EXPECT_EQ(strikes_of(when), " 0.5 0.6");
}

TEST(FaultWhen, AlwaysStrikesInEveryAttempt) {
  FaultWhen when = some_time();
  when.always = true;
  EXPECT_EQ(strikes_of(when), " 0.5 1.5 2.5");
}

// The draw is of the place: what happened at other places, or in other attempts, changes nothing.
TEST(FaultWhen, ProbabilityIsDrawnFromThePlace) {
  FaultWhen when = some_time();
  when.at.step = 1;
  when.until_step = 4000;
  when.count = 0;
  when.probability = 250'000'000;
  const std::string struck = strikes_of(when, 4000, 1);
  EXPECT_EQ(strikes_of(when, 4000, 2), struck) << "a step that was not struck is not struck when it is done again";
  const auto count = std::count(struck.begin(), struck.end(), ' ');
  // 1000 expected, standard deviation 27.4: five of them.
  EXPECT_NEAR(static_cast<double>(count), 1000, 137);
}

TEST(Injector, ProgressGoesOnInAnotherInjector) {
  FaultWhen when = some_time();
  when.every = 1;
  when.count = 3;
  FaultPlan plan;
  plan.faults.push_back(fault_of(some_flip(), when));
  plan.faults.push_back(fault_of(some_flip()));
  RankMemory<float> rank;
  int struck = 0;
  const auto hooks = hooks_of([&struck](const FaultRecord&) { ++struck; });
  FaultInjector first = injector_of(plan, hooks);
  first.strike(moment_of(2, 5, Phase::kReduce), rank.memory());
  first.strike(moment_of(2, 6, Phase::kReduce), rank.memory());
  EXPECT_EQ(struck, 3);
  FaultInjector second = injector_of(plan, hooks);
  second.set_progress(first.progress());
  for (std::int64_t step = 5; step <= 9; ++step) second.strike(moment_of(2, step, Phase::kReduce), rank.memory());
  EXPECT_EQ(struck, 4) << "step 7 alone is left";
  EXPECT_TRUE(second.not_struck().empty());
}

}  // namespace
}  // namespace rehearse
