#include "sim/trace/state_difference.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/trace/records.h"

namespace rehearse {
namespace {

constexpr int kRanks = 2;
constexpr int kTensors = 3;

// What a run says of its state in the order of cause; within a component by rank and tensor.
constexpr std::array kCauses = {StateComponent::kBatchIndex,   StateComponent::kLearningRate,
                                StateComponent::kAppliedSteps, StateComponent::kLoss,
                                StateComponent::kGradients,    StateComponent::kFirstMoment,
                                StateComponent::kSecondMoment, StateComponent::kParameters};

bool has_tensors(StateComponent component) {
  return component == StateComponent::kGradients || component == StateComponent::kFirstMoment ||
         component == StateComponent::kSecondMoment || component == StateComponent::kParameters;
}

std::vector<EventRecord> states_of_step(std::int64_t step) {
  RandomStream random(static_cast<std::uint64_t>(step));
  std::vector<EventRecord> states;
  for (const StateComponent component : kCauses) {
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int tensor = 0; tensor < (has_tensors(component) ? kTensors : 1); ++tensor) {
        EventRecord state(EventKind::kState);
        state.step = step;
        state.rank = rank;
        state.component = component;
        if (has_tensors(component)) {
          state.index = tensor;
          state.offset = component == StateComponent::kParameters ? 0 : 16 * rank;
        }
        state.size = 64;
        state.digest = Digest128{random.next_u64(), random.next_u64()};
        states.push_back(state);
      }
    }
  }
  return states;
}

std::vector<EventRecord> states_of_steps(std::int64_t first, std::int64_t last) {
  std::vector<EventRecord> states;
  for (std::int64_t step = first; step <= last; ++step) {
    for (const EventRecord& state : states_of_step(step)) states.push_back(state);
  }
  return states;
}

std::optional<StateDifference> compare(const std::vector<EventRecord>& a, const std::vector<EventRecord>& b) {
  ListSource source_a(a);
  ListSource source_b(b);
  return first_state_difference(source_a, source_b);
}

// Another run of the same job: every state at another time, those of one step in another order, and other events
// between them.
std::vector<EventRecord> interleaved(std::vector<EventRecord> states, std::uint64_t seed) {
  RandomStream random(seed);
  for (auto begin = states.begin(); begin != states.end();) {
    const auto end =
        std::find_if(begin, states.end(), [&](const EventRecord& state) { return state.step != begin->step; });
    for (auto count = end - begin; count > 1; --count) {
      std::swap(begin[count - 1], begin[static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint64_t>(count)))]);
    }
    begin = end;
  }
  std::vector<EventRecord> records;
  std::int64_t time = 0;
  for (EventRecord& state : states) {
    if (random.chance(1, 2)) {
      records.push_back(likely_record(random));
      if (records.back().kind == EventKind::kState) records.back().kind = EventKind::kPhase;
    }
    time += static_cast<std::int64_t>(random.below(1000));
    state.time = at_ps(time);
    state.sequence = records.size() + 1;
    state.phase = Phase::kEnd;
    records.push_back(state);
  }
  return records;
}

TEST(StateDifference, EqualStatesHaveNone) {
  EXPECT_FALSE(compare({}, {}).has_value());
  EXPECT_FALSE(compare(states_of_steps(0, 4), states_of_steps(0, 4)).has_value());
}

TEST(StateDifference, LogsWithoutStatesHaveNone) {
  std::vector<EventRecord> a = likely_records(20, 1);
  for (EventRecord& record : a) record.kind = EventKind::kDevice;
  EXPECT_FALSE(compare(a, {}).has_value());
}

TEST(StateDifference, WhenAStateWasRecordedDoesNotMatter) {
  const std::vector<EventRecord> states = states_of_steps(0, 4);
  constexpr int kInterleavings = 200;
  for (int seed = 0; seed < kInterleavings; ++seed) {
    EXPECT_FALSE(compare(states, interleaved(states, static_cast<std::uint64_t>(seed))).has_value()) << seed;
  }
  std::printf("%d interleavings of %zu states\n", kInterleavings, states.size());
}

// Of two states that differ, the one that comes first in the order of cause is found, wherever the log has them.
TEST(StateDifference, WithinAStepTheCauseComesFirst) {
  const std::vector<EventRecord> a = states_of_step(7);
  int pairs = 0;
  for (std::size_t first = 0; first < a.size(); ++first) {
    for (std::size_t second = first; second < a.size(); ++second) {
      std::vector<EventRecord> b = a;
      b[first].digest.high ^= 1;
      b[second].digest.low ^= 1;
      std::reverse(b.begin(), b.end());
      const std::optional<StateDifference> difference = compare(a, b);
      ASSERT_TRUE(difference.has_value()) << first << " " << second;
      EXPECT_EQ(difference->component, a[first].component) << first << " " << second;
      EXPECT_EQ(difference->rank, a[first].rank) << first << " " << second;
      EXPECT_EQ(difference->tensor, a[first].index) << first << " " << second;
      ++pairs;
    }
  }
  std::printf("%d pairs of states that differ\n", pairs);
}

TEST(StateDifference, SaysWhatItIsOfAndWhatBothSidesHave) {
  const std::vector<EventRecord> a = states_of_steps(1, 3);
  std::vector<EventRecord> b = a;
  const auto changed = std::find_if(b.begin(), b.end(), [](const EventRecord& state) {
    return state.step == 2 && state.component == StateComponent::kFirstMoment && state.rank == 1 && state.index == 2;
  });
  ASSERT_NE(changed, b.end());
  changed->digest.low ^= 1;
  const std::optional<StateDifference> difference = compare(a, interleaved(b, 5));
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->step, 2);
  EXPECT_EQ(difference->rank, 1);
  EXPECT_EQ(difference->component, StateComponent::kFirstMoment);
  EXPECT_EQ(difference->tensor, 2);
  EXPECT_EQ(difference->offset, 16);
  ASSERT_TRUE(difference->a.has_value());
  ASSERT_TRUE(difference->b.has_value());
  EXPECT_EQ(difference->a->digest, a[static_cast<std::size_t>(changed - b.begin())].digest);
  EXPECT_EQ(difference->b->digest, changed->digest);
}

TEST(StateDifference, AnEarlierStepComesFirstHoweverFarDownTheCause) {
  const std::vector<EventRecord> a = states_of_steps(1, 3);
  std::vector<EventRecord> b = a;
  b.back().digest.low ^= 1;  // the parameters of step 3
  EXPECT_EQ(compare(a, b)->step, 3);
  const std::size_t per_step = states_of_step(1).size();
  b[2 * per_step].digest.low ^= 1;      // the batch index of step 3
  b[2 * per_step - 1].digest.low ^= 1;  // the parameters of step 2
  EXPECT_EQ(compare(a, b)->step, 2);
  EXPECT_EQ(compare(a, b)->component, StateComponent::kParameters);
}

TEST(StateDifference, AnotherSizeWithTheSameDigestDiffers) {
  const std::vector<EventRecord> a = states_of_step(1);
  std::vector<EventRecord> b = a;
  b[3].size = 128;
  EXPECT_TRUE(compare(a, b).has_value());
}

// Each state of a step in turn is missing on one side.
TEST(StateDifference, AStateThatOneSideDoesNotHaveIsFound) {
  const std::vector<EventRecord> whole = states_of_steps(1, 2);
  for (std::size_t missing = 0; missing < whole.size(); ++missing) {
    std::vector<EventRecord> without = whole;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(missing));
    const std::optional<StateDifference> in_b = compare(whole, interleaved(without, missing));
    ASSERT_TRUE(in_b.has_value()) << missing;
    EXPECT_EQ(in_b->a, whole[missing]);
    EXPECT_EQ(in_b->b, std::nullopt);
    const std::optional<StateDifference> in_a = compare(without, whole);
    ASSERT_TRUE(in_a.has_value()) << missing;
    EXPECT_EQ(in_a->a, std::nullopt);
    EXPECT_EQ(in_a->b, whole[missing]);
    EXPECT_EQ(in_a->step, whole[missing].step);
  }
  std::printf("%zu states were missing once on each side\n", whole.size());
}

TEST(StateDifference, ARunThatEndedEarlierDiffersInTheFirstStateItDoesNotHave) {
  const std::optional<StateDifference> difference = compare(states_of_steps(1, 3), states_of_steps(1, 2));
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->step, 3);
  EXPECT_EQ(difference->component, StateComponent::kBatchIndex);
  EXPECT_EQ(difference->rank, 0);
  EXPECT_EQ(difference->b, std::nullopt);
}

// After a rollback the steps come once more: the second attempt is a state of its own.
TEST(StateDifference, ASecondAttemptIsComparedWithTheSecond) {
  std::vector<EventRecord> a = states_of_steps(1, 3);
  for (const EventRecord& state : states_of_steps(2, 4)) a.push_back(state);
  std::vector<EventRecord> b = a;
  EXPECT_FALSE(compare(a, b).has_value());
  b.back().digest.low ^= 1;
  EXPECT_EQ(compare(a, b)->step, 4);
}

}  // namespace
}  // namespace rehearse
