#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

namespace rehearse {

// A file a scenario names, read whole before anything runs. core never opens one itself.
struct InputFile {
  std::string path;    // as written in the scenario
  std::string sha256;  // of the contents, 64 lower-case hex digits
  std::shared_ptr<const std::string> contents;
};

// `states` distinct tokens, chosen by the seed, in one random cycle; a sequence starts at a uniformly drawn state, and
// with probability noise_ppb / 1e9 the next token is uniform over the states instead of the cycle's next.
struct MarkovConfig {
  std::int64_t states = 0;
  std::int64_t noise_ppb = 0;  // parts per billion, 0 to 1'000'000'000
};

// The characters of a UTF-8 text as tokens; the vocabulary is the set of characters, in code point order.
struct TextConfig {
  InputFile file;
};

// A safetensors file with one int32 tensor "tokens" [steps, ranks, batch, context + 1].
struct TokensConfig {
  InputFile file;
};

using DataConfig = std::variant<MarkovConfig, TextConfig, TokensConfig>;

}  // namespace rehearse
