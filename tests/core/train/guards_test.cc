#include "core/train/guards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/train/recovery_policy.h"
#include "core/train/state_seal.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

StepReport step_with(double loss, std::int64_t nonfinite = 0, double grad_norm = 1) {
  StepReport report;
  report.loss = loss;
  report.rank_losses = {loss, loss};
  report.nonfinite_elements = nonfinite;
  report.grad_norm = grad_norm;
  return report;
}

GuardHistory history_of(std::vector<double> losses, std::int64_t skips = 0) {
  GuardHistory history;
  history.losses = std::move(losses);
  history.consecutive_skips = skips;
  return history;
}

GuardConfig both_guards() {
  GuardConfig config;
  config.nonfinite = Reaction::kSkipStep;
  config.loss_spike = Reaction::kRollback;
  return config;
}

Reaction reaction_to(const StepReport& report, const GuardHistory& history, const GuardConfig& config = both_guards(),
                     std::int64_t rollbacks = 0) {
  return judge_step(config, report, history, rollbacks).reaction;
}

TEST(Guards, WithoutAnyEverythingGoesOn) {
  EXPECT_EQ(reaction_to(step_with(kNan, 5, kInf), history_of({1}), GuardConfig()), Reaction::kGoOn);
  EXPECT_FALSE(GuardConfig().any());
}

TEST(Guards, NonFiniteLossGradientOrNormIsSeen) {
  EXPECT_EQ(reaction_to(step_with(1), history_of({1})), Reaction::kGoOn);
  EXPECT_EQ(reaction_to(step_with(kNan), history_of({1})), Reaction::kSkipStep);
  EXPECT_EQ(reaction_to(step_with(kInf), history_of({1})), Reaction::kSkipStep);
  EXPECT_EQ(reaction_to(step_with(1, 1), history_of({1})), Reaction::kSkipStep);
  // Squares may overflow where no element is infinite.
  EXPECT_EQ(reaction_to(step_with(1, 0, kInf), history_of({1})), Reaction::kSkipStep);
}

TEST(Guards, OneRanksLossIsNamed) {
  StepReport report = step_with(kNan);
  report.rank_losses = {1.0, kNan};
  EXPECT_THAT(judge_step(both_guards(), report, history_of({1}), 0).reason, HasSubstr("loss of rank 1"));
}

TEST(Guards, ASpikeIsOverTheFactorAndNotAtIt) {
  EXPECT_EQ(reaction_to(step_with(4), history_of({2})), Reaction::kGoOn);
  EXPECT_EQ(reaction_to(step_with(std::nextafter(4.0, 5.0)), history_of({2})), Reaction::kRollback);
}

TEST(Guards, TheFirstStepHasNothingToCompareWith) {
  EXPECT_EQ(reaction_to(step_with(1e30), GuardHistory()), Reaction::kGoOn);
}

TEST(Guards, ASlowRiseIsSeenByTheMedianAlone) {
  const GuardHistory history = history_of({1, 1, 1.5, 1.9});
  EXPECT_EQ(reaction_to(step_with(2.1), history), Reaction::kGoOn);
  GuardConfig config = both_guards();
  config.median_window = 4;
  EXPECT_EQ(reaction_to(step_with(2.1), history, config), Reaction::kRollback) << "the median is 1, the lower middle";
  config.median_window = 5;
  EXPECT_EQ(reaction_to(step_with(2.1), history, config), Reaction::kGoOn) << "too few losses for a median";
}

TEST(Guards, TooManySkipsInARowGoBack) {
  EXPECT_EQ(reaction_to(step_with(kNan), history_of({1}, 2)), Reaction::kSkipStep);
  EXPECT_EQ(reaction_to(step_with(kNan), history_of({1}, 3)), Reaction::kRollback);
}

TEST(Guards, TooManyRollbacksStop) {
  EXPECT_EQ(reaction_to(step_with(9), history_of({1}), both_guards(), 2), Reaction::kRollback);
  EXPECT_EQ(reaction_to(step_with(9), history_of({1}), both_guards(), 3), Reaction::kStop);
  EXPECT_EQ(reaction_to(step_with(kNan), history_of({1}, 3), both_guards(), 3), Reaction::kStop);
}

// Defect reported in the field: one NaN poisons the running statistics for ever.
TEST(Guards, ANanNeverEntersTheHistory) {
  GuardConfig config = both_guards();
  config.nonfinite.reset();
  config.median_window = 2;
  GuardHistory history;
  for (const double loss : {1.0, kNan, 2.0, kInf}) note_applied(config, loss, history);
  EXPECT_EQ(history.losses, (std::vector<double>{1.0, 2.0}));
}

TEST(Guards, TheHistoryIsAsLongAsItIsNeeded) {
  GuardConfig config = both_guards();
  GuardHistory history;
  for (const double loss : {1.0, 2.0, 3.0}) note_applied(config, loss, history);
  EXPECT_EQ(history.losses, std::vector<double>{3.0});
  config.median_window = 2;
  note_applied(config, 4.0, history);
  note_applied(config, 5.0, history);
  EXPECT_EQ(history.losses, (std::vector<double>{4.0, 5.0}));
}

TEST(Guards, AnAppliedStepEndsTheRowOfSkips) {
  GuardHistory history;
  note_skipped(history);
  note_skipped(history);
  EXPECT_EQ(history.consecutive_skips, 2);
  note_applied(both_guards(), 1, history);
  EXPECT_EQ(history.consecutive_skips, 0);
}

RecoveryPoint point(std::int64_t step, bool trusted, bool avoided = false) {
  RecoveryPoint point;
  point.step = step;
  point.trusted = trusted;
  point.avoided = avoided;
  return point;
}

TEST(Guards, ChangedStateIsNamedBeforeAnythingThatFollowsFromIt) {
  GuardConfig config = both_guards();
  config.corruption = Reaction::kEvict;
  StepReport report = step_with(kNan);
  report.changed_state = {0, kMasterPart | kSecondMomentPart, 0, kParametersPart};
  const Judgement judgement = judge_step(config, report, history_of({1}), 0);
  EXPECT_EQ(judgement.reaction, Reaction::kEvict);
  EXPECT_EQ(judgement.convicted, (std::vector<int>{1, 3}));
  EXPECT_EQ(judgement.reason,
            "the master weights and second moments of rank 1, the parameters of rank 3 are not what the last update "
            "left");
  report.changed_state = {0, 0, 0, 0};
  EXPECT_EQ(judge_step(config, report, history_of({1}), 0).reaction, Reaction::kSkipStep);
}

GradientDispute dispute(int owner, int checker, int third, int wrong) {
  GradientDispute one;
  one.owner = owner;
  one.checker = checker;
  one.third = third;
  one.wrong = wrong;
  one.units = {0};
  return one;
}

TEST(Guards, AWrongGradientConvictsWhoeverIsWrong) {
  GuardConfig config = both_guards();
  config.corruption = Reaction::kEvict;
  StepReport report = step_with(kNan);
  report.changed_state = {0, 0, 0, kParametersPart};
  report.disputes = {dispute(1, 0, 2, 1), dispute(2, 3, 1, 3)};
  const Judgement judgement = judge_step(config, report, history_of({1}), 0);
  EXPECT_EQ(judgement.reaction, Reaction::kEvict);
  EXPECT_EQ(judgement.convicted, (std::vector<int>{1, 3}));
  EXPECT_EQ(judgement.reason,
            "the parameters of rank 3 are not what the last update left; the gradient of rank 1 is not what ranks 0 "
            "and 2 make of its tokens (unit 0); rank 3 does not make of the tokens of rank 2 the gradient that ranks 2 "
            "and 1 make (unit 0)");
}

TEST(Guards, WhereNobodyIsConvictedAnEvictionIsARollback) {
  GuardConfig config = both_guards();
  StepReport report = step_with(1);
  report.disputes = {dispute(1, 0, -1, -1)};
  for (const auto& [policy, expected] :
       {std::pair(Reaction::kEvict, Reaction::kRollback), std::pair(Reaction::kRollback, Reaction::kRollback),
        std::pair(Reaction::kStop, Reaction::kStop),
        std::pair(Reaction::kRollbackAndSkipBatches, Reaction::kRollbackAndSkipBatches)}) {
    config.corruption = policy;
    const Judgement judgement = judge_step(config, report, history_of({1}), 0);
    EXPECT_EQ(judgement.reaction, expected);
    EXPECT_TRUE(judgement.convicted.empty());
  }
  config.corruption = Reaction::kEvict;
  EXPECT_EQ(judge_step(config, report, history_of({1}), config.max_rollbacks).reaction, Reaction::kStop);
  config.corruption.reset();
  EXPECT_EQ(judge_step(config, report, history_of({1}), 0).reaction, Reaction::kGoOn);
}

TEST(StandardPolicy, GoesToTheNewestTrustedCheckpointThatIsNotAvoided) {
  const StandardPolicy policy(both_guards(), 8, Duration::seconds(1));
  const std::vector<RecoveryPoint> points = {point(5, true), point(10, true), point(15, true, true), point(20, false)};
  EXPECT_EQ(policy.order(points), (std::vector<std::int64_t>{10, 5}));
  EXPECT_EQ(policy.must_keep(points), (std::vector<std::int64_t>{10}));
  EXPECT_TRUE(policy.order({point(20, false)}).empty());
}

TEST(StandardPolicy, TrustsAtOnceWhereThereAreNoGuards) {
  EXPECT_TRUE(StandardPolicy(GuardConfig(), 8, Duration()).trusts_at_once());
  EXPECT_FALSE(StandardPolicy(both_guards(), 8, Duration()).trusts_at_once());
}

TEST(StandardPolicy, RestartsAsOftenAsAllowed) {
  const StandardPolicy policy(GuardConfig(), 2, Duration::seconds(7));
  JobFailure failure;
  failure.restarts = 1;
  EXPECT_TRUE(policy.on_failure(failure).restart);
  EXPECT_EQ(policy.on_failure(failure).delay, Duration::seconds(7));
  failure.restarts = 2;
  EXPECT_FALSE(policy.on_failure(failure).restart);
}

}  // namespace
}  // namespace rehearse
