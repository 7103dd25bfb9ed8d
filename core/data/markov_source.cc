#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/data/sources.h"

namespace rehearse {
namespace {

constexpr std::int64_t kNoiseDenominator = 1'000'000'000;

RandomStream markov_stream(std::uint64_t seed) { return RandomStream(seed).fork("data").fork("markov"); }

// `states` distinct tokens of `vocab`, in random order: the first steps of a Fisher-Yates shuffle. Read as a ring, a
// uniformly random order is a uniformly random single cycle.
std::vector<std::int32_t> draw_cycle(std::uint64_t seed, std::int64_t states, std::int64_t vocab) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(vocab));
  std::iota(tokens.begin(), tokens.end(), 0);
  RandomStream stream = markov_stream(seed).fork("states");
  for (std::size_t i = 0; i < static_cast<std::size_t>(states); ++i) {
    std::swap(tokens[i], tokens[i + stream.below(tokens.size() - i)]);
  }
  tokens.resize(static_cast<std::size_t>(states));
  return tokens;
}

class MarkovSource : public TokenSource {
 public:
  MarkovSource(const MarkovConfig& config, std::uint64_t seed, std::int64_t vocab)
      : stream_(markov_stream(seed)),
        cycle_(draw_cycle(seed, config.states, vocab)),
        noise_ppb_(static_cast<std::uint64_t>(config.noise_ppb)),
        vocab_(vocab) {}

  std::int64_t vocab() const override { return vocab_; }
  std::int64_t batches() const override { return -1; }

  void sequence(std::int64_t batch_index, int dp_rank, std::int64_t sequence_index,
                std::span<std::int32_t> tokens) const override {
    CHECK_GE(batch_index, 0);
    draw(stream_.fork(static_cast<std::uint64_t>(batch_index)), dp_rank, sequence_index, tokens);
  }

  void eval_sequence(int dp_rank, std::int64_t sequence_index, std::span<std::int32_t> tokens) const override {
    draw(stream_.fork("eval"), dp_rank, sequence_index, tokens);
  }

 private:
  void draw(const RandomStream& batch, int dp_rank, std::int64_t sequence_index, std::span<std::int32_t> tokens) const {
    CHECK_GE(dp_rank, 0);
    CHECK_GE(sequence_index, 0);
    RandomStream stream =
        batch.fork(static_cast<std::uint64_t>(dp_rank)).fork(static_cast<std::uint64_t>(sequence_index));
    std::size_t state = stream.below(cycle_.size());
    for (std::int32_t& token : tokens) {
      token = cycle_[state];
      const bool jumps = noise_ppb_ > 0 && stream.chance(noise_ppb_, kNoiseDenominator);
      state = jumps ? stream.below(cycle_.size()) : (state + 1) % cycle_.size();
    }
  }

  RandomStream stream_;
  std::vector<std::int32_t> cycle_;  // token i is followed by token i + 1, the last by the first
  std::uint64_t noise_ppb_;
  std::int64_t vocab_;
};

}  // namespace

std::unique_ptr<TokenSource> make_markov_source(const MarkovConfig& config, std::uint64_t seed, std::int64_t vocab) {
  CHECK(config.noise_ppb >= 0 && config.noise_ppb <= kNoiseDenominator);
  if (config.states < 1 || config.states > vocab) {
    throw InputError("data.synthetic.states is " + std::to_string(config.states) +
                     "; allowed: 1 to model.vocab, which is " + std::to_string(vocab));
  }
  return std::make_unique<MarkovSource>(config, seed, vocab);
}

}  // namespace rehearse
