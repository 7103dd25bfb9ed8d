#include "core/model/config.h"

#include <string>

#include "core/base/error.h"

namespace rehearse {
namespace {

constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 48;

void check_size(const char* field, std::int64_t value, std::int64_t smallest = 1) {
  if (value < smallest || value > kLargestSize) {
    throw InputError("model: " + std::string(field) + " must be from " + std::to_string(smallest) + " to " +
                     std::to_string(kLargestSize) + ", found " + std::to_string(value));
  }
}

}  // namespace

bool ModelConfig::is_mini_gpt() const {
  return ffn_width() == 4 * embed && kv_width() == embed && mlp == Mlp::kGelu && norm == Norm::kLayerNorm &&
         positions == Positions::kLearned && attention == Attention::kUnfused && !attention_bias && mlp_bias &&
         !tied_embeddings;
}

__int128 parameter_count(const ModelConfig& c) {
  const __int128 e = c.embed;
  const __int128 v = c.vocab;
  const __int128 f = c.ffn_width();
  const __int128 norm = c.norm == Norm::kLayerNorm ? 2 * e : e;
  __int128 block = e * c.qkv_width() + e * e + (c.mlp_inputs() + 1) * e * f + 2 * norm;
  if (c.attention_bias) block += c.qkv_width() + e;
  if (c.mlp_bias) block += c.mlp_inputs() * f + e;
  const __int128 positions = c.positions == Positions::kLearned ? c.context * e : 0;
  return v * e + positions + c.layers * block + norm + (c.tied_embeddings ? 0 : v * e);
}

void validate(const ModelConfig& config) {
  check_size("layers", config.layers);
  check_size("embed", config.embed);
  check_size("heads", config.heads);
  check_size("vocab", config.vocab);
  check_size("context", config.context);
  check_size("ffn", config.ffn, 0);
  check_size("kv_heads", config.kv_heads, 0);
  if (config.embed % config.heads != 0) {
    throw InputError("model: heads must divide embed, found heads " + std::to_string(config.heads) + " and embed " +
                     std::to_string(config.embed));
  }
  if (config.kv_heads > 0 && config.heads % config.kv_heads != 0) {
    throw InputError("model: kv_heads must divide heads, found kv_heads " + std::to_string(config.kv_heads) +
                     " and heads " + std::to_string(config.heads));
  }
  if (parameter_count(config) >= kLargestCount) {
    throw InputError("model: layers " + std::to_string(config.layers) + ", embed " + std::to_string(config.embed) +
                     ", vocab " + std::to_string(config.vocab) + ", context " + std::to_string(config.context) +
                     " and ffn " + std::to_string(config.ffn_width()) + " make 2^48 parameters or more");
  }
}

}  // namespace rehearse
