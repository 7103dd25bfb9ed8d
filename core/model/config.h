#pragma once

#include <cstdint>

namespace rehearse {

// MLP of a block: two linear layers with GELU between them, or three with SiLU(gate) * up (Shazeer, arXiv:2002.05202).
enum class Mlp : std::uint8_t { kGelu, kSwiGlu };
enum class Norm : std::uint8_t { kLayerNorm, kRmsNorm };
// Of tokens: a learned vector each, or a rotation of queries and keys, which has no parameters (Su et al.,
// arXiv:2104.09864).
enum class Positions : std::uint8_t { kLearned, kRotary };
// How attention is computed: scores and probabilities of all positions stand in memory, or go through the device in
// tiles, the upper triangle left out (Dao, arXiv:2307.08691).
enum class Attention : std::uint8_t { kUnfused, kFlash };

// The shape of a decoder-only transformer with pre-norm blocks. With the defaults of everything below the sizes it is
// the MiniGPT, the only one that computes; other shapes have their parameters, operations and memory, which is what
// cost-only mode needs.
struct ModelConfig {
  std::int64_t layers = 0;   // L
  std::int64_t embed = 0;    // E
  std::int64_t heads = 0;    // H, divides E
  std::int64_t vocab = 0;    // V
  std::int64_t context = 0;  // T, positions of every sequence

  std::int64_t ffn = 0;       // F, inner width of the MLP; 0: 4 E
  std::int64_t kv_heads = 0;  // heads of keys and values, which groups of heads share; divides H; 0: H
  Mlp mlp = Mlp::kGelu;
  Norm norm = Norm::kLayerNorm;
  Positions positions = Positions::kLearned;
  Attention attention = Attention::kUnfused;
  bool attention_bias = false;   // of the linear layers before and after attention
  bool mlp_bias = true;          // of those of the MLP
  bool tied_embeddings = false;  // the head is the token embedding

  std::int64_t head_dim() const { return embed / heads; }
  std::int64_t ffn_width() const { return ffn > 0 ? ffn : 4 * embed; }
  std::int64_t kv_width() const { return (kv_heads > 0 ? kv_heads : heads) * head_dim(); }
  // Queries, keys and values side by side: 3 E without shared heads.
  std::int64_t qkv_width() const { return embed + 2 * kv_width(); }
  // Matrices (F, E) of the MLP that its input goes through: SwiGLU has a gate beside it.
  std::int64_t mlp_inputs() const { return mlp == Mlp::kSwiGlu ? 2 : 1; }
  // True for what MiniGpt computes.
  bool is_mini_gpt() const;

  bool operator==(const ModelConfig&) const = default;
};

// Throws InputError naming the field, the value found and the values allowed: each size from 1 to 2^31 - 1, heads that
// divide embed, kv_heads that divide heads, and a parameter count below 2^48.
void validate(const ModelConfig& config);

// All elements; requires sizes from 1 to 2^31 - 1.
//   V E + [positions] T E + L (E (E + 2 KV) + E E + (2 or 3) E F + [attention_bias] (E + 2 KV + E)
//   + [mlp_bias] (F or 2 F, + E) + norms) + norm + [not tied] V E,  a norm being 2 E, or E for RMSNorm
__int128 parameter_count(const ModelConfig& config);

}  // namespace rehearse
