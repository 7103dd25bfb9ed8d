#include "core/model/layout.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace rehearse {

ParameterLayout::ParameterLayout(const ModelConfig& config) : shared_(describe(config)) {}

std::shared_ptr<const ParameterLayout::Shared> ParameterLayout::describe(const ModelConfig& config) {
  validate(config);
  const auto shared = std::make_shared<Shared>();
  shared->config = config;
  const std::int64_t e = config.embed;
  shared->add("tok_embed.weight", {config.vocab, e});
  if (config.positions == Positions::kLearned) shared->add("pos_embed.weight", {config.context, e});
  shared->embeddings = shared->size();
  for (std::int64_t block = 0; block < config.layers; ++block) {
    shared->add_block("blocks." + std::to_string(block) + ".");
    if (block == 0) shared->per_block = shared->size() - shared->embeddings;
  }
  shared->add_norm("ln_f");
  if (!config.tied_embeddings) shared->add("head.weight", {config.vocab, e});
  CHECK(parameter_count(config) == shared->total);
  return shared;
}

void ParameterLayout::Shared::add_norm(const std::string& name) {
  add(name + ".weight", {config.embed});
  if (config.norm == Norm::kLayerNorm) add(name + ".bias", {config.embed});
}

void ParameterLayout::Shared::add_block(const std::string& prefix) {
  const auto add_linear = [&](const std::string& name, std::int64_t outputs, std::int64_t inputs, bool bias) {
    add(prefix + name + ".weight", {outputs, inputs});
    if (bias) add(prefix + name + ".bias", {outputs});
  };
  const std::int64_t e = config.embed;
  const std::int64_t f = config.ffn_width();
  add_norm(prefix + "ln1");
  add_linear("attn.qkv", config.qkv_width(), e, config.attention_bias);
  add_linear("attn.proj", e, e, config.attention_bias);
  add_norm(prefix + "ln2");
  if (config.mlp == Mlp::kSwiGlu) {
    add_linear("mlp.gate", f, e, config.mlp_bias);
    add_linear("mlp.up", f, e, config.mlp_bias);
    add_linear("mlp.down", e, f, config.mlp_bias);
  } else {
    add_linear("mlp.0", f, e, config.mlp_bias);
    add_linear("mlp.2", e, f, config.mlp_bias);
  }
}

void ParameterLayout::Shared::add(std::string name, std::vector<std::int64_t> shape) {
  std::int64_t numel = 1;
  for (const std::int64_t extent : shape) numel *= extent;
  by_name.emplace(name, size());
  tensors.push_back({std::move(name), std::move(shape), total, numel});
  total += numel;
}

int ParameterLayout::find(std::string_view name) const {
  const auto found = shared_->by_name.find(name);
  return found == shared_->by_name.end() ? -1 : found->second;
}

int ParameterLayout::stage_of(int tensor) const {
  CHECK(tensor >= 0 && tensor < shared_->size());
  if (tensor < shared_->embeddings) return 0;
  const std::int64_t block = (tensor - shared_->embeddings) / shared_->per_block;
  return 1 + static_cast<int>(std::min(block, config().layers));  // the head's tensors follow the last block's
}

int ParameterLayout::first_tensor(int stage) const {
  CHECK(stage >= 0 && stage <= stages());
  if (stage == 0) return 0;
  if (stage == stages()) return shared_->size();
  return shared_->embeddings + (stage - 1) * shared_->per_block;
}

}  // namespace rehearse
