#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/determinism/resumed_job.h"

// D4 of Adam's moments, piece by piece: see checkpoint_parts_test.cc.

namespace rehearse::testing_determinism {
namespace {

struct MomentPart {
  StateComponent component;
  std::vector<float> EditedCheckpoint::ShardState::*values;
};
constexpr MomentPart kMoments[] = {{StateComponent::kFirstMoment, &EditedCheckpoint::ShardState::m},
                                   {StateComponent::kSecondMoment, &EditedCheckpoint::ShardState::v}};

// Zeroes each piece of each moment alone. `named` says on which rank the difference of a rank's piece is seen first.
template <class Named>
void expect_each_moment_is_missed(const ResumedJob& job, const Named& named) {
  int dropped = 0;
  int zero = 0;
  for (const MomentPart& part : kMoments) {
    for (const SavedPiece& piece : saved_pieces(job.edit().manifest)) {
      EditedCheckpoint edited = job.edit();
      EditedCheckpoint::ShardState state = edited.shard(piece.rank);
      const auto begin = (state.*part.values).begin() + piece.index;
      // Rows of tokens that the data do not have never had a gradient.
      if (std::all_of(begin, begin + piece.count, [](float value) { return value == 0; })) {
        ++zero;
        continue;
      }
      std::fill(begin, begin + piece.count, 0.0F);
      edited.set_shard(piece.rank, state);
      SCOPED_TRACE(std::string(name_of(part.component)) + " of tensor " + std::to_string(piece.tensor) + " on rank " +
                   std::to_string(piece.rank));
      const std::int64_t step = edited.manifest.step;
      expect_named(job.difference_after(edited.as_step(step)), step + 1, part.component, named(piece.rank),
                   piece.tensor);
      ++dropped;
    }
  }
  EXPECT_GT(dropped, 2 * static_cast<int>(job.edit().manifest.parameters.size()) - 4);
  std::printf("%d pieces of moments dropped, %d were zero\n", dropped, zero);
}

TEST(CheckpointMoments, OfZero1AreMissedOnTheRankThatHoldsThem) {
  expect_each_moment_is_missed(ResumedJob("capstone", {}, 10), [](int rank) { return rank; });
}

TEST(CheckpointMoments, OfDdpAreMissedOnEveryRankWhoeverSavedThem) {
  expect_each_moment_is_missed(ResumedJob("capstone", {"train.zero_stage=0"}, 10), [](int) { return 0; });
}

TEST(CheckpointMoments, InManyUnitsAreMissedOnTheRankThatHoldsThem) {
  expect_each_moment_is_missed(ResumedJob("seven_ranks", {}, 6), [](int rank) { return rank; });
}

}  // namespace
}  // namespace rehearse::testing_determinism
