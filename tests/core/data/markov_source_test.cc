#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/data/token_source.h"

namespace rehearse {
namespace {

constexpr std::int64_t kVocab = 64;

std::unique_ptr<TokenSource> markov(std::int64_t states, std::int64_t noise_ppb, std::uint64_t seed = 41) {
  return make_token_source(MarkovConfig{states, noise_ppb}, seed, 4, 4, 16, kVocab);
}

std::vector<std::int32_t> sequence(const TokenSource& source, std::int64_t batch, int rank, std::int64_t index,
                                   std::size_t length = 17) {
  std::vector<std::int32_t> tokens(length, -1);
  source.sequence(batch, rank, index, tokens);
  return tokens;
}

TEST(MarkovSource, SameCallGivesSameTokensInAnyOrder) {
  const auto a = markov(16, 100'000'000);
  const auto b = markov(16, 100'000'000);
  const auto first = sequence(*a, 7, 2, 1);
  sequence(*a, 8, 3, 0);
  EXPECT_EQ(sequence(*a, 7, 2, 1), first);
  EXPECT_EQ(sequence(*b, 7, 2, 1), first);
}

TEST(MarkovSource, SeedBatchRankAndIndexEachChangeTheSequence) {
  const auto source = markov(16, 500'000'000);
  const auto base = sequence(*source, 7, 2, 1);
  EXPECT_NE(sequence(*source, 6, 2, 1), base);
  EXPECT_NE(sequence(*source, 7, 1, 1), base);
  EXPECT_NE(sequence(*source, 7, 2, 0), base);
  EXPECT_NE(sequence(*markov(16, 500'000'000, 42), 7, 2, 1), base);
  std::vector<std::int32_t> held_out(17);
  source->eval_sequence(2, 1, held_out);
  EXPECT_NE(held_out, base);
}

// What every seed must give for the loss to fall: distinct states in one cycle, not several.
TEST(MarkovSource, WithoutNoiseIsOneCycleThroughAllStates) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const std::int64_t states : {1, 2, 16, 32, 64}) {
      const auto source = markov(states, 0, seed);
      const auto tokens = sequence(*source, 0, 0, 0, 3 * static_cast<std::size_t>(states));
      const std::set<std::int32_t> distinct(tokens.begin(), tokens.begin() + states);
      EXPECT_EQ(static_cast<std::int64_t>(distinct.size()), states);
      EXPECT_TRUE(*distinct.begin() >= 0 && *distinct.rbegin() < kVocab);
      for (std::size_t i = static_cast<std::size_t>(states); i < tokens.size(); ++i) {
        EXPECT_EQ(tokens[i], tokens[i - static_cast<std::size_t>(states)]);
      }
    }
  }
}

TEST(MarkovSource, EverySequenceFollowsTheSameCycle) {
  const auto source = markov(16, 0);
  std::map<std::int32_t, std::int32_t> next;
  for (std::int64_t batch = 0; batch < 20; ++batch) {
    for (int rank = 0; rank < 4; ++rank) {
      const auto tokens = sequence(*source, batch, rank, batch % 4);
      for (std::size_t i = 1; i < tokens.size(); ++i) {
        EXPECT_EQ(next.emplace(tokens[i - 1], tokens[i]).first->second, tokens[i]);
      }
    }
  }
  EXPECT_EQ(next.size(), 16U);
}

TEST(MarkovSource, StartsAreSpreadOverTheStates) {
  const auto source = markov(16, 0);
  std::map<std::int32_t, int> starts;
  for (std::int64_t batch = 0; batch < 1600; ++batch) ++starts[sequence(*source, batch, 0, 0)[0]];
  EXPECT_EQ(starts.size(), 16U);
  for (const auto& [token, count] : starts) EXPECT_NEAR(count, 100, 50) << "token " << token;
}

// With probability p the next token is uniform over the states, so the cycle is left with probability p (1 - 1/states).
TEST(MarkovSource, NoiseLeavesTheCycleAsOftenAsAsked) {
  const auto clean = markov(16, 0);
  std::map<std::int32_t, std::int32_t> next;
  const auto cycle = sequence(*clean, 0, 0, 0, 17);
  for (std::size_t i = 1; i < cycle.size(); ++i) next[cycle[i - 1]] = cycle[i];

  const auto tokens = sequence(*markov(16, 200'000'000), 0, 0, 0, 100'001);
  int left = 0;
  for (std::size_t i = 1; i < tokens.size(); ++i) left += next.at(tokens[i - 1]) != tokens[i] ? 1 : 0;
  EXPECT_NEAR(left, 100'000 * 0.2 * 15 / 16, 600);
}

TEST(MarkovSource, HeldOutBatchIsFixed) {
  const auto source = markov(16, 100'000'000);
  std::vector<std::int32_t> first(17);
  std::vector<std::int32_t> second(17);
  source->eval_sequence(1, 2, first);
  sequence(*source, 3, 1, 2);
  source->eval_sequence(1, 2, second);
  EXPECT_EQ(first, second);
}

TEST(MarkovSource, RefusesStatesThatDoNotFitTheVocabulary) {
  for (const std::int64_t states : {0, -1, 65}) {
    try {
      markov(states, 0);
      FAIL() << states << " states accepted";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()),
                "data.synthetic.states is " + std::to_string(states) + "; allowed: 1 to model.vocab, which is 64");
    }
  }
}

TEST(MarkovSource, HasNoLastBatch) {
  EXPECT_EQ(markov(16, 0)->batches(), -1);
  EXPECT_NO_THROW(check_data(MarkovConfig{16, 0}, 1, 4, 4, 16, kVocab, 1'000'000'000, true));
}

}  // namespace
}  // namespace rehearse
