#include "core/model/layout.h"

#include <utility>

#include "core/base/check.h"

namespace rehearse {

ParameterLayout::ParameterLayout(const ModelConfig& config) : config_(config) {
  validate(config);
  const std::int64_t e = config.embed;
  add("tok_embed.weight", {config.vocab, e});
  add("pos_embed.weight", {config.context, e});
  for (std::int64_t block = 0; block < config.layers; ++block) {
    const std::string prefix = "blocks." + std::to_string(block) + ".";
    add(prefix + "ln1.weight", {e});
    add(prefix + "ln1.bias", {e});
    add(prefix + "attn.qkv.weight", {3 * e, e});
    add(prefix + "attn.proj.weight", {e, e});
    add(prefix + "ln2.weight", {e});
    add(prefix + "ln2.bias", {e});
    add(prefix + "mlp.0.weight", {4 * e, e});
    add(prefix + "mlp.0.bias", {4 * e});
    add(prefix + "mlp.2.weight", {e, 4 * e});
    add(prefix + "mlp.2.bias", {e});
  }
  add("ln_f.weight", {e});
  add("ln_f.bias", {e});
  add("head.weight", {config.vocab, e});
}

void ParameterLayout::add(std::string name, std::vector<std::int64_t> shape) {
  std::int64_t numel = 1;
  for (const std::int64_t extent : shape) numel *= extent;
  by_name_.emplace(name, static_cast<int>(tensors_.size()));
  tensors_.push_back({std::move(name), std::move(shape), total_, numel});
  total_ += numel;
}

int ParameterLayout::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

int ParameterLayout::stage_of(int tensor) const {
  CHECK(tensor >= 0 && tensor < static_cast<int>(tensors_.size()));
  if (tensor < kEmbeddings) return 0;
  return 1 + (tensor - kEmbeddings) / kPerBlock;  // the head's tensors follow the last block's
}

int ParameterLayout::first_tensor(int stage) const {
  CHECK(stage >= 0 && stage <= stages());
  if (stage == 0) return 0;
  if (stage == stages()) return static_cast<int>(tensors_.size());
  return kEmbeddings + (stage - 1) * kPerBlock;
}

}  // namespace rehearse
