#pragma once

#include <cstdint>
#include <memory>

#include "core/data/config.h"
#include "core/data/token_source.h"

// The sources behind make_token_source; nothing outside this folder needs them.

namespace rehearse {

std::unique_ptr<TokenSource> make_markov_source(const MarkovConfig& config, std::uint64_t seed, std::int64_t vocab);

std::unique_ptr<TokenSource> make_text_source(const TextConfig& config, std::uint64_t seed, std::int64_t context,
                                              std::int64_t vocab);

std::unique_ptr<TokenSource> make_tokens_source(const TokensConfig& config, int dp_world_size, std::int64_t batch,
                                                std::int64_t context, std::int64_t vocab);

}  // namespace rehearse
