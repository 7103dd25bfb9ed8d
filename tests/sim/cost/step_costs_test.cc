// What a made-up course of events adds up to: by hand.

#include "sim/cost/step_costs.h"

#include <gtest/gtest.h>

namespace rehearse {
namespace {

TimePoint at(std::int64_t ps) { return TimePoint::at(Duration::picoseconds(ps)); }
Duration ps(std::int64_t count) { return Duration::picoseconds(count); }

// Two ranks and what they tell.
class Course {
 public:
  void phase(int rank, std::int64_t now, std::int64_t step, Phase phase) { costs.on_phase(rank, step, phase, at(now)); }
  void begin(int rank, std::int64_t now, std::uint64_t sequence, std::int64_t elements = 8) {
    costs.on_collective_begin(rank, call(sequence, elements), Bytes(4 * elements), at(now));
  }
  void end(int rank, std::int64_t now, std::uint64_t sequence) {
    costs.on_collective_end(rank, call(sequence, 8), at(now));
  }
  void compute(int rank, std::int64_t from, std::int64_t to) { costs.on_compute(rank, at(from), at(to)); }

 private:
  Call call(std::uint64_t sequence, std::int64_t elements) {
    Call one(group_, sequence, Operation::kAllReduce);
    one.elements = elements;
    one.unit = 0;
    return one;
  }
  Group group_ = Group(0, 0, GroupRanks::every(0, 1, 2), 0);

 public:
  StepCosts costs{2};
};

// Rank 0 computes for 30, rank 1 for 50; a collective takes 10 from when rank 1 has come.
void one_step(Course& course, std::int64_t start, std::int64_t step) {
  for (const int rank : {0, 1}) course.phase(rank, start, step, Phase::kForward);
  course.compute(0, start, start + 30);
  course.compute(1, start, start + 50);
  course.begin(0, start + 30, static_cast<std::uint64_t>(step));
  course.begin(1, start + 50, static_cast<std::uint64_t>(step));
  for (const int rank : {0, 1}) course.end(rank, start + 60, static_cast<std::uint64_t>(step));
}

TEST(StepCosts, SplitARanksTime) {
  Course course;
  one_step(course, 100, 1);
  for (const int rank : {0, 1}) course.phase(rank, 165, 1, Phase::kEnd);
  EXPECT_EQ(course.costs.steps(), 1);
  EXPECT_EQ(course.costs.rank_steps(), 2);
  const TimeSplit& split = course.costs.split();
  EXPECT_EQ(split.computing, ps(30 + 50));
  EXPECT_EQ(split.overlapped, ps(0));
  EXPECT_EQ(split.waiting, ps(20));
  EXPECT_EQ(split.exposed, ps(10 + 10));
  EXPECT_EQ(split.other, ps(5 + 5));
  EXPECT_EQ(split.whole(), ps(2 * 65));
}

TEST(StepCosts, TellHiddenFromExposedCommunication) {
  Course course;
  for (const int rank : {0, 1}) {
    course.phase(rank, 0, 1, Phase::kBackward);
    course.compute(rank, 0, 40);
    course.begin(rank, 10, 1);
  }
  for (const int rank : {0, 1}) course.end(rank, 70, 1);
  for (const int rank : {0, 1}) course.phase(rank, 70, 1, Phase::kEnd);
  EXPECT_EQ(course.costs.split().computing, ps(2 * 10));
  EXPECT_EQ(course.costs.split().overlapped, ps(2 * 30));
  EXPECT_EQ(course.costs.split().exposed, ps(2 * 30));
}

// Two at once: a rank waits only while it does so in both.
TEST(StepCosts, WaitOnlyWhereEveryCallWaits) {
  Course course;
  for (const int rank : {0, 1}) course.phase(rank, 0, 1, Phase::kReduce);
  course.begin(0, 0, 1);
  course.begin(0, 0, 2);
  course.begin(1, 10, 1);
  course.begin(1, 30, 2);
  for (const int rank : {0, 1}) {
    course.end(rank, 20, 1);
    course.end(rank, 40, 2);
    course.phase(rank, 40, 1, Phase::kEnd);
  }
  // Rank 0 waits in both, then in one of two, in the only one, in none; rank 1 is in no call but from 10 to 20 and from
  // 30 on.
  EXPECT_EQ(course.costs.split().waiting, ps(10 + 10));
  EXPECT_EQ(course.costs.split().exposed, ps(10 + 10 + 10 + 10));
  EXPECT_EQ(course.costs.split().other, ps(10 + 10));
}

TEST(StepCosts, TimeCallsFromTheLastRanksComing) {
  Course course;
  one_step(course, 0, 1);
  one_step(course, 100, 2);
  for (const int rank : {0, 1}) course.phase(rank, 200, 2, Phase::kEnd);
  ASSERT_EQ(course.costs.rows().size(), 1u);
  const CallRow& row = course.costs.rows()[0];
  EXPECT_EQ(row.calls, 2);
  EXPECT_EQ(row.late, ps(40));
  EXPECT_EQ(row.time, ps(20));
  EXPECT_EQ(row.shortest, ps(10));
  EXPECT_EQ(row.longest, ps(10));
  EXPECT_TRUE(row.of_model);
  EXPECT_EQ(row.size, Bytes(32));
}

TEST(StepCosts, KeepSizesApart) {
  Course course;
  for (const int rank : {0, 1}) course.phase(rank, 0, 1, Phase::kReduce);
  for (const int rank : {0, 1}) course.begin(rank, 0, 1, 8);
  for (const int rank : {0, 1}) course.begin(rank, 0, 2, 16);
  for (const int rank : {0, 1}) {
    course.end(rank, 1, 1);
    course.end(rank, 2, 2);
    course.phase(rank, 2, 1, Phase::kEnd);
  }
  EXPECT_EQ(course.costs.rows().size(), 2u);
}

TEST(StepCosts, FollowTheCriticalPathToTheLateRank) {
  Course course;
  one_step(course, 100, 1);
  for (const int rank : {0, 1}) course.phase(rank, 165, 1, Phase::kEnd);
  const std::vector<PathPiece>& path = course.costs.critical_path();
  ASSERT_EQ(path.size(), 3u);
  EXPECT_EQ(path[0].kind, PathPiece::Kind::kOther);
  EXPECT_EQ(path[0].time, ps(5));
  EXPECT_EQ(path[1].kind, PathPiece::Kind::kCollective);
  EXPECT_EQ(path[1].time, ps(10));
  EXPECT_EQ(path[2].kind, PathPiece::Kind::kCompute);
  EXPECT_EQ(path[2].rank, 1);
  EXPECT_EQ(path[2].time, ps(50));
  EXPECT_EQ(course.costs.path_step(), 1);
}

TEST(StepCosts, ForgetTheStepThatARestartCutsShort) {
  Course course;
  one_step(course, 0, 1);
  course.costs.on_restart(2, at(1000));
  one_step(course, 2000, 1);
  for (const int rank : {0, 1}) course.phase(rank, 2060, 1, Phase::kEnd);
  EXPECT_EQ(course.costs.steps(), 1);
  EXPECT_EQ(course.costs.split().whole(), ps(2 * 60));
  EXPECT_EQ(course.costs.rows()[0].calls, 1);
}

TEST(StepCosts, LeaveOutWhatComesBeforeTheFirstStep) {
  Course course;
  for (const int rank : {0, 1}) course.phase(rank, 0, 0, Phase::kStart);
  for (const int rank : {0, 1}) course.begin(rank, 0, 9);
  for (const int rank : {0, 1}) course.end(rank, 50, 9);
  one_step(course, 100, 1);
  for (const int rank : {0, 1}) course.phase(rank, 160, 1, Phase::kEnd);
  ASSERT_EQ(course.costs.rows().size(), 1u);
  EXPECT_EQ(course.costs.rows()[0].calls, 1);
  EXPECT_EQ(course.costs.split().whole(), ps(2 * 60));
}

TEST(StepCosts, OfAnEmptyRunAreNothing) {
  StepCosts costs(2);
  EXPECT_EQ(costs.steps(), 0);
  EXPECT_TRUE(costs.rows().empty());
  EXPECT_TRUE(costs.critical_path().empty());
}

}  // namespace
}  // namespace rehearse
