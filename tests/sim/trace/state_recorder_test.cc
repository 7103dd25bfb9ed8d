#include "sim/trace/state_recorder.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdio>
#include <map>
#include <tuple>

#include "core/model/layout.h"
#include "tests/sim/trace/runs.h"

namespace rehearse {
namespace {

constexpr std::int64_t kSteps = 3;

std::vector<EventRecord> states_of(const RecordedRun& run, StateComponent component) {
  std::vector<EventRecord> states;
  for (const EventRecord& record : run.records) {
    if (record.kind == EventKind::kState && record.component == component) states.push_back(record);
  }
  return states;
}

class StateRecorderOfRuns : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(StateRecorderOfRuns, HasTheParametersOfEveryRankStepAndTensorOnce) {
  const RecordedRun run = run_capstone(GetParam());
  const ParameterLayout layout(run.scenario.train.model);
  std::map<std::tuple<int, std::int64_t, int>, int> seen;
  for (const EventRecord& state : states_of(run, StateComponent::kParameters)) {
    ASSERT_GE(state.index, 0);
    ASSERT_LT(static_cast<std::size_t>(state.index), layout.tensors().size());
    const std::int64_t numel = layout.tensors()[static_cast<std::size_t>(state.index)].numel;
    EXPECT_EQ(state.size, numel * size_of(run.scenario.train.dtype));
    EXPECT_EQ(state.offset, 0);
    ++seen[{state.rank, state.step, state.index}];
  }
  std::size_t expected = 0;
  for (int rank = 0; rank < run.scenario.ranks; ++rank) {
    for (std::int64_t step = 0; step <= kSteps; ++step) {  // 0: before training
      for (int tensor = 0; tensor < static_cast<int>(layout.tensors().size()); ++tensor) {
        EXPECT_EQ((seen[{rank, step, tensor}]), 1) << rank << " " << step << " " << tensor;
        ++expected;
      }
    }
  }
  EXPECT_EQ(seen.size(), expected);
  std::printf("%zu states of parameters: %s\n", expected, words_of(GetParam()).c_str());
}

TEST_P(StateRecorderOfRuns, ParametersAreTheSameOnAllRanks) {
  const RecordedRun run = run_capstone(GetParam());
  std::map<std::pair<std::int64_t, int>, Digest128> digests;
  for (const EventRecord& state : states_of(run, StateComponent::kParameters)) {
    const auto [place, first] = digests.try_emplace({state.step, state.index}, state.digest);
    EXPECT_EQ(place->second, state.digest) << state.rank << " " << state.step << " " << state.index;
  }
}

// How often each element of each tensor stands in a rank's pieces: over all ranks once with shards, on each rank once
// without.
TEST_P(StateRecorderOfRuns, PiecesCoverEveryTensorExactly) {
  const RecordedRun run = run_capstone(GetParam());
  const ParameterLayout layout(run.scenario.train.model);
  const std::int64_t element = size_of(run.scenario.train.dtype);
  const int copies = run.scenario.train.zero_stage == 0 ? run.scenario.ranks : 1;
  std::size_t pieces = 0;
  for (const StateComponent component :
       {StateComponent::kGradients, StateComponent::kFirstMoment, StateComponent::kSecondMoment}) {
    std::map<std::int64_t, std::vector<int>> covered;  // by step: how often each element of the flat vector
    for (const EventRecord& state : states_of(run, component)) {
      const ParameterInfo& info = layout.tensors()[static_cast<std::size_t>(state.index)];
      auto& elements = covered[state.step];
      elements.resize(static_cast<std::size_t>(layout.total()));
      ASSERT_EQ(state.size % element, 0);
      ASSERT_GT(state.size, 0);
      ASSERT_GE(state.offset, 0);
      ASSERT_LE(state.offset + state.size / element, info.numel);
      for (std::int64_t i = 0; i < state.size / element; ++i) {
        ++elements[static_cast<std::size_t>(info.offset + state.offset + i)];
      }
      ++pieces;
    }
    EXPECT_EQ(covered.size(), static_cast<std::size_t>(kSteps)) << name_of(component);
    for (const auto& [step, elements] : covered) {
      EXPECT_EQ(elements, std::vector<int>(static_cast<std::size_t>(layout.total()), copies))
          << name_of(component) << " of step " << step;
    }
  }
  std::printf("%zu pieces: %s\n", pieces, words_of(GetParam()).c_str());
}

// Numbers stand in the digest's low half as they are.
TEST_P(StateRecorderOfRuns, HasTheNumbersOfEveryStepAndRank) {
  const RecordedRun run = run_capstone(GetParam());
  const auto ranks = static_cast<std::size_t>(run.scenario.ranks);
  for (const StateComponent component : {StateComponent::kLoss, StateComponent::kLearningRate,
                                         StateComponent::kBatchIndex, StateComponent::kAppliedSteps}) {
    const std::vector<EventRecord> states = states_of(run, component);
    EXPECT_EQ(states.size(), ranks * static_cast<std::size_t>(kSteps)) << name_of(component);
    for (const EventRecord& state : states) {
      const StepReport& report = run.record.steps[static_cast<std::size_t>(state.step - 1)].report;
      std::uint64_t expected = 0;
      if (component == StateComponent::kLoss) {
        expected = std::bit_cast<std::uint64_t>(report.rank_losses[static_cast<std::size_t>(state.rank)]);
      } else if (component == StateComponent::kLearningRate) {
        expected = std::bit_cast<std::uint64_t>(report.lr);
      } else if (component == StateComponent::kBatchIndex) {
        expected = static_cast<std::uint64_t>(report.batch_index);
      } else {
        expected = static_cast<std::uint64_t>(report.applied_steps);
      }
      EXPECT_EQ(state.digest, (Digest128{0, expected})) << name_of(component);
      EXPECT_EQ(state.size, 8);
      EXPECT_EQ(state.index, -1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Various, StateRecorderOfRuns, ::testing::ValuesIn(kVariousRuns));

// Stages keep other pieces of the same numbers: the digests of whole tensors are those of the parameters alone.
TEST(StateRecorder, ParametersAndNumbersDoNotDependOnTheStage) {
  const RecordedRun sharded = run_capstone({"train.zero_stage=1"});
  const RecordedRun whole = run_capstone({"train.zero_stage=0"});
  for (const StateComponent component : {StateComponent::kParameters, StateComponent::kLoss,
                                         StateComponent::kLearningRate, StateComponent::kBatchIndex}) {
    std::map<std::tuple<int, std::int64_t, int>, Digest128> digests;
    for (const EventRecord& s : states_of(sharded, component)) digests[{s.rank, s.step, s.index}] = s.digest;
    std::size_t compared = 0;
    for (const EventRecord& s : states_of(whole, component)) {
      EXPECT_EQ((digests[{s.rank, s.step, s.index}]), s.digest) << name_of(component);
      ++compared;
    }
    EXPECT_EQ(compared, digests.size());
  }
}

// By itself: what is recorded is of the bytes that were seen.

// A rank with one tensor of 6 elements of which it updates the last 4.
struct OneTensor {
  OneTensor() : layout(model()) {
    for (std::size_t i = 0; i < 4; ++i) {
      gradients[i] = static_cast<float>(i);
      m[i] = static_cast<float>(i) + 10;
      v[i] = static_cast<float>(i) + 20;
    }
    piece.tensor = 0;
    piece.offset = 2;
    piece.count = 4;
    piece.gradients = reinterpret_cast<const std::byte*>(gradients.data());
    piece.m = reinterpret_cast<const std::byte*>(m.data());
    piece.v = reinterpret_cast<const std::byte*>(v.data());
    view.layout = &layout;
    report.step = 1;
    report.rank_losses = {0.5};
  }
  static ModelConfig model() {
    ModelConfig config;
    config.layers = 1;
    config.embed = 2;
    config.heads = 1;
    config.vocab = 3;
    config.context = 2;
    return config;
  }
  ParameterLayout layout;
  std::array<float, 4> gradients{};
  std::array<float, 4> m{};
  std::array<float, 4> v{};
  ConstShardPiece piece;
  TensorsView view;
  StepReport report;
  std::vector<Digest128> parameter_digests;
};

struct Heard {
  explicit Heard(OneTensor& rank) : recorder(1, rank.parameter_digests) {
    kernel.set_listener(&list);
    recorder.watch(&kernel);
    recorder.on_start(0, 0, rank.view, Digest128());
    recorder.on_reduced(0, 1, std::span(&rank.piece, 1));
    recorder.on_step(0, rank.report, rank.view, std::span(&rank.piece, 1));
  }
  Kernel kernel;
  RecordList list;
  StateRecorder recorder;
};

TEST(StateRecorder, DigestsAreOfTheElementsOfThePieces) {
  OneTensor rank;
  const Heard heard(rank);
  ASSERT_EQ(heard.list.records.size(), 7U);
  const EventRecord& gradients = heard.list.records[0];
  EXPECT_EQ(gradients.component, StateComponent::kGradients);
  EXPECT_EQ(gradients.offset, 2);
  EXPECT_EQ(gradients.size, 16);
  EXPECT_EQ(gradients.digest, xxh3_128(std::as_bytes(std::span(rank.gradients))));
  EXPECT_EQ(heard.list.records[5].component, StateComponent::kFirstMoment);
  EXPECT_EQ(heard.list.records[5].digest, xxh3_128(std::as_bytes(std::span(rank.m))));
  EXPECT_EQ(heard.list.records[6].component, StateComponent::kSecondMoment);
  EXPECT_EQ(heard.list.records[6].digest, xxh3_128(std::as_bytes(std::span(rank.v))));
}

TEST(StateRecorder, LatestFollowsEachComponentAlone) {
  OneTensor rank;
  const StateDigests before = Heard(rank).recorder.latest();
  rank.gradients[3] = 7;
  const StateDigests other_gradients = Heard(rank).recorder.latest();
  EXPECT_NE(other_gradients.gradients, before.gradients);
  EXPECT_EQ(other_gradients.first_moment, before.first_moment);
  EXPECT_EQ(other_gradients.second_moment, before.second_moment);
  rank.v[0] = 7;
  const StateDigests other_v = Heard(rank).recorder.latest();
  EXPECT_EQ(other_v.first_moment, before.first_moment);
  EXPECT_NE(other_v.second_moment, before.second_moment);
}

// Which NaN arithmetic gives depends on the compiler; that it is one does not.
TEST(StateRecorder, AnyNanIsTheSameNan) {
  OneTensor rank;
  rank.report.rank_losses = {std::bit_cast<double>(std::uint64_t{0xfff8000000000001})};
  const Heard negative(rank);
  rank.report.rank_losses = {std::bit_cast<double>(std::uint64_t{0x7ff8000000000000})};
  const Heard positive(rank);
  EXPECT_EQ(negative.list.records[1].component, StateComponent::kLoss);
  EXPECT_EQ(negative.list.records[1].digest, positive.list.records[1].digest);
  EXPECT_EQ(positive.list.records[1].digest.low, 0x7ff8000000000000U);
}

TEST(StateRecorder, NobodyListeningMakesNoDigests) {
  OneTensor rank;
  Kernel kernel;
  StateRecorder recorder(1, rank.parameter_digests);
  recorder.watch(&kernel);
  recorder.on_start(0, 0, rank.view, Digest128());
  recorder.on_reduced(0, 1, std::span(&rank.piece, 1));
  recorder.on_step(0, rank.report, rank.view, std::span(&rank.piece, 1));
  EXPECT_EQ(recorder.latest(), StateDigests());
}

}  // namespace
}  // namespace rehearse
