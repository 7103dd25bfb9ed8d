#include "sim/fault/injector.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <cstring>

#include "tests/sim/fault/rank_memory.h"

namespace rehearse {
namespace {

constexpr std::array kPhases = {Phase::kStart,     Phase::kData,   Phase::kForward,    Phase::kBackward, Phase::kReduce,
                                Phase::kOptimizer, Phase::kGather, Phase::kCheckpoint, Phase::kLoad,     Phase::kEnd};
constexpr std::array kTargets = {FaultTarget::kGradient, FaultTarget::kParameter, FaultTarget::kMaster,
                                 FaultTarget::kFirstMoment, FaultTarget::kSecondMoment};

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
        flip.elements.target = target;
        flip.elements.tensor = rank.tensor(tensor);
        flip.elements.index = index;
        flip.bit = bit;
        const std::vector<TypeParam> before = rank.contents();
        const auto element = std::bit_cast<Bits>(rank.element(flip.elements));
        const FaultPlan plan = plan_of({flip});
        injector_of(plan, no_hooks()).strike(moment_of(2, 5, Phase::kReduce), rank.memory());
        EXPECT_EQ(std::bit_cast<Bits>(rank.element(flip.elements)), element ^ (Bits{1} << bit))
            << name_of(target) << " " << bit;
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
    flip.elements.target = target;
    flip.elements.tensor = rank.tensor("pos_embed.weight");
    flip.elements.index = 11;  // its last
    const std::vector<TypeParam> before = rank.contents();
    const TypeParam element = rank.element(flip.elements);
    const FaultPlan plan = plan_of({flip});
    injector_of(plan, no_hooks()).strike(moment_of(2, 5, Phase::kReduce), rank.memory());
    EXPECT_NE(rank.element(flip.elements), element);
    EXPECT_EQ(differing_bits(before, rank.contents()), 1);
  }
}

TEST(Injector, StrikesAtItsRankStepAndPhaseAlone) {
  RankMemory<float> rank;
  const std::vector<float> before = rank.contents();
  const FaultPlan plan = plan_of({some_flip()});
  int struck = 0;
  FaultInjector injector = injector_of(plan, hooks_of([&struck](const FaultRecord&) { ++struck; }));
  int addresses = 0;
  for (int r = 0; r < 4; ++r) {
    for (std::int64_t step = 0; step <= 10; ++step) {
      for (const Phase phase : kPhases) {
        if (r == 2 && step == 5 && phase == Phase::kReduce) continue;
        injector.strike(moment_of(r, step, phase), rank.memory());
        ++addresses;
      }
    }
  }
  EXPECT_EQ(struck, 0);
  EXPECT_EQ(rank.contents(), before);
  injector.strike(moment_of(2, 5, Phase::kReduce), rank.memory());
  EXPECT_EQ(struck, 1);
  EXPECT_NE(rank.contents(), before);
  std::printf("%d other addresses\n", addresses);
}

// A second microbatch, or a second attempt at the step, comes to the same address.
TEST(Injector, StrikesOnce) {
  RankMemory<float> rank;
  const FaultPlan plan = plan_of({some_flip()});
  int struck = 0;
  FaultInjector injector = injector_of(plan, hooks_of([&struck](const FaultRecord&) { ++struck; }));
  injector.strike(moment_of(2, 5, Phase::kReduce), rank.memory());
  const std::vector<float> after = rank.contents();
  for (int again = 0; again < 3; ++again) injector.strike(moment_of(2, 5, Phase::kReduce), rank.memory());
  EXPECT_EQ(struck, 1);
  EXPECT_EQ(rank.contents(), after);
}

TEST(Injector, FaultsAtOneAddressAllStrikeInTheirOrder) {
  RankMemory<float> rank;
  const std::vector<float> before = rank.contents();
  FlipFault second = some_flip();
  second.elements.target = FaultTarget::kParameter;
  second.bit = 0;
  const FaultPlan plan = plan_of({some_flip(), second});
  std::vector<std::string> words;
  FaultInjector injector =
      injector_of(plan, hooks_of([&words](const FaultRecord& record) { words.push_back(record.what); }));
  injector.strike(moment_of(2, 5, Phase::kReduce), rank.memory());
  EXPECT_EQ(words, (std::vector<std::string>{"bit 30 of the gradient tok_embed.weight[3] is inverted",
                                             "bit 0 of the parameter tok_embed.weight[3] is inverted"}));
  EXPECT_EQ(differing_bits(before, rank.contents()), 2);
}

TEST(Injector, SaysWhereTheFaultStruck) {
  RankMemory<float> rank;
  const FaultPlan plan = plan_of({some_flip()});
  std::vector<FaultRecord> records;
  FaultInjector injector =
      injector_of(plan, hooks_of([&records](const FaultRecord& record) { records.push_back(record); }));
  injector.strike(moment_of(2, 5, Phase::kReduce), rank.memory());
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
  injector_of(plan, no_hooks()).strike(moment_of(2, 5, Phase::kReduce), rank.memory());
  EXPECT_EQ(rank.contents(), before);
}

// The loader lets no such fault through, but the job may have been cut otherwise since.
TEST(Injector, AMomentThatTheRankDoesNotHaveIsNotStruck) {
  RankMemory<float> rank;
  FlipFault flip = some_flip();
  flip.elements.target = FaultTarget::kFirstMoment;
  const FaultPlan plan = plan_of({flip});
  const std::vector<float> before = rank.contents();
  int told = 0;
  FaultInjector::Hooks hooks = no_hooks();
  hooks.on_fault = [&told](const FaultRecord&) { ++told; };
  injector_of(plan, hooks).strike(moment_of(2, 5, Phase::kReduce), rank.memory());
  EXPECT_EQ(rank.contents(), before);
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace rehearse
