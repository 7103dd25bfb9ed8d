// A rank that does not take part: every algorithm fails on every other rank, and what it runs side by side leaves
// nothing behind.

#include <gtest/gtest.h>

#include "tests/core/comm/algorithm_cases.h"

namespace rehearse {
namespace {

constexpr Duration kDeadline = Duration::milliseconds(1);

struct Failure {
  bool caught = false;
  CommError::Kind kind = CommError::Kind::kAborted;
  Operation operation = Operation::kPointToPoint;
};

Task<> without(int absent, RankContext& context, const OnBuffer& collective, BufferView buffer, Failure& failure) {
  if (context.rank() != absent) {
    ProcessGroup world = ProcessGroup::world(context, kDeadline);
    try {
      co_await collective(world, buffer);
    } catch (const CommError& error) {
      failure.caught = true;
      failure.kind = error.kind();
      failure.operation = error.operation();
    }
  }
  // A rank that ends breaks its connections: stay until the others have met their own deadlines.
  co_await context.clock().sleep_for(Duration::milliseconds(100));
}

// All ranks but `absent` call.
std::vector<Failure> failures_of(const OnBuffer& collective, int ranks, int absent) {
  PerRank<float> values = uneven_values<float>(31, ranks, 97);
  std::vector<Failure> failures(static_cast<std::size_t>(ranks));
  Ranks world(ranks);
  world.run([&](RankContext& context) {
    const int rank = context.rank();
    return without(absent, context, collective, view_of(values, rank), failures[static_cast<std::size_t>(rank)]);
  });
  return failures;
}

// The sum needs everyone. The error is the deadline's, not that of the other part, which was aborted.
TEST(AlgorithmFailure, AnAbsentRankEndsEveryAllReduceByItsDeadline) {
  for (const int ranks : {2, 3, 4, 7, 8}) {
    for (const AllReduceCase& one : all_reduce_cases(ranks)) {
      for (int absent = 0; absent < ranks; ++absent) {
        const std::vector<Failure> failures = failures_of(one.call(), ranks, absent);
        for (int rank = 0; rank < ranks; ++rank) {
          if (rank == absent) continue;
          const Failure& failure = failures[static_cast<std::size_t>(rank)];
          EXPECT_TRUE(failure.caught) << one.text() << ", " << ranks << " ranks, without " << absent;
          EXPECT_EQ(failure.kind, CommError::Kind::kTimeout) << one.text();
          EXPECT_EQ(failure.operation, Operation::kAllReduce);
        }
      }
    }
  }
}

TEST(AlgorithmFailure, AnAbsentRankEndsEveryReduceScatterByItsDeadline) {
  for (const int ranks : {2, 3, 4, 7, 8}) {
    for (int k = 0; k < kReduceScatterAlgorithms; ++k) {
      const auto algorithm = static_cast<ReduceScatterAlgorithm>(k);
      const auto call = [algorithm](ProcessGroup& group, BufferView buffer) {
        return reduce_scatter(group, buffer, algorithm);
      };
      for (int absent = 0; absent < ranks; ++absent) {
        const std::vector<Failure> failures = failures_of(call, ranks, absent);
        for (int rank = 0; rank < ranks; ++rank) {
          if (rank == absent) continue;
          EXPECT_TRUE(failures[static_cast<std::size_t>(rank)].caught) << name_of(algorithm) << ", " << ranks;
          EXPECT_EQ(failures[static_cast<std::size_t>(rank)].kind, CommError::Kind::kTimeout);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rehearse
