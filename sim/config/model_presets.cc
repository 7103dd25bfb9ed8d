#include "sim/config/model_presets.h"

#include <array>

#include "sim/config/origins.h"
#include "sim/config/scenario.pb.h"

namespace rehearse {
namespace {

constexpr ModelConfig sizes(std::int64_t layers, std::int64_t embed, std::int64_t heads, std::int64_t vocab,
                            std::int64_t context) {
  ModelConfig model;
  model.layers = layers;
  model.embed = embed;
  model.heads = heads;
  model.vocab = vocab;
  model.context = context;
  return model;
}

// Radford et al. 2019 and Brown et al. 2020: biases everywhere, learned positions, the head tied to the embedding.
constexpr ModelConfig gpt(std::int64_t layers, std::int64_t embed, std::int64_t heads, std::int64_t context) {
  ModelConfig model = sizes(layers, embed, heads, 50257, context);
  model.ffn = 4 * embed;
  model.kv_heads = heads;
  model.attention_bias = true;
  model.tied_embeddings = true;
  return model;
}

// Touvron et al. 2023 and Dubey et al. 2024: RMSNorm, SwiGLU, rotary positions, no biases, shared key and value heads
// in the large ones. They were trained with fused attention.
constexpr ModelConfig llama(ModelConfig model, std::int64_t ffn, std::int64_t kv_heads) {
  model.ffn = ffn;
  model.kv_heads = kv_heads;
  model.mlp = Mlp::kSwiGlu;
  model.norm = Norm::kRmsNorm;
  model.positions = Positions::kRotary;
  model.attention = Attention::kFlash;
  model.mlp_bias = false;
  return model;
}

constexpr std::array<ModelPreset, 6> kPresets = {
    ModelPreset{"gpt2", gpt(12, 768, 12, 1024), "openai/gpt-2 hparams of 124M: 124,439,808 parameters"},
    ModelPreset{"gpt2-xl", gpt(48, 1600, 25, 1024), "openai/gpt-2 hparams of 1558M: 1,557,611,200"},
    ModelPreset{"gpt3-175b", gpt(96, 12288, 96, 2048),
                "arXiv:2005.14165 table 2.1, which prints 175.0 billion: V E + T E + L (12 E^2 + 13 E) + 2 E = "
                "174,604,259,328; its layers with banded sparse attention count as dense"},
    ModelPreset{"llama2-7b", llama(sizes(32, 4096, 32, 32000, 4096), 11008, 32),
                "arXiv:2307.09288 and the released config.json: 6,738,415,616"},
    ModelPreset{"llama2-70b", llama(sizes(80, 8192, 64, 32000, 4096), 28672, 8),
                "arXiv:2307.09288 and the released config.json: 68,976,648,192"},
    ModelPreset{"llama3-405b", llama(sizes(126, 16384, 128, 128256, 8192), 53248, 8),
                "arXiv:2407.21783 table 3; context of the first stage of its training: 405,853,388,800"},
};

}  // namespace

const ModelPreset* find_model_preset(std::string_view name) {
  for (const ModelPreset& preset : kPresets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

std::vector<std::string> model_preset_names() {
  std::vector<std::string> names;
  for (const ModelPreset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

void fill_model_preset(config::Scenario& message, const Origins& origins) {
  if (!message.model().has_preset()) return;
  config::Model& model = *message.mutable_model();
  const ModelPreset* preset = find_model_preset(model.preset());
  if (preset == nullptr) {
    origins.fail("model.preset",
                 "found \"" + model.preset() + "\"; " + suggestion(model.preset(), model_preset_names()));
  }
  const bool has_sizes =
      model.has_layers() && model.has_embed() && model.has_heads() && model.has_vocab() && model.has_context();
  if (has_sizes && origins.where("model.preset").starts_with("--set ")) {
    origins.fail("model.preset", "found \"" + model.preset() +
                                     "\" for a model whose sizes are all written, so that it would be another model "
                                     "than that; allowed: to set those sizes");
  }
  const ModelConfig& shape = preset->shape;
  if (!model.has_layers()) model.set_layers(shape.layers);
  if (!model.has_embed()) model.set_embed(shape.embed);
  if (!model.has_heads()) model.set_heads(shape.heads);
  if (!model.has_vocab()) model.set_vocab(shape.vocab);
  if (!model.has_context()) model.set_context(shape.context);
  if (!model.has_ffn()) model.set_ffn(shape.ffn);
  if (!model.has_kv_heads()) model.set_kv_heads(shape.kv_heads);
  if (!model.has_mlp()) model.set_mlp(shape.mlp == Mlp::kSwiGlu ? config::Model::SWIGLU : config::Model::GELU);
  if (!model.has_norm()) {
    model.set_norm(shape.norm == Norm::kRmsNorm ? config::Model::RMSNORM : config::Model::LAYERNORM);
  }
  if (!model.has_positions()) {
    model.set_positions(shape.positions == Positions::kRotary ? config::Model::ROTARY : config::Model::LEARNED);
  }
  if (!model.has_attention()) {
    model.set_attention(shape.attention == Attention::kFlash ? config::Model::FLASH : config::Model::UNFUSED);
  }
  if (!model.has_attention_bias()) model.set_attention_bias(shape.attention_bias);
  if (!model.has_mlp_bias()) model.set_mlp_bias(shape.mlp_bias);
  if (!model.has_tied_embeddings()) model.set_tied_embeddings(shape.tied_embeddings);
}

ModelConfig shape_of(const config::Model& model) {
  ModelConfig shape = sizes(model.layers(), model.embed(), model.heads(), model.vocab(), model.context());
  // 0 says the default, so that one shape is one value.
  if (model.ffn() != 4 * model.embed()) shape.ffn = model.ffn();
  if (model.kv_heads() != model.heads()) shape.kv_heads = model.kv_heads();
  if (model.mlp() == config::Model::SWIGLU) shape.mlp = Mlp::kSwiGlu;
  if (model.norm() == config::Model::RMSNORM) shape.norm = Norm::kRmsNorm;
  if (model.positions() == config::Model::ROTARY) shape.positions = Positions::kRotary;
  if (model.attention() == config::Model::FLASH) shape.attention = Attention::kFlash;
  shape.attention_bias = model.attention_bias();
  shape.mlp_bias = model.has_mlp_bias() ? model.mlp_bias() : shape.mlp == Mlp::kGelu;
  shape.tied_embeddings = model.tied_embeddings();
  return shape;
}

void clear_default_shape(config::Model& model) {
  if (model.has_preset()) return;
  if (model.ffn() == 4 * model.embed()) model.clear_ffn();
  if (model.kv_heads() == model.heads()) model.clear_kv_heads();
  if (model.mlp_bias() == (model.mlp() == config::Model::GELU)) model.clear_mlp_bias();
  if (model.mlp() == config::Model::GELU) model.clear_mlp();
  if (model.norm() == config::Model::LAYERNORM) model.clear_norm();
  if (model.positions() == config::Model::LEARNED) model.clear_positions();
  if (model.attention() == config::Model::UNFUSED) model.clear_attention();
  if (!model.attention_bias()) model.clear_attention_bias();
  if (!model.tied_embeddings()) model.clear_tied_embeddings();
}

bool has_16_bits(const config::Model& model) {
  return model.dtype() == config::Model::BFLOAT16 || model.dtype() == config::Model::FLOAT16;
}

void clear_default_types(config::Scenario& message) {
  if (!message.has_train()) return;
  config::Train& train = *message.mutable_train();
  const config::Model::DType optimizer =
      has_16_bits(message.model()) ? config::Model::FLOAT32 : message.model().dtype();
  if (train.has_main_grads_dtype() && train.main_grads_dtype() == message.model().dtype()) {
    train.clear_main_grads_dtype();
  }
  if (train.has_optimizer_dtype() && train.optimizer_dtype() == optimizer) train.clear_optimizer_dtype();
}

}  // namespace rehearse
