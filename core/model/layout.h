#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/config.h"

namespace rehearse {

struct ParameterInfo {
  std::string name;                 // PyTorch's
  std::vector<std::int64_t> shape;  // 1-D or 2-D
  std::int64_t offset = 0;          // first element in the flat vector
  std::int64_t numel = 0;

  bool is_matrix() const { return shape.size() == 2; }
};

// The parameters of a model in PyTorch's flat order and names (design section 7). A tensor's index in tensors() is how
// the other headers of this folder name it. Copies share what they describe, so that thousands of ranks may have one.
//
// Shapes other than the MiniGPT's have attn.qkv.weight [E + 2 KV, E] and, by their config, attn.qkv.bias and
// attn.proj.bias after their weights, mlp.gate, mlp.up [F, E] and mlp.down [E, F] in the place of mlp.0 and mlp.2 (with
// SwiGLU), no norm biases (RMSNorm), no mlp biases, no pos_embed.weight (rotary) and no head.weight (tied).
class ParameterLayout {
 public:
  // The MiniGPT's tensors of one block and of stage 0, in order; a block's first tensor has the index kEmbeddings +
  // block * kPerBlock.
  enum Embedding { kTokens, kPositions, kEmbeddings };
  enum Block { kLn1Weight, kLn1Bias, kQkv, kProj, kLn2Weight, kLn2Bias, kFc1, kFc1Bias, kFc2, kFc2Bias, kPerBlock };
  enum Head { kLnfWeight, kLnfBias, kHeadWeight };

  // Validates the config.
  explicit ParameterLayout(const ModelConfig& config);

  const ModelConfig& config() const { return shared_->config; }
  const std::vector<ParameterInfo>& tensors() const { return shared_->tensors; }
  // Elements of the flat vector.
  std::int64_t total() const { return shared_->total; }
  // The tensor's index, or -1 where there is none of that name.
  int find(std::string_view name) const;

  // Stages: 0 the embeddings, 1..layers the blocks, layers + 1 the final LayerNorm, head and loss.
  int stages() const { return static_cast<int>(config().layers) + 2; }
  int stage_of(int tensor) const;
  // Tensors [first_tensor(stage), first_tensor(stage + 1)) belong to a stage.
  int first_tensor(int stage) const;

 private:
  struct Shared {
    ModelConfig config;
    std::vector<ParameterInfo> tensors;
    std::map<std::string, int, std::less<>> by_name;
    std::int64_t total = 0;
    int embeddings = 0;  // tensors of stage 0
    int per_block = 0;

    void add(std::string name, std::vector<std::int64_t> shape);
    void add_norm(const std::string& name);
    void add_block(const std::string& prefix);
    int size() const { return static_cast<int>(tensors.size()); }
  };
  static std::shared_ptr<const Shared> describe(const ModelConfig& config);

  std::shared_ptr<const Shared> shared_;
};

// Where each tensor's elements stand, by tensor index; each contiguous, anywhere, at the type's own alignment.
template <class T>
struct ParameterTable {
  std::vector<T*> tensors;

  T* operator[](int tensor) const { return tensors[static_cast<std::size_t>(tensor)]; }
};

// The table of a flat vector that begins at `flat`.
template <class T>
ParameterTable<T> table_of_flat(const ParameterLayout& layout, T* flat) {
  ParameterTable<T> table;
  for (const ParameterInfo& info : layout.tensors()) table.tensors.push_back(flat + info.offset);
  return table;
}

}  // namespace rehearse
