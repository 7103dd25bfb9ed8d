#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "core/base/numbers.h"
#include "core/base/random.h"
#include "core/formats/json.h"
#include "core/model/layout.h"
#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"
#include "tests/tools/rehearse/diff_fixture.h"

// One bit of one element on one rank, anywhere: diff must name the element, or say rightly that the sum absorbed it.
// What it must say comes from the numbers of a run without the flip and the ring's order of summation (design section
// 7): chunk c is summed in the order of ranks c+1, c+2, ..., c.
//
// A fixed sample of 60 flips of each kind; with REHEARSE_FULL=1 2,000.

namespace rehearse::testing_command {
namespace {

constexpr int kRanks = 4;
constexpr int kSteps = 3;

std::string scenario_text(int zero_stage) {
  return "# Four ranks train for three steps.\n"
         "name: \"flips\"\n"
         "seed: 12\n"
         "cluster { ranks: 4 }\n"
         "model { layers: 1 embed: 16 heads: 2 vocab: 16 context: 8 }\n"
         "data { synthetic { kind: MARKOV states: 12 noise: 0.2 } }\n"
         "train { steps: 3 batch: 2 zero_stage: " +
         std::to_string(zero_stage) + " adam { lr: 0.01 } }\n";
}

using Tensors = std::vector<std::vector<float>>;

// Every rank's own gradients, and what each rank has of their sum.
class Gradients : public TrainObserver {
 public:
  void on_gradients(int rank, std::int64_t step, std::span<const std::int32_t>, const TensorsView&,
                    const TensorsView& gradients) override {
    Tensors& own = own_[at(rank, step)];
    for (int t = 0; t < static_cast<int>(gradients.tensors.size()); ++t) {
      const auto* begin = reinterpret_cast<const float*>(gradients.bytes(t).data());
      own.emplace_back(begin, begin + gradients.bytes(t).size() / sizeof(float));
    }
  }
  void on_reduced(int rank, std::int64_t step, std::span<const ConstShardPiece> pieces) override {
    for (const ConstShardPiece& piece : pieces) {
      const auto* begin = reinterpret_cast<const float*>(piece.gradients);
      sums_[at(rank, step)].push_back({piece.tensor, piece.offset, {begin, begin + piece.count}});
    }
  }

  float own(int rank, std::int64_t step, int tensor, std::int64_t index) const {
    return own_[at(rank, step)][static_cast<std::size_t>(tensor)][static_cast<std::size_t>(index)];
  }
  // Nothing where the rank does not have it.
  std::optional<float> sum(int rank, std::int64_t step, int tensor, std::int64_t index) const {
    for (const Piece& piece : sums_[at(rank, step)]) {
      const std::int64_t place = index - piece.offset;
      if (piece.tensor == tensor && place >= 0 && std::cmp_less(place, piece.values.size())) {
        return piece.values[static_cast<std::size_t>(place)];
      }
    }
    return std::nullopt;
  }

 private:
  struct Piece {
    int tensor;
    std::int64_t offset;
    std::vector<float> values;
  };
  static std::size_t at(int rank, std::int64_t step) { return static_cast<std::size_t>((step - 1) * kRanks + rank); }
  std::array<Tensors, static_cast<std::size_t>(kRanks* kSteps)> own_;
  std::array<std::vector<Piece>, static_cast<std::size_t>(kRanks* kSteps)> sums_;
};

struct Flip {
  int rank = 0;
  std::int64_t step = 0;
  int tensor = 0;
  std::int64_t index = 0;
  int bit = 0;
};

float flipped(float value, int bit) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (std::uint32_t{1} << bit));
}

std::string text_of(float value) {
  char hex[16];
  std::snprintf(hex, sizeof(hex), "0x%08x", std::bit_cast<std::uint32_t>(value));
  return shortest_text(value) + " (" + hex + ")";
}

bool same(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

class DiffFlips : public Diff {
 protected:
  void prepare(int zero_stage) {
    zero_stage_ = zero_stage;
    whole_ = record("whole", scenario_text(zero_stage));
    const Scenario scenario = load_scenario(folder_ / "whole.textproto");
    layout_.emplace(scenario.train.model);
    TrainingHooks hooks;
    hooks.observer = &gradients_;
    ASSERT_EQ(run_training(scenario, std::nullopt, hooks).outcome, Outcome::kDone);
  }

  Flip draw() {
    Flip flip;
    flip.rank = static_cast<int>(random_.below(kRanks));
    flip.step = 1 + static_cast<std::int64_t>(random_.below(kSteps));
    flip.tensor = static_cast<int>(random_.below(layout_->tensors().size()));
    flip.index = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(info(flip).numel)));
    // Every other one small enough to be absorbed.
    flip.bit = static_cast<int>(random_.below(random_.chance(1, 2) ? 3 : 32));
    return flip;
  }
  const ParameterInfo& info(const Flip& flip) const {
    return layout_->tensors()[static_cast<std::size_t>(flip.tensor)];
  }

  // One unit, padded to a multiple of 16 elements a rank.
  int owner_of(const Flip& flip) const {
    const std::int64_t multiple = 16 * kRanks;
    const std::int64_t chunk = (layout_->total() + multiple - 1) / multiple * multiple / kRanks;
    return static_cast<int>((info(flip).offset + flip.index) / chunk);
  }

  Json difference_by(const Flip& flip, const char* phase) {
    const std::string faults =
        "faults { flip { rank: " + std::to_string(flip.rank) + " at { step: " + std::to_string(flip.step) +
        " phase: " + phase + " } target: GRADIENT tensor: \"" + info(flip).name +
        "\" index: " + std::to_string(flip.index) + " bit: " + std::to_string(flip.bit) + " } }\n";
    write_file(folder_ / "flipped.textproto", scenario_text(zero_stage_) + faults);
    const Ran ran = rehearse({"run", folder_ / "flipped.textproto", "--out", folder_ / "flipped", "--force"});
    EXPECT_LE(ran.code, 1) << ran.err;
    const Ran found = rehearse({"diff", whole_, folder_ / "flipped", "--format", "json"});
    EXPECT_LE(found.code, 1) << found.err;
    const Json result = parse_json(found.out.empty() ? "{}" : found.out);
    EXPECT_EQ(found.code, result.value("identical", false) ? 0 : 1);
    return result;
  }

  void expect_state(const Json& found, const Flip& flip, int rank, float a, float b) const {
    Json state = found.value("state", Json());
    ASSERT_TRUE(state.is_object()) << found;
    EXPECT_EQ(state["step"], flip.step);
    EXPECT_EQ(state["rank"], rank);
    EXPECT_EQ(state["component"], "gradients");
    EXPECT_EQ(state["tensor"], info(flip).name);
    EXPECT_EQ(state["index"], flip.index);
    EXPECT_EQ(state["differing"], 1);
    EXPECT_EQ(state["a"], text_of(a));
    EXPECT_EQ(state["b"], text_of(b)) << found;
  }

  static int sample() { return std::getenv("REHEARSE_FULL") != nullptr ? 2000 : 60; }
  std::string trace(const Flip& flip) const {
    return "rank " + std::to_string(flip.rank) + ", step " + std::to_string(flip.step) + ", " + info(flip).name + "[" +
           std::to_string(flip.index) + "], bit " + std::to_string(flip.bit);
  }

  // Of flips of the ranks' own gradients.
  void expect_own_flips_are_told();

  int zero_stage_ = 1;
  std::string whole_;
  std::optional<ParameterLayout> layout_;
  Gradients gradients_;
  RandomStream random_{77};
};

TEST_F(DiffFlips, OfTheSumAreNamedToTheElementOnTheRankThatOwnsIt) {
  prepare(1);
  std::array<int, kRanks> by_rank{};
  for (int i = 0; i < sample(); ++i) {
    Flip flip = draw();
    flip.rank = owner_of(flip);
    SCOPED_TRACE(trace(flip));
    const std::optional<float> sum = gradients_.sum(flip.rank, flip.step, flip.tensor, flip.index);
    ASSERT_TRUE(sum.has_value());
    const Json found = difference_by(flip, "OPTIMIZER");
    if (HasFailure()) return;
    expect_state(found, flip, flip.rank, *sum, flipped(*sum, flip.bit));
    EXPECT_FALSE(found.contains("own_gradient"));
    if (HasFailure()) return;
    ++by_rank[static_cast<std::size_t>(flip.rank)];
  }
  for (const int count : by_rank) EXPECT_GT(count, 0);
  std::printf("%d flips of sums named; by owner %d %d %d %d\n", sample(), by_rank[0], by_rank[1], by_rank[2],
              by_rank[3]);
}

void DiffFlips::expect_own_flips_are_told() {
  int kept = 0;
  int absorbed = 0;
  int unseen = 0;
  int last = 0;
  for (int i = 0; i < sample(); ++i) {
    const Flip flip = draw();
    SCOPED_TRACE(trace(flip));
    const int owner = owner_of(flip);
    float sum = 0;
    float other_sum = 0;
    bool sent = false;  // a message with another value
    for (int k = 1; k <= kRanks; ++k) {
      const int rank = (owner + k) % kRanks;
      const float own = gradients_.own(rank, flip.step, flip.tensor, flip.index);
      const float other_own = rank == flip.rank ? flipped(own, flip.bit) : own;
      sum = k == 1 ? own : sum + own;
      other_sum = k == 1 ? other_own : other_sum + other_own;
      if (rank == flip.rank && rank != owner) sent = !same(sum, other_sum);
    }
    // The oracle adds as the ranks do.
    ASSERT_EQ(gradients_.sum(owner, flip.step, flip.tensor, flip.index), sum);

    const Json found = difference_by(flip, "REDUCE");
    if (HasFailure()) return;
    const bool differs = !same(sum, other_sum);
    EXPECT_EQ(found["identical"], !sent && !differs) << found;
    // In DDP the owner's sum travels as a part of the same all_reduce.
    const bool told = sent || (differs && zero_stage_ == 0);
    EXPECT_EQ(found.contains("own_gradient"), told) << found;
    if (told && found.contains("own_gradient")) {
      const float own = gradients_.own(flip.rank, flip.step, flip.tensor, flip.index);
      EXPECT_EQ(found["own_gradient"]["step"], flip.step);
      EXPECT_EQ(found["own_gradient"]["rank"], flip.rank);
      EXPECT_EQ(found["own_gradient"]["tensor"], info(flip).name);
      EXPECT_EQ(found["own_gradient"]["index"], flip.index);
      EXPECT_EQ(found["own_gradient"]["a"], text_of(own));
      EXPECT_EQ(found["own_gradient"]["b"], text_of(flipped(own, flip.bit)));
      EXPECT_EQ(found["own_gradient"]["absorbed"], !differs);
    }
    if (differs) {
      expect_state(found, flip, zero_stage_ == 1 ? owner : 0, sum, other_sum);
    } else if (sent) {
      EXPECT_TRUE(found.value("state", Json("none")).is_null()) << found;
    }
    if (HasFailure()) return;
    kept += sent && differs ? 1 : 0;
    absorbed += sent && !differs ? 1 : 0;
    unseen += !sent && !differs ? 1 : 0;
    last += !sent && differs ? 1 : 0;
  }
  EXPECT_EQ(kept + absorbed + unseen + last, sample());
  EXPECT_GT(kept, 10);
  EXPECT_GT(last, 2);
  EXPECT_GT(absorbed + unseen, 2);
  std::printf(
      "%d flips of own gradients: %d in sum and message, %d in a message alone, %d by the owner, %d in nothing\n",
      sample(), kept, absorbed, last, unseen);
}

TEST_F(DiffFlips, OfARanksOwnGradientAreToldAsTheSumTakesThem) {
  prepare(1);
  expect_own_flips_are_told();
}

TEST_F(DiffFlips, OfARanksOwnGradientAreToldInDdpToo) {
  prepare(0);
  expect_own_flips_are_told();
}

}  // namespace
}  // namespace rehearse::testing_command
