#include "sim/fault/injector.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <cstring>

namespace rehearse {
namespace {

constexpr std::array kPhases = {Phase::kStart,     Phase::kData,   Phase::kForward,    Phase::kBackward, Phase::kReduce,
                                Phase::kOptimizer, Phase::kGather, Phase::kCheckpoint, Phase::kLoad,     Phase::kEnd};
constexpr std::array kTargets = {FaultTarget::kGradient, FaultTarget::kParameter, FaultTarget::kMaster,
                                 FaultTarget::kFirstMoment, FaultTarget::kSecondMoment};

ModelConfig small_model() {
  ModelConfig model;
  model.layers = 1;
  model.embed = 4;
  model.heads = 2;
  model.vocab = 5;
  model.context = 3;
  return model;
}

// A rank's memory, every element another number, so that whatever is written in the wrong place shows. The rank updates
// two pieces of ln_f.weight and head.weight that do not begin with the tensors.
template <class T>
class RankMemory {
 public:
  RankMemory() : layout_(small_model()) {
    for (const ParameterInfo& info : layout_.tensors()) {
      parameters_.push_back(numbers(info.numel));
      gradients_.push_back(numbers(info.numel));
    }
    add_piece("ln_f.weight", 1, 2);
    add_piece("head.weight", 3, 10);
    for (std::vector<T>& tensor : parameters_) memory_.parameters.push_back(bytes(tensor));
    for (std::vector<T>& tensor : gradients_) memory_.gradients.push_back(bytes(tensor));
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      pieces_[i].gradients = memory_.gradients[static_cast<std::size_t>(pieces_[i].tensor)] +
                             pieces_[i].offset * static_cast<std::int64_t>(sizeof(T));
      pieces_[i].master = bytes(held_[3 * i]);
      pieces_[i].m = bytes(held_[3 * i + 1]);
      pieces_[i].v = bytes(held_[3 * i + 2]);
    }
    memory_.layout = &layout_;
    memory_.dtype = dtype_of<T>;
    memory_.pieces = pieces_;
  }

  const StateMemory& memory() const { return memory_; }
  int tensor(const std::string& name) const { return layout_.find(name); }

  // The element that a flip is to strike.
  T& element(const FlipFault& flip) {
    const auto tensor = static_cast<std::size_t>(flip.tensor);
    if (flip.target == FaultTarget::kParameter) return parameters_[tensor][static_cast<std::size_t>(flip.index)];
    if (flip.target == FaultTarget::kGradient) return gradients_[tensor][static_cast<std::size_t>(flip.index)];
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].tensor != flip.tensor) continue;
      const std::size_t kind =
          flip.target == FaultTarget::kMaster ? 0 : (flip.target == FaultTarget::kFirstMoment ? 1 : 2);
      return held_[3 * i + kind][static_cast<std::size_t>(flip.index - pieces_[i].offset)];
    }
    ADD_FAILURE() << "no such piece";
    return parameters_[0][0];
  }

  // All of it, for comparison.
  std::vector<T> contents() const {
    std::vector<T> all;
    for (const auto* tensors : {&parameters_, &gradients_, &held_}) {
      for (const std::vector<T>& tensor : *tensors) all.insert(all.end(), tensor.begin(), tensor.end());
    }
    return all;
  }

 private:
  std::vector<T> numbers(std::int64_t count) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(++last_) / 7);
    return values;
  }
  void add_piece(const std::string& name, std::int64_t offset, std::int64_t count) {
    ShardPiece piece;
    piece.tensor = tensor(name);
    piece.offset = offset;
    piece.count = count;
    pieces_.push_back(piece);
    for (int i = 0; i < 3; ++i) held_.push_back(numbers(count));
  }
  static std::byte* bytes(std::vector<T>& values) { return reinterpret_cast<std::byte*>(values.data()); }

  ParameterLayout layout_;
  int last_ = 0;
  std::vector<std::vector<T>> parameters_;
  std::vector<std::vector<T>> gradients_;
  std::vector<std::vector<T>> held_;  // of each piece: master, m, v
  std::vector<ShardPiece> pieces_;
  StateMemory memory_;
};

// The bits of `a` and `b` that differ, added up over all their elements.
template <class T>
int differing_bits(const std::vector<T>& a, const std::vector<T>& b) {
  EXPECT_EQ(a.size(), b.size());
  int bits = 0;
  for (std::size_t i = 0; i < a.size() * sizeof(T); ++i) {
    std::uint8_t one = 0;
    std::uint8_t other = 0;
    std::memcpy(&one, reinterpret_cast<const char*>(a.data()) + i, 1);
    std::memcpy(&other, reinterpret_cast<const char*>(b.data()) + i, 1);
    bits += std::popcount(static_cast<unsigned>(one ^ other));
  }
  return bits;
}

FlipFault some_flip() {
  FlipFault flip;
  flip.at.rank = 2;
  flip.at.step = 5;
  flip.at.phase = Phase::kReduce;
  flip.target = FaultTarget::kGradient;
  flip.tensor = 0;
  flip.tensor_name = "tok_embed.weight";
  flip.index = 3;
  flip.bit = 30;
  return flip;
}

FaultPlan plan_of(const std::vector<FlipFault>& flips) {
  FaultPlan plan;
  plan.flips = flips;
  return plan;
}

// Of an injector that tells `on_fault` what has struck; nothing here dies.
FaultInjector::Hooks hooks_of(std::function<void(const FaultRecord&)> on_fault) {
  FaultInjector::Hooks hooks;
  hooks.on_fault = std::move(on_fault);
  hooks.is_up = [](int) { return true; };
  hooks.crash = [](int rank, CrashKind, const PowerLoss&) { ADD_FAILURE() << "rank " << rank << " dies of a flip"; };
  return hooks;
}
FaultInjector::Hooks no_hooks() {
  return hooks_of([](const FaultRecord&) {});
}

template <class T>
class InjectorTest : public ::testing::Test {};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(InjectorTest, Elements);

// Every target, every bit, in elements of pieces that begin inside their tensors.
TYPED_TEST(InjectorTest, InvertsTheOneBitOfTheOneElement) {
  using Bits = std::conditional_t<sizeof(TypeParam) == 4, std::uint32_t, std::uint64_t>;
  int cases = 0;
  for (const FaultTarget target : kTargets) {
    for (const auto& [tensor, index] : {std::pair("ln_f.weight", 1), std::pair("ln_f.weight", 2),
                                        std::pair("head.weight", 3), std::pair("head.weight", 12)}) {
      for (int bit = 0; bit < static_cast<int>(8 * sizeof(TypeParam)); ++bit) {
        RankMemory<TypeParam> rank;
        FlipFault flip = some_flip();
        flip.target = target;
        flip.tensor = rank.tensor(tensor);
        flip.index = index;
        flip.bit = bit;
        const std::vector<TypeParam> before = rank.contents();
        const auto element = std::bit_cast<Bits>(rank.element(flip));
        const FaultPlan plan = plan_of({flip});
        FaultInjector(plan, no_hooks()).strike(2, 5, Phase::kReduce, rank.memory());
        EXPECT_EQ(std::bit_cast<Bits>(rank.element(flip)), element ^ (Bits{1} << bit)) << name_of(target) << " " << bit;
        EXPECT_EQ(differing_bits(before, rank.contents()), 1) << name_of(target) << " " << bit;
        ++cases;
      }
    }
  }
  std::printf("%d flips\n", cases);
}

TYPED_TEST(InjectorTest, ReachesParametersAndGradientsThatTheRankDoesNotUpdate) {
  for (const FaultTarget target : {FaultTarget::kParameter, FaultTarget::kGradient}) {
    RankMemory<TypeParam> rank;
    FlipFault flip = some_flip();
    flip.target = target;
    flip.tensor = rank.tensor("pos_embed.weight");
    flip.index = 11;  // its last
    const std::vector<TypeParam> before = rank.contents();
    const TypeParam element = rank.element(flip);
    const FaultPlan plan = plan_of({flip});
    FaultInjector(plan, no_hooks()).strike(2, 5, Phase::kReduce, rank.memory());
    EXPECT_NE(rank.element(flip), element);
    EXPECT_EQ(differing_bits(before, rank.contents()), 1);
  }
}

TEST(Injector, StrikesAtItsRankStepAndPhaseAlone) {
  RankMemory<float> rank;
  const std::vector<float> before = rank.contents();
  const FaultPlan plan = plan_of({some_flip()});
  int struck = 0;
  FaultInjector injector(plan, hooks_of([&struck](const FaultRecord&) { ++struck; }));
  int addresses = 0;
  for (int r = 0; r < 4; ++r) {
    for (std::int64_t step = 0; step <= 10; ++step) {
      for (const Phase phase : kPhases) {
        if (r == 2 && step == 5 && phase == Phase::kReduce) continue;
        injector.strike(r, step, phase, rank.memory());
        ++addresses;
      }
    }
  }
  EXPECT_EQ(struck, 0);
  EXPECT_EQ(rank.contents(), before);
  injector.strike(2, 5, Phase::kReduce, rank.memory());
  EXPECT_EQ(struck, 1);
  EXPECT_NE(rank.contents(), before);
  std::printf("%d other addresses\n", addresses);
}

// A second microbatch, or a second attempt at the step, comes to the same address.
TEST(Injector, StrikesOnce) {
  RankMemory<float> rank;
  const FaultPlan plan = plan_of({some_flip()});
  int struck = 0;
  FaultInjector injector(plan, hooks_of([&struck](const FaultRecord&) { ++struck; }));
  injector.strike(2, 5, Phase::kReduce, rank.memory());
  const std::vector<float> after = rank.contents();
  for (int again = 0; again < 3; ++again) injector.strike(2, 5, Phase::kReduce, rank.memory());
  EXPECT_EQ(struck, 1);
  EXPECT_EQ(rank.contents(), after);
}

TEST(Injector, FaultsAtOneAddressAllStrikeInTheirOrder) {
  RankMemory<float> rank;
  const std::vector<float> before = rank.contents();
  FlipFault second = some_flip();
  second.target = FaultTarget::kParameter;
  second.bit = 0;
  const FaultPlan plan = plan_of({some_flip(), second});
  std::vector<std::string> words;
  FaultInjector injector(plan, hooks_of([&words](const FaultRecord& record) { words.push_back(record.what); }));
  injector.strike(2, 5, Phase::kReduce, rank.memory());
  EXPECT_EQ(words, (std::vector<std::string>{"bit 30 of the gradient tok_embed.weight[3] is inverted",
                                             "bit 0 of the parameter tok_embed.weight[3] is inverted"}));
  EXPECT_EQ(differing_bits(before, rank.contents()), 2);
}

TEST(Injector, SaysWhereTheFaultStruck) {
  RankMemory<float> rank;
  const FaultPlan plan = plan_of({some_flip()});
  std::vector<FaultRecord> records;
  FaultInjector injector(plan, hooks_of([&records](const FaultRecord& record) { records.push_back(record); }));
  injector.strike(2, 5, Phase::kReduce, rank.memory());
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].at.rank, 2);
  EXPECT_EQ(records[0].at.step, 5);
  EXPECT_EQ(records[0].at.phase, Phase::kReduce);
}

TEST(Injector, APlanOfNothingDoesNothing) {
  RankMemory<float> rank;
  const std::vector<float> before = rank.contents();
  const FaultPlan plan;
  EXPECT_TRUE(plan.empty());
  FaultInjector(plan, no_hooks()).strike(2, 5, Phase::kReduce, rank.memory());
  EXPECT_EQ(rank.contents(), before);
}

using InjectorDeathTest = ::testing::Test;

// The loader lets no such fault through.
TEST(InjectorDeathTest, AMomentThatTheRankDoesNotHaveEndsTheProcess) {
  RankMemory<float> rank;
  FlipFault flip = some_flip();
  flip.target = FaultTarget::kFirstMoment;
  const FaultPlan plan = plan_of({flip});
  FaultInjector injector(plan, no_hooks());
  EXPECT_DEATH(injector.strike(2, 5, Phase::kReduce, rank.memory()), "piece != memory.pieces.end");
}

}  // namespace
}  // namespace rehearse
