#include "core/data/token_source.h"

#include <string>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/data/sources.h"

namespace rehearse {

std::unique_ptr<TokenSource> make_token_source(const DataConfig& config, std::uint64_t seed, int dp_world_size,
                                               std::int64_t batch, std::int64_t context, std::int64_t vocab) {
  CHECK_GT(dp_world_size, 0);
  CHECK_GT(batch, 0);
  CHECK_GT(context, 0);
  CHECK_GT(vocab, 0);
  if (const auto* markov = std::get_if<MarkovConfig>(&config)) return make_markov_source(*markov, seed, vocab);
  if (const auto* text = std::get_if<TextConfig>(&config)) return make_text_source(*text, seed, context, vocab);
  return make_tokens_source(std::get<TokensConfig>(config), dp_world_size, batch, context, vocab);
}

void check_data(const DataConfig& config, std::uint64_t seed, int dp_world_size, std::int64_t batch,
                std::int64_t context, std::int64_t vocab, std::int64_t steps, bool wants_eval) {
  const auto source = make_token_source(config, seed, dp_world_size, batch, context, vocab);
  if (source->batches() >= 0 && source->batches() < steps) {
    throw InputError("data has batches for " + std::to_string(source->batches()) + " steps; train.steps is " +
                     std::to_string(steps));
  }
  if (wants_eval) source->check_eval();
}

}  // namespace rehearse
